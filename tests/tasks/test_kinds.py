"""Kinds of test words against enumeration of all words."""

import itertools
from collections import Counter

import numpy as np
import pytest

import ldru
from ldru.tasks.kinds import KINDS, draw_kind, split_part

LANGUAGES = ["parity_check", "dyck_3", "tomita_5", "modular_arithmetic", "prefix_1_2", "group_S3"]


def drawn(name, kind, length, words=4000):
    task = ldru.task(name)
    (batch,) = task.test_words(f"{kind}:{length}", words=words, seed=0, device="cpu")
    return task.machine, batch.tokens.numpy(), batch.labels.numpy()


def every_word(machine, length):
    return np.array(list(itertools.product(range(machine.num_symbols), repeat=length)))


def is_uniform(counts, total, options):
    """Every option comes about as often; six deviations."""
    mean = total / options
    return len(counts) == options and all(
        abs(count - mean) < 6 * mean**0.5 + 1 for count in counts.values()
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LANGUAGES)
def test_labels_are_the_machines_and_words_the_same_for_everyone(name, kind):
    machine, tokens, labels = drawn(name, kind, 40, words=64)
    assert len(tokens) > 10
    assert np.array_equal(machine.run(tokens), labels)
    assert labels.min() >= 0
    assert np.array_equal(drawn(name, kind, 40, words=64)[1], tokens)
    assert len(np.unique(labels)) > 1


@pytest.mark.parametrize("name", ["parity_check", "dyck_3", "tomita_5"])
def test_uniform_words_are_uniform_in_each_class(name):
    machine, tokens, labels = drawn(name, "uniform", 6)
    every = every_word(machine, 6)
    right = machine.run(every)
    for label in (0, 1):
        own = Counter(map(tuple, tokens[labels == label].tolist()))
        assert is_uniform(own, int((labels == label).sum()), int((right == label).sum()))


@pytest.mark.parametrize("name", LANGUAGES)
def test_pairs_across_a_border(name):
    length = 5 if name == "modular_arithmetic" else 6
    _, tokens, labels = drawn(name, "border", length, words=2000)
    pairs, answers = tokens.reshape(-1, 2, length), labels.reshape(-1, 2)
    assert ((pairs[:, 0] != pairs[:, 1]).sum(axis=1) == 1).all()
    assert (answers[:, 0] != answers[:, 1]).all()


def test_the_other_word_of_a_border_is_any_that_there_is():
    """Of one word of dyck_3: uniform over all relabelling changes of one place."""
    machine, tokens, _ = drawn("dyck_3", "border", 6, words=40_000)
    pairs = tokens.reshape(-1, 2, 6)
    word = [0, 1, 0, 1, 0, 1]
    others = Counter(tuple(b) for a, b in pairs.tolist() if a == word)
    near = [
        tuple(change)
        for change in every_word(machine, 6).tolist()
        if sum(x != y for x, y in zip(change, word, strict=True)) == 1
        and int(machine.run(change)) != 1
    ]
    assert set(others) == set(near)
    assert is_uniform(others, sum(others.values()), len(near))


def test_edited_words_are_near_a_word_of_another_class():
    machine, tokens, labels = drawn("dyck_3", "edits", 6, words=300)
    every = every_word(machine, 6)
    right = machine.run(every)
    for word, label in zip(tokens, labels, strict=True):
        distance = (every[right != label] != word).sum(axis=1)
        assert distance.min() == 1


@pytest.mark.parametrize("name", ["dyck_3", "tomita_5", "mod_arithmetic_2", "dyck_12"])
def test_all_compositions_of_a_label_come_as_often(name):
    length = 7 if name == "mod_arithmetic_2" else 8
    if name == "dyck_12":
        length = 80  # rare classes beside one that nearly all words have
    machine, tokens, labels = drawn(name, "factors", length, words=20_000)
    monoid = ldru.monoid(machine)
    first = length - length // 2
    found = [monoid.classify(part) for part in (tokens[:, :first], tokens[:, first:])]
    parts = (random_words(machine, count) for count in (first, length - first))
    occurring = [np.unique(monoid.classify(part)) for part in parts]
    for label in np.unique(labels):
        pairs = Counter(zip(*(part[labels == label].tolist() for part in found), strict=True))
        if name != "dyck_12":
            products = monoid.output[monoid.table[occurring[0][:, None], occurring[1]]]
            assert is_uniform(pairs, sum(pairs.values()), int((products == label).sum()))
        else:
            assert max(pairs.values()) < 6000  # no composition crowds out the others


def random_words(machine, length):
    """All words, where they are few enough."""
    if machine.num_symbols**length <= 10**5:
        return every_word(machine, length)
    return np.random.default_rng(0).integers(machine.num_symbols, size=(10**5, length))


def test_words_of_a_class_are_uniform():
    machine, tokens, _ = drawn("tomita_5", "factors", 10, words=40_000)
    monoid = ldru.monoid(machine)
    halves = tokens[:, :5]
    every = every_word(machine, 5)
    kinds = monoid.classify(every)
    for kind in np.unique(kinds):
        own = Counter(map(tuple, halves[monoid.classify(halves) == kind].tolist()))
        assert is_uniform(own, sum(own.values()), int((kinds == kind).sum()))


def test_parts_of_kinds():
    assert split_part("border:100") == ("border", 100)
    for other in (100, "border", "border:0", "border:x", "boarder:100", "border:-1"):
        assert split_part(other) is None
    run = ldru.Run.open("parity_check")
    found = run.compute_evaluation(["edits:60", 50, "border:60"], words=32)
    assert list(found.by_part) == [50, "border:60", "edits:60"]
    assert found.mean_accuracy() == found.by_part[50].accuracy
    with pytest.raises(ldru.LdruError, match=r"or kinds of words such as 'border:100'"):
        run.compute_evaluation(["boarder:60"])


def test_what_cannot_be_drawn_says_so():
    machine = ldru.MooreMachine(alphabet="ab", delta=[[1, 1], [0, 0]], output=[0, 1])
    with pytest.raises(ldru.LdruError, match="have the same label"):
        draw_kind(machine, "border", 5, words=8, seed=0, device="cpu")
    with pytest.raises(ldru.LdruError, match="monoid has more than"):
        draw_kind(ldru.as_machine("random_30_2_0"), "factors", 9, words=8, seed=0, device="cpu")
