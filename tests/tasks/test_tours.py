"""Tours through the states of a machine."""

import itertools

import numpy as np
import pytest
import torch

import ldru
from ldru.base.randomness import seed_key
from ldru.tasks.tours import FAR, Tours, _distances

CPU = torch.device("cpu")


def tours(task, lengths, *, count=200, seeds=(0, 1)):
    found = Tours(task.machine, max_length=max(lengths), device=CPU)
    return found.draw(seed_key(list(seeds)), lengths=torch.tensor(lengths), count=count)


@pytest.mark.parametrize("name", ["dyck_6", "tomita_3", "modular_arithmetic", "prefix_2_2"])
def test_tours_end_with_the_labels_in_turn_and_are_padded_with_zeros(name):
    task = ldru.task(name)
    lengths = [task.word_length(length) for length in (6, 11, 20)]
    words = tours(task, lengths)
    assert words.shape == (2, 3, 200, max(lengths))
    for place, length in enumerate(lengths):
        labels = task.label(words[:, place, :, :length])
        possible = {
            label for label in range(task.num_classes) if reaches(task.machine, label, length)
        }
        wanted = torch.arange(place * 200, place * 200 + 200) % task.num_classes
        for label in possible:
            assert (labels[:, wanted == label] == label).all()
        assert (labels >= 0).all()
        assert not words[:, place, :, length:].any()
    assert not torch.equal(words[0], words[1])
    assert torch.equal(words[1], tours(task, lengths, seeds=(1,))[0])


def reaches(machine, label, length):
    """Whether some word of a length has a label, by going through sets of states."""
    states = {machine.start}
    for _ in range(length):
        states = {int(state) for old in states for state in machine.delta[old]}
    return any(machine.output[state] == label for state in states)


def test_distances_are_those_of_a_search_of_all_words():
    machine = ldru.task("tomita_3").machine
    found = _distances(machine)
    for start in range(machine.num_states):
        reached = {start: 0}
        for length in range(1, 7):
            for word in itertools.product(range(2), repeat=length):
                state = start
                for token in word:
                    state = int(machine.delta[state, token])
                reached.setdefault(state, length)
        want = [reached.get(state, FAR) for state in range(machine.num_states)]
        assert found[start].tolist() == want


def test_tours_go_far():
    """Of nine states in a row, tours see both ends in 40 symbols; uniform walks hardly ever do."""
    steps = np.arange(9)[:, None] + [[-1, 1]]
    machine = ldru.MooreMachine(
        alphabet=["-", "+"],
        delta=np.clip(steps, 0, 8),
        output=np.arange(9) % 2,
        start=4,
    )
    task = ldru.task("row", machine=machine)
    words = tours(task, [40])[0, 0].numpy()
    uniform = np.random.default_rng(0).integers(2, size=words.shape)

    def share_with_both_ends(words):
        state, seen = np.full(len(words), 4), np.zeros((len(words), 9), dtype=bool)
        for column in words.T:
            state = machine.delta[state, column]
            seen[np.arange(len(words)), state] = True
        return (seen[:, 0] & seen[:, 8]).mean()

    assert share_with_both_ends(words) > 2 * share_with_both_ends(uniform)
