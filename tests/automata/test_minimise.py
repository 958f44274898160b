"""Equal states, against words that tell them apart."""

import itertools
import time

import numpy as np
import pytest

import ldru
from ldru.automata.minimise import equal_states


@pytest.mark.parametrize("seed", range(60))
def test_blocks_are_states_that_no_word_tells_apart(seed):
    draw = np.random.default_rng(seed)
    states, symbols = int(draw.integers(1, 7)), int(draw.integers(1, 4))
    delta = draw.integers(0, states, (states, symbols))
    output = draw.integers(-1, int(draw.integers(1, 4)), states)
    blocks = equal_states(delta, output)
    # Words shorter than the number of states tell apart all that can be told apart.
    ends = [np.arange(states)]
    answers = [output]
    for _ in range(states - 1):
        ends = [delta[end, symbol] for end, symbol in itertools.product(ends, range(symbols))]
        answers += [output[end] for end in ends]
    answers = np.array(answers)
    for one, other in itertools.combinations(range(states), 2):
        is_alike = (answers[:, one] == answers[:, other]).all()
        assert (blocks[one] == blocks[other]) == is_alike


def test_a_long_chain_takes_no_round_per_state():
    begin = time.monotonic()
    assert ldru.from_regex("(ab){4000}").num_states == 8002
    assert time.monotonic() - begin < 60  # rounds over all states took minutes
