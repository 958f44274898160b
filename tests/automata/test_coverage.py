import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ldru
from ldru.automata.coverage import (
    WordChances,
    composition_counts,
    familiar_share,
    first_lengths,
)


@st.composite
def walks(draw):
    """A small random machine and, for lengths 1 to 6, a random walk on it with forbidden moves."""
    states, symbols = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    machine = ldru.MooreMachine(
        alphabet="abc"[:symbols],
        delta=rng.integers(0, states, (states, symbols)),
        output=rng.integers(0, 2, states),
        start=int(rng.integers(states)),
    )
    seen, is_steady = draw(st.sampled_from([1, states])), draw(st.booleans())
    steady = rng.random((seen, symbols)) * rng.integers(0, 2, (seen, symbols))
    words = []
    for length in range(1, 7):
        chances = rng.random((length, seen, symbols)) * rng.integers(0, 2, (length, seen, symbols))
        if is_steady:  # the same at every place, so that stretches are met again
            chances[:] = steady
        chances[..., 0] += chances.sum(axis=-1) == 0
        words.append(WordChances(rng.random(), chances / chances.sum(axis=-1, keepdims=True)))
    return machine, words


def every_word(machine, part):
    """All words of a walk with their chances, symbol by symbol."""
    length, seen, symbols = part.chances.shape
    for word in itertools.product(range(symbols), repeat=length):
        chance, state = 1.0, machine.start
        for place, token in enumerate(word):
            chance *= part.chances[place, state if seen > 1 else 0, token]
            state = machine.delta[state, token]
        yield word, chance


def composed(monoid, word):
    """The pairs that the balanced tree over one word composes, by its definition."""
    nodes, pairs = [(token,) for token in word], []
    while len(nodes) > 1:
        joined = [a + b for a, b in zip(nodes[::2], nodes[1::2], strict=False)]
        for a, b in zip(nodes[::2], nodes[1::2], strict=False):
            pairs.append((monoid.classify(np.array(a)), monoid.classify(np.array(b))))
        nodes = joined + ([nodes[-1]] if len(nodes) % 2 else [])
    return pairs


@settings(deadline=None, max_examples=40)
@given(walks())
def test_counts_and_first_lengths_are_those_of_all_words(drawn):
    machine, words = drawn
    monoid = ldru.monoid(machine)
    counts = np.zeros((monoid.size, monoid.size))
    first = np.zeros((monoid.size, monoid.size), dtype=int)
    for length, part in enumerate(words, start=1):
        for word, chance in every_word(machine, part):
            for pair in composed(monoid, word):
                counts[pair] += part.weight * chance
                if chance and not first[pair]:
                    first[pair] = length
    np.testing.assert_allclose(composition_counts(monoid, words), counts, atol=1e-12)
    np.testing.assert_array_equal(first_lengths(monoid, ([part] for part in words)), first)


@settings(deadline=None, max_examples=40)
@given(walks(), st.integers(0, 2**32 - 1))
def test_familiar_share_is_that_of_all_words(drawn, seed):
    machine, words = drawn
    monoid = ldru.monoid(machine)
    familiar = np.random.default_rng(seed).random((monoid.size, monoid.size)) < 0.8
    part = words[-1]
    expected = sum(
        chance
        for word, chance in every_word(machine, part)
        if all(familiar[pair] for pair in composed(monoid, word))
    )
    assert familiar_share(monoid, [part], familiar) == pytest.approx(expected)
    assert familiar_share(monoid, [part], np.ones_like(familiar)) == pytest.approx(1)


def test_what_is_possible_does_not_fade_with_length():
    # Eight ones have the chance 1e-300**8: too small for a float, and still possible.
    counter = [[state, min(state + 1, 8)] for state in range(9)]
    machine = ldru.MooreMachine(alphabet="01", delta=counter, output=[0] * 8 + [1])
    monoid = ldru.monoid(machine)
    words = [[WordChances(1.0, np.full((n, 1, 2), [1.0, 1e-300]))] for n in range(1, 9)]
    four = monoid.classify("1111")
    assert first_lengths(monoid, words)[four, four] == 8


def test_the_same_stretches_may_begin_in_other_states():
    # The only words are abbb...: ab is composed from length 2 on, bb from length 4 on.
    machine = ldru.MooreMachine(alphabet="ab", delta=[[1, 2], [1, 1], [2, 2]], output=[0, 1, 0])
    monoid = ldru.monoid(machine)
    steady = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    words = [[WordChances(1.0, np.repeat(steady[None], n, axis=0))] for n in range(1, 6)]
    a, b = monoid.step[0]
    first = first_lengths(monoid, words)
    assert (first[a, b], first[b, b]) == (2, 4)
    assert first[b, a] == 0
