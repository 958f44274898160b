"""Words of two stretches against all words of their lengths."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

import ldru
from ldru.base.randomness import seed_key
from ldru.tasks.compositions import Compositions, word_counts, zero_classes

CPU = torch.device("cpu")


def drawn(machine, lengths, *, count, seeds=(0, 1)):
    found = Compositions(machine, max_length=max(lengths), device=CPU)
    words = found.draw(seed_key(list(seeds)), lengths=torch.tensor(lengths), count=count)
    return found.monoid, words.numpy()


def words_of(monoid, length):
    """All words of a length, by class, which is found symbol by symbol."""
    found = {}
    for word in itertools.product(range(monoid.machine.num_symbols), repeat=length):
        maps = np.arange(monoid.machine.num_states)
        for token in word:
            maps = monoid.machine.delta[maps, token]
        found.setdefault(tuple(maps), []).append(word)
    return found


def chances(monoid, length, cut):
    """The chance of every word of a length that is cut at a place, written out."""
    zero = {
        tuple(maps)
        for maps, is_so in zip(monoid.elements, zero_classes(monoid), strict=True)
        if is_so
    }
    halves = []
    for size in (cut, length - cut):
        classes = words_of(monoid, size)
        kept = {maps: some for maps, some in classes.items() if maps not in zero} or classes
        halves.append({w: 1 / len(kept) / len(some) for some in kept.values() for w in some})
    pairs = itertools.product(*(half.items() for half in halves))
    return {left + right: one * other for (left, one), (right, other) in pairs}


@pytest.mark.parametrize("name", ["dyck_2", "parity_check", "tomita_3", "modular_arithmetic"])
def test_words_have_the_chances_of_their_classes(name):
    machine = ldru.task(name).machine
    length = 3 if name == "modular_arithmetic" else 6
    monoid, words = drawn(machine, [length], count=10_000)
    balanced = chances(monoid, length, 2 if length == 3 else 4)
    cuts = [chances(monoid, length, cut) for cut in range(1, length)]
    for first, wanted in ((0, [balanced]), (1, cuts)):
        seen = Counter(map(tuple, words[:, 0, first::2].reshape(-1, length).tolist()))
        every = {word for some in wanted for word in some}
        assert set(seen) <= every
        expected = np.array([np.mean([some.get(w, 0.0) for some in wanted]) for w in every])
        # Of many words each alone is rare: tell them apart by classes of chance, in turn.
        order = np.argsort(expected, kind="stable")
        parts = np.array_split(order, min(60, len(order)))
        counts = np.array([seen[w] for w in every])
        got = [counts[part].sum() for part in parts]
        assert chisquare(got, [expected[part].sum() * counts.sum() for part in parts]).pvalue > 1e-4


def test_words_are_padded_with_zeros_and_each_key_draws_its_own():
    machine = ldru.task("dyck_3").machine
    _, words = drawn(machine, [1, 5, 9], count=50)
    assert words.shape == (2, 3, 50, 9)
    assert not words[:, 0, :, 1:].any()
    assert not words[:, 1, :, 5:].any()
    assert set(words[:, 0, :, 0].ravel().tolist()) == {0, 1}
    assert not np.array_equal(words[0], words[1])
    assert np.array_equal(words[1], drawn(machine, [1, 5, 9], count=50, seeds=(1,))[1][0])


def test_a_finite_language_has_words_of_lengths_at_which_all_are_dead():
    machine = ldru.task(regex="01").machine
    _, words = drawn(machine, [7], count=2000)
    # Stretches of one symbol live, and so does 01.
    assert {tuple(word[:4]) for word in words[0, 0, ::2]} == set(
        itertools.product((0, 1), repeat=4)
    )


def test_counts_are_those_of_all_words():
    monoid = ldru.monoid(ldru.task("dyck_2").machine)
    counts = word_counts(monoid, max_length=7)
    for length in range(8):
        want = {maps: len(some) for maps, some in words_of(monoid, length).items()}
        got = {tuple(maps): n for maps, n in zip(monoid.elements, counts[length], strict=True) if n}
        assert got == want
