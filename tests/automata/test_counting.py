import itertools

import numpy as np
import pytest

from ldru import from_regex
from ldru.automata.counting import Domain, WordCounts
from ldru.automata.families import dyck, modular_arithmetic, tomita

MACHINES = [dyck(3), tomita(3), from_regex("(a|bc)*", alphabet="abc"), modular_arithmetic(2)]


@pytest.mark.parametrize("machine", MACHINES)
def test_counts_equal_enumeration(machine):
    for length in range(6):
        words = np.array(list(itertools.product(range(machine.num_symbols), repeat=length)))
        labels = machine.run(words.reshape(-1, length)) if length else machine.run([[]])
        for label in range(machine.num_classes):
            assert WordCounts(machine, label=label).words(length) == (labels == label).sum()
        assert Domain(machine).has_words(length) == (labels >= 0).any()


def test_counts_do_not_overflow():
    machine = from_regex("0(0|1)*|1(01)*")
    counts = WordCounts(machine, label=1)
    assert counts.words(501) == 2**500 + 1
    # After the first 1, the class has one word left against 2**500 on the other side.
    cuts = counts.cuts(501)
    state = machine.delta[machine.start, 1]
    for place in range(1, 501):
        token = 0 if place % 2 else 1
        assert cuts[place, state, 0] == (2**32 if token == 0 else 0)
        state = machine.delta[state, token]
