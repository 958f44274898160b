import numpy as np
import pytest
import torch

import ldru
from ldru.analysis.compositions import count_compositions, even_classes, num_compositions
from ldru.automata.coverage import composition_counts
from ldru.tasks.chances import word_chances


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 8, 9, 33])
def test_counts_are_those_of_a_literal_tree(length):
    monoid = ldru.monoid(ldru.task("dyck_3").machine)
    words = np.random.default_rng(0).integers(0, 2, (5, length))
    expected = np.zeros((monoid.size, monoid.size), dtype=int)
    for word in words:
        nodes = [(token,) for token in word.tolist()]
        while len(nodes) > 1:
            pairs = list(zip(nodes[::2], nodes[1::2], strict=False))
            for left, right in pairs:
                if len(left) > 1:
                    expected[monoid.classify(list(left)), monoid.classify(list(right))] += 1
            nodes = [a + b for a, b in pairs] + ([nodes[-1]] if len(nodes) % 2 else [])
    np.testing.assert_array_equal(count_compositions(monoid, words), expected)
    assert expected.sum() == 5 * num_compositions(length)


def test_classes_of_even_length_are_those_of_all_even_words():
    monoid = ldru.monoid(ldru.task("dyck_6").machine)
    found = {0}
    for length in range(2, 15, 2):
        words = np.arange(2**length)[:, None] >> np.arange(length) & 1
        found |= set(monoid.classify(words).tolist())
    assert even_classes(monoid).tolist() == sorted(found)
    assert len(found) == 73  # the paper's


def test_sampled_counts_agree_with_exact_ones():
    task = ldru.task("dyck_2")
    monoid = ldru.monoid(task.machine)
    length, count = 12, 20_000
    words = task.sample(
        batch_size=count, length=length, generator=torch.Generator().manual_seed(0)
    ).tokens.numpy()
    expected = count * composition_counts(monoid, word_chances(task, length=length))
    symbols = monoid.step[0]
    letters = np.bincount(
        (symbols[words[:, 0::2]] * monoid.size + symbols[words[:, 1::2]]).ravel(),
        minlength=monoid.size**2,
    ).reshape(monoid.size, monoid.size)
    counted = count_compositions(monoid, words) + letters
    # A word has eleven compositions: if they all fell together, counts would vary so much.
    assert (abs(counted - expected) <= 5 * np.sqrt(11 * expected) + 1e-6).all()
