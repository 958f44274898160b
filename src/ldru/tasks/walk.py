"""How words are drawn: a walk on the states of a machine, and a batch made of several walks.

Every sampler of the paper is such a walk: uniform words, balanced brackets, Tomita's languages
with some moves forbidden, and the uniform distribution over the words of one class. A walk is a
table of cuts: at each place and state, the next symbol is the number of cuts at or below a
uniform word of 32 bits. Everything is whole numbers, so a key gives the same words on any device.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from ldru.automata.machine import IntArray, MooreMachine
from ldru.automata.monoid import monoid_within
from ldru.base.randomness import WORD, fold, words

NOISE_LEVELS = 2**16
LARGEST_MONOID = 1024
"""Of a machine that labels words by products in it: beyond, the table is not worth its memory."""

KEPT_LENGTH = 256
"""Tables of longer words are made anew each time: evaluation asks for hundreds of lengths once."""


@dataclass(frozen=True, eq=False)
class Walk:
    """A distribution of words of any length.

    cuts: length -> cuts [length, states, symbols - 1]; an axis of size 1 stands for all its values.
    noise: length -> deviation of the normal noise added to the cuts of each place and state
        [length, states], in units of 2**-32; drawn for every place of every word.
    is_possible: length -> whether the walk can be made.
    """

    cuts: Callable[[int], IntArray]
    noise: Callable[[int], IntArray] | None = None
    is_possible: Callable[[int], bool] = lambda length: True


@dataclass(frozen=True, eq=False)
class Share:
    """A part of a batch: words of one walk, those with the wanted label first.

    oversample: how many candidates are drawn for each word that is kept.
    """

    walk: Walk
    wanted: int | None = None
    oversample: float = 1.0


class Tables:
    """A machine and the walks on it as tensors on one device."""

    def __init__(self, machine: MooreMachine, *, device: torch.device) -> None:
        self.machine, self.device = machine, device
        # States are kept times the number of symbols: state + token is then the place in `delta`.
        self.delta = torch.tensor(machine.delta.ravel() * machine.num_symbols, device=device)
        self.output = torch.tensor(machine.output, device=device)
        self.start = machine.start * machine.num_symbols
        self._kept: dict[tuple[Walk, int], tuple[Tensor, Tensor | None]] = {}
        self._monoid = monoid_within(machine, limit=LARGEST_MONOID)
        if self._monoid is not None:
            self._letters = torch.tensor(self._monoid.step[0], device=device)
            self._products = torch.tensor(self._monoid.table.ravel(), device=device)
            self._labels = torch.tensor(self._monoid.output, device=device)

    def walk(self, walk: Walk, length: int) -> tuple[Tensor, Tensor | None]:
        """The cuts of a walk, and its noise if it has any."""
        if (walk, length) in self._kept:
            return self._kept[walk, length]
        cuts = torch.tensor(walk.cuts(length), device=self.device)
        noise = None
        if walk.noise is not None:
            noise = torch.tensor(walk.noise(length), device=self.device)
        if length <= KEPT_LENGTH:
            self._kept[walk, length] = cuts, noise
        return cuts, noise

    def label(self, tokens: Tensor) -> Tensor:
        """The machine's answers: [..., length, count] -> [..., count].

        By products in the monoid where it is small: log2(length) steps instead of length.
        """
        if self._monoid is not None:
            classes = self._letters[tokens]
            while (length := classes.shape[-2]) > 1:
                left, right = classes[..., 0 : length - 1 : 2, :], classes[..., 1::2, :]
                products = self._products[left * self._monoid.size + right]
                if length % 2:
                    products = torch.cat([products, classes[..., -1:, :]], dim=-2)
                classes = products
            return self._labels[classes[..., 0, :]]
        places = torch.full_like(tokens[..., 0, :], self.start)
        for row in tokens.unbind(dim=-2):
            places = self.delta[places + row]
        return self.output[places // self.machine.num_symbols]

    def label_prefixes(self, tokens: Tensor) -> Tensor:
        """The machine's answers to every prefix: [..., length, count] -> [..., length, count]."""
        places, found = torch.full_like(tokens[..., 0, :], self.start), []
        for row in tokens.unbind(dim=-2):
            places = self.delta[places + row]
            found.append(places)
        return self.output[torch.stack(found, dim=-2) // self.machine.num_symbols]


def draw_share(
    share: Share, tables: Tables, key: Tensor, *, count: int, length: int
) -> tuple[Tensor, Tensor]:
    """`count` words and labels: key [..., 2] -> [..., count, length], [..., count]."""
    candidates = math.ceil(share.oversample * count)
    tokens, labels = _draw(share.walk, tables, key, count=candidates, length=length)
    if share.wanted is not None and candidates > count:
        chosen = _first(labels.eq(share.wanted), count)
        tokens = tokens.gather(-1, chosen[..., None, :].expand(*tokens.shape[:-1], count))
        labels = labels.gather(-1, chosen)
    return tokens.transpose(-1, -2), labels


def _draw(
    walk: Walk, tables: Tables, key: Tensor, *, count: int, length: int
) -> tuple[Tensor, Tensor]:
    """Words and labels of a walk: key [..., 2] -> [..., length, count], [..., count]."""
    uniform = words(fold(key, 0), (length, count))
    cuts, noise = tables.walk(walk, length)
    if cuts.shape[1] == 1:  # the state does not matter: all places at once
        tokens = (uniform[..., None] >= cuts).sum(dim=-1)
        return tokens, tables.label(tokens)

    if noise is not None:
        shift = _normal(fold(key, 1), length, count)
    places = torch.full_like(uniform[..., 0, :], tables.start)
    drawn = []
    for place in range(length):
        row, state = min(place, len(cuts) - 1), places // tables.machine.num_symbols
        here = cuts[row][state]
        if noise is not None:
            jitter = noise[row][state] * shift[..., place, :] >> 24
            here = (here + jitter[..., None]).clamp(0, WORD)
        token = (uniform[..., place, :, None] >= here).sum(dim=-1)
        places = tables.delta[places + token]
        drawn.append(token)
    return torch.stack(drawn, dim=-2), tables.output[places // tables.machine.num_symbols]


def _first(is_wanted: Tensor, count: int) -> Tensor:
    """Indices of the first `count` wanted, then of the rest, in order: [..., n] -> [..., count].

    A stable partition by ranks, because a sort may wait for the host and its shapes are static.
    """
    wanted_rank = is_wanted.cumsum(dim=-1) - 1
    num_wanted = wanted_rank[..., -1:] + 1
    other_rank = num_wanted + (~is_wanted).cumsum(dim=-1) - 1
    rank = torch.where(is_wanted, wanted_rank, other_rank)
    index = torch.arange(rank.shape[-1], device=rank.device).expand_as(rank)
    return torch.empty_like(rank).scatter_(-1, rank, index)[..., :count]


def _normal(key: Tensor, length: int, count: int) -> Tensor:
    """Standard normal numbers in units of 2**-24: key [..., 2] -> int64 [..., length, count].

    Quantiles from a table, not a formula: floating-point functions differ between devices.
    """
    return quantiles(key.device)[words(key, (length, count)) >> 16]


@lru_cache(maxsize=8)
def quantiles(device: torch.device) -> Tensor:
    """Of the standard normal distribution, in units of 2**-24: [NOISE_LEVELS]."""
    middle = (torch.arange(NOISE_LEVELS, dtype=torch.float64) + 0.5) / NOISE_LEVELS
    return (torch.special.ndtri(middle) * 2**24).round().to(torch.int64).to(device)


def uniform_walk(num_symbols: int) -> Walk:
    """Every word equally likely."""
    cuts = cuts_of(np.full((1, 1, num_symbols), 1 / num_symbols))
    return Walk(cuts=lambda length: cuts)


def cuts_of(probabilities: np.ndarray) -> IntArray:
    """Cuts from probabilities of symbols: [..., symbols] -> [..., symbols - 1]."""
    return np.rint(probabilities.cumsum(axis=-1)[..., :-1] * WORD).astype(np.int64)
