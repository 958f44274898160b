"""Coverage of tasks and heatmaps of drawn words."""

import itertools

import numpy as np
import pytest

import ldru
from ldru.analysis.coverage import coverage, coverage_rows, wanted_rows
from ldru.analysis.heatmaps import heatmaps


def composed(classify, word):
    """The pairs of classes that the balanced tree over a word composes."""
    nodes = [(token,) for token in word]
    while len(nodes) > 1:
        pairs = list(zip(nodes[::2], nodes[1::2], strict=False))
        yield from ((classify(list(a)), classify(list(b))) for a, b in pairs)
        nodes = [a + b for a, b in pairs] + ([nodes[-1]] if len(nodes) % 2 else [])


@pytest.mark.parametrize("name", ["modular_arithmetic", "dyck_2", "tomita_7"])
def test_first_lengths_are_those_of_all_words(name):
    # The machine of modular arithmetic is not minimal, and has words of odd length only.
    task, longest = ldru.task(name), 3 if name == "modular_arithmetic" else 9
    found = coverage(task, [longest - 1], steps=100, test_length=longest)[longest - 1]
    classify = ldru.monoid(task.machine.minimal()).classify
    expected = np.zeros_like(found.first)
    for length in range(1, longest + 1):
        for word in itertools.product(range(task.vocab_size), repeat=length):
            if task.machine.run(word) >= 0:
                for pair in composed(classify, word):
                    expected[pair] = expected[pair] or length
    np.testing.assert_array_equal(found.first, expected)
    np.testing.assert_array_equal(found.needed, expected > 0)
    assert found.shortest_length == expected.max()
    assert found.missing.sum() == (expected == longest).sum()


def test_rows_of_coverage():
    task = ldru.task("dyck_4")
    found = coverage(task, [8, 40], steps=1_000_000, test_length=60)
    short, long = coverage_rows(found)
    assert short["missing"] > long["missing"] == 0
    assert short["familiar_100"] < long["familiar_100"] <= 100 + 1e-9
    # Of all compositions in training, expected: a tree of n leaves has n - 1 of them.
    assert found[8].met.sum() == pytest.approx(found[8].training_words * 3.5)
    assert found[8].used.sum() == pytest.approx(59)
    wanted = wanted_rows(found[8])
    assert all(row["met"] < 100 for row in wanted)
    assert [row["used"] for row in wanted] == sorted((row["used"] for row in wanted), reverse=True)


@pytest.mark.parametrize(("train", "test"), [([], 10), ([10], 10), ([0], 10), ([4], 100_000)])
def test_lengths_that_make_no_sense(train, test):
    with pytest.raises(ldru.LdruError, match="length"):
        coverage(ldru.task("parity_check"), train, steps=1, test_length=test)


def test_heatmaps_count_words_of_one_label_only():
    task = ldru.task("dyck_2")
    found = heatmaps(task, {"short": [4, 6], "long": [16]}, compositions=3_000)
    assert found.classes.tolist() == [0, 3, 4, 5, 6, 7, 12, 13, 14]
    assert 3_000 <= found.counts["short"].sum() < 3_020
    assert {counts.shape for counts in found.counts.values()} == {(9, 9)}
    possible = {
        pair
        for length in (4, 6)
        for word in itertools.product(range(2), repeat=length)
        if task.machine.run(word) == 1
        for pair in list(composed(found.monoid.classify, word))[length // 2 :]
    }
    left, right = np.nonzero(found.counts["short"])
    met = zip(found.classes[left].tolist(), found.classes[right].tolist(), strict=True)
    assert set(met) == possible


@pytest.mark.parametrize(
    ("lengths", "label", "message"),
    [([7], 1, "draws no words"), ([2], 1, "single symbols"), ([8], 2, "labels of 'dyck_2' run")],
)
def test_heatmaps_of_nothing(lengths, label, message):
    with pytest.raises(ldru.LdruError, match=message):
        heatmaps(ldru.task("dyck_2"), {"some": lengths}, label=label)


def test_lengths_without_words_count_as_what_is_drawn_for_them():
    # The only words have length 3 and more: training "up to 1" draws those of length 3.
    chain = [[1, 1], [2, 2], [3, 4], [3, 4], [4, 3]]
    machine = ldru.MooreMachine(alphabet="01", delta=chain, output=[-1, -1, -1, 0, 1])
    found = coverage(ldru.task(machine=machine), [1], steps=100, test_length=3)[1]
    assert found.missing.sum() == 0
    np.testing.assert_array_equal(found.shown, found.met > 0)
