"""RegularGPT: one transformer layer that reads a word in windows, level by level."""

import itertools

import torch
from torch import Tensor, nn

from ldru.base.errors import LdruError
from ldru.layers.dropout import Dropout
from ldru.layers.embedding import Embedding
from ldru.layers.linear import Linear
from ldru.layers.residual_block import ResidualBlock
from ldru.models.words import check_sizes, check_words


class RegularGPTClassifier(nn.Module):
    """Reduce a word to one state in ceil(log_chunk n) levels of one layer, and score the classes.

    A level fills the word on its left with a learned vector up to a multiple of the chunk, cuts it
    into windows, lets the last token of each window look at the window, and keeps that token:

    x <- LayerNorm(x + Attention(x, window))
    x <- LayerNorm(x + FFN(x))                                 FFN: d -> 4d -> d, ReLU

    The first tokens of a window are dropped after the level, so that their states are not computed.
    "Pre-norm & Post-norm" in the paper's table is read as in `TransformerClassifier`. Embeddings
    are scaled by sqrt(dim) and nothing is appended to the word, as in the public code. A word of
    one token takes no level.

    All levels share their weights, as the paper's table says. Its total of 3200k, however, equals
    four such layers without sharing; this one has a quarter of it.

    dropout: rate after each level.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        num_classes: int,
        dim: int = 256,
        num_heads: int = 8,
        chunk_size: int = 2,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_sizes(vocab_size=vocab_size, num_classes=num_classes, dim=dim, num_heads=num_heads)
        if dim % num_heads:
            raise LdruError(f"dim must be a multiple of num_heads, got {dim} and {num_heads}")
        if chunk_size < 2:
            raise LdruError(f"chunk_size must be at least 2 for a word to shrink, got {chunk_size}")
        self.vocab_size, self.num_classes = vocab_size, num_classes
        self.dim, self.chunk_size = dim, chunk_size
        self.embedding = Embedding(vocab_size, dim)
        self.filler = Embedding(1, dim)
        self.attention = WindowAttention(dim=dim, num_heads=num_heads, chunk_size=chunk_size)
        self.norm = nn.LayerNorm(dim)
        self.block = ResidualBlock(dim=dim)
        self.dropout = Dropout(rate=dropout)
        self.head = Linear(dim, num_classes)

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes: [batch, length] -> [batch, classes]."""
        tokens = check_words(tokens, lengths)
        if lengths is not None:
            tokens = align_right(tokens, lengths)
        x = self.embedding(tokens) * self.dim**0.5
        for level in itertools.count():
            if x.shape[1] == 1:
                break
            x, lengths = self._climb(x, lengths)
            # Counted from the right edge, where words end: padding must not move the masks.
            x = self.dropout(x.flip(1), level).flip(1)
        return self.head(x[:, 0])

    def _climb(self, x: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """One level up; words end at the right edge, and those of one state stay as they are."""
        filler = self.filler.weight
        x = torch.cat([filler.expand(len(x), -x.shape[1] % self.chunk_size, -1), x], dim=1)
        if lengths is not None:
            from_right = torch.arange(x.shape[1], 0, -1, device=x.device)
            x = torch.where((from_right <= lengths[:, None])[..., None], x, filler)
        windows = x.unflatten(1, (-1, self.chunk_size))  # [batch, windows, chunk, dim]
        last = windows[:, :, -1]
        states = self.block(self.norm(last + self.attention(windows)))
        if lengths is None:
            return states, None
        states = torch.where((lengths > 1)[:, None, None], states, last)
        return states, (lengths + self.chunk_size - 1) // self.chunk_size


class WindowAttention(nn.Module):
    """The last token of a window looks at the window; each head has a bias for each place."""

    def __init__(self, *, dim: int, num_heads: int, chunk_size: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = Linear(dim, dim, bias=False)
        self.key = Linear(dim, dim, bias=False)
        self.value = Linear(dim, dim, bias=False)
        self.out = Linear(dim, dim, bias=False)
        self.bias = nn.Parameter(torch.empty(num_heads, chunk_size))
        nn.init.normal_(self.bias, std=0.02)

    def forward(self, windows: Tensor) -> Tensor:
        """Mix each window: [..., chunk, dim] -> [..., dim]."""
        heads = (self.num_heads, -1)
        query = self.query(windows[..., -1:, :]).unflatten(-1, heads)
        key = self.key(windows).unflatten(-1, heads)  # [..., chunk, heads, width]
        value = self.value(windows).unflatten(-1, heads)
        scores = (query * key).sum(dim=-1) * key.shape[-1] ** -0.5 + self.bias.mT
        weights = scores.softmax(dim=-2)  # [..., chunk, heads]
        mixed = (weights[..., None] * value).sum(dim=-3)
        return self.out(mixed.flatten(start_dim=-2))


def align_right(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Move every word to the right edge: [batch, length], [batch] -> [batch, length].

    What stands left of a word means nothing.
    """
    length = tokens.shape[1]
    source = torch.arange(length, device=tokens.device) - (length - lengths[:, None])
    return tokens.take_along_dim(source.clamp(min=0), dim=1)
