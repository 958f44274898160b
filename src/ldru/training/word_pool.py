"""Words beside those that a task draws: pools of them, which batches take a share of."""

import torch
from torch import Tensor

from ldru.base.randomness import Stream, below, fold
from ldru.tasks.batch import PaddedBatch
from ldru.training.draws.regular import RegularDraws
from ldru.training.spec import POOL_SIZE


class WordPool:
    """Some words of each length for every member, of which batches take a share.

    tokens: [members, lengths, POOL_SIZE, longest]; labels: [members, lengths, POOL_SIZE].
    """

    stream: Stream
    """Whose keys say which words a batch takes."""

    def __init__(self, draws: RegularDraws, *, share: float, max_length: int) -> None:
        self.draws, self.share = draws, share
        tasks, device = draws.tasks, draws.device
        lengths = [[task.word_length(n) for n in range(1, max_length + 1)] for task in tasks]
        self._lengths = torch.tensor(lengths, device=device)
        shape = (len(tasks), max_length, POOL_SIZE)
        longest = int(self._lengths.max())
        self.tokens = torch.zeros(*shape, longest, dtype=torch.int16, device=device)
        self.labels = torch.zeros(shape, dtype=torch.int16, device=device)

    @property
    def longest(self) -> int:
        return self.tokens.shape[-1]

    def mix(self, batch: PaddedBatch, step: Tensor, length: int) -> PaddedBatch:
        """A batch with its share of these words, spread evenly over the rows."""
        rows = batch.tokens.shape[1]
        count = round(self.share * rows)
        if not count:
            return batch
        picks = below(fold(self.draws.keys[self.stream], step), POOL_SIZE, (count,))
        tokens = rows_of(self.tokens[:, length - 1, :, : batch.tokens.shape[2]], picks)
        labels = self.labels[:, length - 1].gather(1, picks)
        places = self._places(count, rows)
        return batch._replace(
            tokens=batch.tokens.index_copy(1, places, tokens.to(batch.tokens.dtype)),
            labels=batch.labels.index_copy(1, places, labels.to(batch.labels.dtype)),
        )

    def _places(self, count: int, rows: int) -> Tensor:
        """Where a batch takes them."""
        return torch.arange(count, device=self.tokens.device) * rows // count

    def _keep(self, length: int, tokens: Tensor, labels: Tensor) -> None:
        self.tokens[:, length - 1, :, : tokens.shape[2]] = tokens.to(self.tokens.dtype)
        self.labels[:, length - 1] = labels.to(self.labels.dtype)

    def _label(self, tokens: Tensor, length: int) -> Tensor:
        """Labels by each member's own task: [members, count, longest] -> [members, count]."""
        labels = torch.empty(tokens.shape[:2], dtype=torch.int64, device=tokens.device)
        for task, rows in self.draws.groups:
            labels[rows] = task.label(tokens[rows, :, : task.word_length(length)])
        return labels


def rows_of(tokens: Tensor, picks: Tensor) -> Tensor:
    """Words by number: [members, count, longest], [members, some] -> [members, some, longest]."""
    return tokens.gather(1, picks[..., None].expand(*picks.shape, tokens.shape[2]))
