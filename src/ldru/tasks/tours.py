"""Words that lead a machine through all of its states: from one to another by a shortest way.

Words that are drawn symbol by symbol stay near where they began: uniform brackets of 40 symbols
rarely open ten in a row. Tours go straight to a state chosen at random, then to the next, and end
with a wanted label, so that short words hold what longer ones are made of.
"""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from ldru.automata.machine import MooreMachine
from ldru.base.randomness import bits, fold, words

FAR = 2**31
"""The distance to a state that cannot be reached."""


class Tours:
    """Tours of one machine, of at most `max_length` symbols; they end with its labels in turn."""

    def __init__(self, machine: MooreMachine, *, max_length: int, device: torch.device) -> None:
        delta, states = machine.delta, machine.num_states
        distance = _distances(machine)
        is_nearer = distance[delta].transpose(0, 2, 1) < distance[:, :, None]
        order = np.argsort(distance, axis=1, kind="stable")  # oneself first, the unreachable last
        labels = np.unique(machine.output[machine.output >= 0])
        ends = machine.output[None, :] == labels[:, None]
        can_end = [ends]  # in so many symbols, with a label, from a state
        for _ in range(max_length):
            can_end.append(can_end[-1][:, delta].any(axis=2))
        self.machine, self.device, self.num_labels = machine, device, len(labels)
        self._delta = torch.tensor(delta, device=device)
        self._is_nearer = torch.tensor(is_nearer, device=device)
        self._others = torch.tensor(order[:, 1:].reshape(states, states - 1), device=device)
        self._reachable = torch.tensor((distance < FAR).sum(axis=1) - 1, device=device)
        self._can_end = torch.tensor(np.stack(can_end), device=device)

    def draw(self, key: Tensor, *, lengths: Tensor, count: int) -> Tensor:
        """Tours of every length: [..., 2], [lengths] -> [..., lengths, count, longest].

        Shorter ones are padded with zeros. Where no word of a length has the wanted label, it ends
        with any.
        """
        sizes = lengths.repeat_interleave(count)
        label = torch.arange(len(sizes), device=self.device) % self.num_labels
        label = label.expand(*key.shape[:-1], -1)
        state = torch.full_like(label, self.machine.start)
        target, drawn = state, []
        for place in range(int(lengths.max())):
            here = fold(key, place)
            target = torch.where(target == state, self._some_other(state, fold(here, 0)), target)
            left = (sizes - 1 - place).clamp(min=0)
            followers = self._delta[state]
            is_open = self._can_end[left[:, None], label[..., None], followers]
            is_nearer = self._is_nearer[state, target] & is_open
            # The best kind of symbol that there is, and among these any.
            rank = is_open.to(torch.int64) + is_nearer
            chance = words(fold(here, 1), followers.shape[-2:]) >> 1
            symbol = (rank * 2**31 + chance).argmax(dim=-1)
            # A way that is closed is given up.
            is_on = is_nearer.gather(-1, symbol[..., None])[..., 0]
            state = followers.gather(-1, symbol[..., None])[..., 0]
            target = torch.where(is_on, target, state)
            drawn.append(torch.where(place < sizes, symbol, 0))
        tokens = torch.stack(drawn, dim=-1)
        return tokens.unflatten(-2, (len(lengths), count))

    def _some_other(self, state: Tensor, key: Tensor) -> Tensor:
        """A reachable state other than these, or themselves where there is none."""
        if not self._others.shape[1]:
            return state
        chance = bits(key, state.shape[-1]).to(torch.int64) & (2**32 - 1)
        reachable = self._reachable[state]
        other = self._others[state, chance * reachable >> 32]
        return torch.where(reachable > 0, other, state)


@lru_cache(maxsize=64)
def tours_of(machine: MooreMachine, *, max_length: int, device: torch.device) -> Tours:
    """The tours of a machine; kept, since its tables take a while."""
    return Tours(machine, max_length=max_length, device=device)


def _distances(machine: MooreMachine) -> np.ndarray:
    """How many symbols lead from a state to another at least: [states, states]."""
    states = machine.num_states
    distance = np.where(np.eye(states, dtype=bool), 0, FAR)
    for _ in range(states):
        distance = np.minimum(distance, 1 + distance[machine.delta].min(axis=1))
    return np.minimum(distance, FAR)
