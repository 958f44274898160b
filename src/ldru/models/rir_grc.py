"""RIR-GRC: the gated recursive cell along chunks, then along the chunks' results."""

import itertools

import torch
from torch import Tensor
from torch.nn import functional

from ldru.base.errors import LdruError
from ldru.models.bbt_grc import GRCClassifier


class RIRGRCClassifier(GRCClassifier):
    """Recursion in recursion: each chunk of a word becomes one state, until one is left.

    A word of n states is cut into chunks from the left, the last of which may be short. A word of
    n < chunk + chunk // 2 is a single chunk, and one of n = 1 is done. A chunk x_1 .. x_k becomes
    h_k, with h_0 = 0 and h_t = GRC(h_(t-1), x_t).

    The published system has a state-space layer in front. It is not built here: the paper's total
    of 430k has no room for one.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        num_classes: int,
        dim: int = 128,
        chunk_size: int = 12,
        dropout: float = 0.1,
        cell_dropout: float = 0.1,
    ) -> None:
        super().__init__(
            vocab_size=vocab_size,
            num_classes=num_classes,
            embedding_dim=dim,
            dim=dim,
            dropout=dropout,
            cell_dropout=cell_dropout,
        )
        if chunk_size < 2:
            raise LdruError(f"chunk_size must be at least 2 for a word to shrink, got {chunk_size}")
        self.chunk_size = chunk_size
        self.cut_from = chunk_size + chunk_size // 2

    def reduce(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        level_numbers = itertools.count()
        while x.shape[1] > 1:
            x, lengths = self._climb(x, lengths, level=next(level_numbers))
        return x[:, 0]

    def chunk_sizes(self, lengths: Tensor, *, longest: int) -> Tensor:
        """How many states each chunk of a word has: [batch] -> [batch, chunks].

        longest: no word is longer; it decides the number of chunks, of which some may be empty.
        """
        num_chunks = 1 if longest < self.cut_from else -(-longest // self.chunk_size)
        begins = self.chunk_size * torch.arange(num_chunks, device=lengths.device)
        lengths = lengths[:, None]
        single = torch.where(begins == 0, lengths, 0)
        cut = (lengths - begins).clamp(min=0, max=self.chunk_size)
        return torch.where(lengths < self.cut_from, single, cut)

    def _climb(
        self, x: Tensor, lengths: Tensor | None, *, level: int
    ) -> tuple[Tensor, Tensor | None]:
        """One level up: [batch, length, dim] -> [batch, chunks, dim].

        Each word goes by its own length, and stays as it is when one state is left.
        """
        length = x.shape[1]
        if lengths is None:
            sizes = self.chunk_sizes(torch.full((1,), length, device=x.device), longest=length)
            widest = length if sizes.shape[1] == 1 else self.chunk_size
            return self._recur(x, sizes, widest=widest, level=level), None
        sizes = self.chunk_sizes(lengths, longest=length)
        # Beside words that are cut, one may be a single chunk of almost one and a half.
        states = self._recur(x, sizes, widest=min(length, self.cut_from - 1), level=level)
        states = torch.where((lengths > 1)[:, None, None], states, x[:, :1])
        return states, (sizes > 0).sum(dim=1)

    def _recur(self, x: Tensor, sizes: Tensor, *, widest: int, level: int) -> Tensor:
        """The last state of every chunk, all chunks side by side.

        x [batch, length, dim], sizes [batch or 1, chunks] -> [batch, chunks, dim].
        """
        num_chunks = sizes.shape[1]
        missing = (num_chunks - 1) * self.chunk_size + widest - x.shape[1]
        x = functional.pad(x, (0, 0, 0, missing))
        chunks = x.unfold(1, widest, self.chunk_size)  # [batch, chunks, dim, widest]
        state = x.new_zeros(len(x), num_chunks, self.dim)
        for place in range(widest):
            is_inside = (place < sizes)[..., None]
            # A number of its own for every place of a level, however wide chunks are here.
            new = self.cell(state, chunks[..., place], level * self.cut_from + place)
            state = torch.where(is_inside, new, state)
        return state
