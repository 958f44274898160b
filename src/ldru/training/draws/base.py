"""Draws of a fleet at every step: words, and the keys of random layers.

All of it is a function of (member seed, stream, step, index), so a member's draws do not depend on
who else is in the fleet.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from ldru.base.randomness import WORD, Stream, fold, seed_key, words
from ldru.tasks.batch import PaddedBatch
from ldru.training.spec import TrainSpec


class Draws(ABC):
    """Where the members of a fleet have their words and keys from."""

    def __init__(self, seeds: Sequence[int], *, device: torch.device) -> None:
        self.device = device
        root = seed_key(seeds, device=device)
        self.keys = {stream: fold(root, stream) for stream in Stream}

    @abstractmethod
    def plan(self, begin: int, end: int, settings: TrainSpec) -> list[int]:
        """Make ready for steps begin..end - 1: the length that each one's words are padded to."""

    @abstractmethod
    def training(self, step: Tensor, length: int, settings: TrainSpec) -> PaddedBatch:
        """The words of a step [], padded to the length that was planned for it."""

    @abstractmethod
    def validation(self, settings: TrainSpec) -> list[PaddedBatch]:
        """The validation words of every member, in one batch or several."""

    @abstractmethod
    def longest(self, settings: TrainSpec) -> int:
        """The greatest length that can be planned."""

    @abstractmethod
    def label_factors(self, tokens: Tensor, begin: Tensor, end: Tensor) -> Tensor:
        """The labels of stretches of words, -1 where there is none: [members, rows] -> same.

        tokens: [members, batch, length]; begin, end: places among all tokens of a member, the same
            where there is no stretch.
        """

    @abstractmethod
    def classify_factors(self, tokens: Tensor, begin: Tensor, end: Tensor) -> Tensor:
        """The classes of stretches of words, as `label_factors` gives their labels."""

    def tree_keys(self, step: Tensor, *, batch_size: int) -> Tensor:
        """A key for the random tree of each word of a step: [members, batch, 2]."""
        key = fold(self.keys[Stream.TREES], step)
        return fold(key[:, None], torch.arange(batch_size, device=self.device))

    def row_keys(self, step: Tensor, *, num_layers: int, batch_size: int) -> Tensor:
        """A key for each row of each random layer: [layers, members, batch, 2]."""
        layers = torch.arange(num_layers, device=self.device)[:, None]
        rows = torch.arange(batch_size, device=self.device)
        key = fold(self.keys[Stream.DROPOUT], step)
        return fold(fold(key, layers)[:, :, None], rows)


def random_tree_steps(begin: int, end: int, *, share: float) -> list[bool]:
    """Whether each of steps begin..end - 1 takes random trees, the same for everyone."""
    keys = fold(fold(seed_key(0), Stream.TREES)[None], torch.arange(begin, end))
    return (words(keys, (1,)).flatten() < share * WORD).tolist()
