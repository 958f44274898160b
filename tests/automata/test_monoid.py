import itertools

import numpy as np
import pytest

import ldru
from ldru.automata.families import dyck, modular_arithmetic, parity_check, tomita


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 6, 8, 12])
def test_size_of_dyck_monoids_is_the_papers_formula(depth):
    expected = 1 + (depth + 1) * (depth + 2) * (2 * depth + 3) // 6
    assert ldru.monoid(dyck(depth)).size == expected


def test_dyck_2_is_the_papers_table():
    # Representatives in the order of the appendix's table, and some of its state maps.
    monoid = ldru.monoid(dyck(2))
    words = ["".join(map(str, word)) for word in monoid.representatives]
    listed = "0 1 00 01 10 11 000 001 011 100 110 0011 0110 1100"
    assert words == ["", *listed.split()]
    assert monoid.elements[1].tolist() == [1, 2, 3, 3]
    assert monoid.elements[5].tolist() == [3, 1, 2, 3]
    assert monoid.elements[13].tolist() == [3, 1, 3, 3]


@pytest.mark.parametrize("machine", [dyck(3), tomita(3), modular_arithmetic(), parity_check()])
def test_table_is_the_composition_of_state_maps(machine):
    monoid = ldru.monoid(machine)
    rng = np.random.default_rng(0)
    for left, right in rng.integers(0, monoid.size, (300, 2)):
        # First the left word, then the right one.
        composed = monoid.elements[right][monoid.elements[left]]
        np.testing.assert_array_equal(monoid.elements[monoid.table[left, right]], composed)


@pytest.mark.parametrize("machine", [dyck(2), tomita(7)])
def test_classify_agrees_with_running_from_every_state(machine):
    monoid = ldru.monoid(machine)
    for word in itertools.product(range(2), repeat=7):
        state_map = []
        for state in range(machine.num_states):
            for token in word:
                state = machine.delta[state, token]
            state_map.append(state)
        element = monoid.classify(np.array(word))
        assert monoid.elements[element].tolist() == state_map
        assert monoid.output[element] == machine.run(word)


def test_classify_takes_text_and_batches():
    monoid = ldru.monoid(dyck(2))
    assert monoid.classify("0011") == 12
    words = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    assert monoid.classify(words).tolist() == [12, 4]
    with pytest.raises(ldru.LdruError, match="tokens run from 0 to 1"):
        monoid.classify([-1])


def test_a_monoid_over_the_limit_stops_and_names_it():
    # Cyclic shift, swap and merge of 7 states generate all 7**7 maps.
    n = 7
    delta = [[(q + 1) % n, {0: 1, 1: 0}.get(q, q), max(q, 1)] for q in range(n)]
    machine = ldru.MooreMachine(alphabet="abc", delta=delta, output=[0] * 6 + [1])
    with pytest.raises(ldru.LdruError, match="more than 500 elements"):
        ldru.monoid(machine, limit=500)
