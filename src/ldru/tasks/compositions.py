"""Words put together of two stretches, whose classes in the monoid are any two, all pairs alike.

A tree answers rightly if its operator maps any two states to that of the product of their classes.
Words that are drawn symbol by symbol show few of these products: those of classes that long words
are made of are rare below forty symbols, and so are stretches that just leave a language for good.
"""

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from ldru.automata.machine import MooreMachine
from ldru.automata.monoid import Monoid, kept_monoid
from ldru.base.randomness import fold, words


class Compositions:
    """Compositions of the classes of one machine, as words of at most `max_length` symbols.

    Of each stretch the class is uniform over all that have words of its length, but for the one
    that nothing leads out of; and the stretch is uniform over the words of its class and length.
    Every second word is cut where its balanced tree joins last, the others anywhere.
    """

    def __init__(self, machine: MooreMachine, *, max_length: int, device: torch.device) -> None:
        found = kept_monoid(machine)
        counts = word_counts(found, max_length=max_length)
        is_taken = (counts > 0) & ~zero_classes(found)
        is_taken |= (counts > 0) & ~is_taken.any(axis=1, keepdims=True)  # where no other is there
        before, symbol = _predecessors(found.step, is_taken.any(axis=0))
        sizes = is_taken.sum(axis=1)
        choices = np.argsort(~is_taken, axis=1, kind="stable")
        self.monoid, self.device = found, device
        self._counts = torch.tensor(counts / counts.max(axis=1, keepdims=True), device=device)
        self._before = torch.tensor(before, device=device)
        self._symbol = torch.tensor(symbol, device=device)
        self._choices = torch.tensor(choices, device=device)
        self._sizes = torch.tensor(sizes, device=device)

    def draw(self, key: Tensor, *, lengths: Tensor, count: int) -> Tensor:
        """Words of every length: [..., 2], [lengths] -> [..., lengths, count, longest].

        Shorter ones are padded with zeros.
        """
        sizes = lengths.repeat_interleave(count)
        cut = self._cuts(fold(key, 0), sizes)
        left, right = self._some(fold(key, 1), cut), self._some(fold(key, 2), sizes - cut)
        now, drawn = right, []
        for place in range(int(lengths.max()) - 1, -1, -1):
            now = torch.where(cut - 1 == place, left, now)
            # How many symbols this one's stretch has up to here.
            size = torch.where(place < cut, place + 1, place + 1 - cut)
            is_there = place < sizes
            before = self._before[now]
            weight = self._counts[(size - 1).clamp(min=0)[..., None], before.clamp(min=0)]
            weight = weight.masked_fill(before < 0, 0).cumsum(dim=-1)
            chance = words(fold(fold(key, 3), place), (len(sizes),)).double() / 2**32
            # The first whose sum exceeds it; never one of weight zero.
            pick = (weight <= (chance * weight[..., -1])[..., None]).sum(dim=-1, keepdim=True)
            pick = pick.clamp(max=before.shape[-1] - 1)
            symbol = self._symbol[now].gather(-1, pick)[..., 0]
            now = torch.where(is_there, before.gather(-1, pick)[..., 0], now)
            drawn.append(torch.where(is_there, symbol, 0))
        tokens = torch.stack(drawn[::-1], dim=-1)
        return tokens.unflatten(-2, (len(lengths), count))

    def _cuts(self, key: Tensor, sizes: Tensor) -> Tensor:
        """How many symbols the left stretch has: from 1, and 0 where a word has one alone."""
        power = 2 ** torch.arange(62, device=self.device)
        largest = power[torch.searchsorted(power, sizes) - 1]  # below the size
        anywhere = 1 + (words(key, (len(sizes),)) * (sizes - 1) >> 32)
        is_balanced = torch.arange(len(sizes), device=self.device) % 2 == 0
        return torch.where(sizes == 1, 0, torch.where(is_balanced, largest, anywhere))

    def _some(self, key: Tensor, length: Tensor) -> Tensor:
        """A class of words of these lengths each."""
        place = words(key, (length.shape[-1],)) * self._sizes[length] >> 32
        return self._choices[length, place]


@lru_cache(maxsize=64)
def compositions_of(
    machine: MooreMachine, *, max_length: int, device: torch.device
) -> Compositions:
    """The compositions of a machine; kept, since their tables take a while."""
    return Compositions(machine, max_length=max_length, device=device)


def zero_classes(found: Monoid) -> np.ndarray:
    """Whether every product with a class is that class again [size]; at most one is so."""
    own = np.arange(found.size)
    return (found.table == own[:, None]).all(axis=1) & (found.table == own).all(axis=0)


def word_counts(found: Monoid, *, max_length: int) -> np.ndarray:
    """How many words of each length are in a class: [max_length + 1, size]."""
    counts = np.zeros((max_length + 1, found.size))
    counts[0, 0] = 1
    for length in range(max_length):
        for followers in found.step.T:
            np.add.at(counts[length + 1], followers, counts[length])
    return counts


def _predecessors(step: np.ndarray, is_taken: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From which classes, by which symbols, a class is reached: [size, most] twice; -1 pads.

    is_taken: of which classes this is asked; nothing leads from the others to one of these.
    """
    ways: list[list[tuple[int, int]]] = [[] for _ in step]
    for (element, symbol), follower in np.ndenumerate(step):
        if is_taken[follower]:
            ways[follower].append((element, symbol))
    most = max(map(len, ways))
    padded = np.array([way + [(-1, 0)] * (most - len(way)) for way in ways])
    return padded[..., 0], padded[..., 1]
