"""RegularGPT: transformer layers that read a word in windows, level by level."""

import itertools

import torch
from torch import Tensor, nn

from ldru.base.errors import LdruError
from ldru.base.limits import check_sizes
from ldru.kernels.support import apply_to_all, can_run
from ldru.layers.dropout import Dropout
from ldru.layers.embedding import Embedding
from ldru.layers.feed_forward import feed_forward
from ldru.layers.linear import Linear
from ldru.layers.norm import AddNorm
from ldru.models.words import align_right, check_words

LONGEST_WINDOW = 16
"""That our kernels go through."""


class RegularGPTClassifier(nn.Module):
    """Reduce a word to one state in ceil(log_chunk n) levels, at least one, and score the classes.

    A level fills the word on its left with a learned vector up to a multiple of the chunk, cuts it
    into windows, lets every token look at its window up to itself, and keeps the last of each:

    x <- LayerNorm(x + Attention(x, window))
    x <- LayerNorm(x + FFN(x))                                 FFN: d -> 4d -> d, ReLU

    In the last layer of a level the states of tokens that are dropped are not computed. "Pre-norm &
    Post-norm" in the paper's table is read as in `TransformerClassifier`. Embeddings are scaled by
    sqrt(dim) and nothing is appended to the word, as in the public code.

    All levels share their weights, and a level has one layer, as the paper's table says. Its total
    of 3200k, however, is that of a thickness of 4, or of four layers without sharing.

    dropout: rate after each level.
    thickness: layers within a level, each with weights of its own.
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
        thickness: int = 1,
    ) -> None:
        super().__init__()
        check_sizes(
            vocab_size=vocab_size,
            num_classes=num_classes,
            dim=dim,
            num_heads=num_heads,
            thickness=thickness,
        )
        if dim % num_heads:
            raise LdruError(f"dim must be a multiple of num_heads, got {dim} and {num_heads}")
        if chunk_size < 2:
            raise LdruError(f"chunk_size must be at least 2 for a word to shrink, got {chunk_size}")
        self.vocab_size, self.num_classes = vocab_size, num_classes
        self.dim, self.chunk_size = dim, chunk_size
        self.embedding = Embedding(vocab_size, dim)
        self.filler = Embedding(1, dim)
        self.layers = nn.ModuleList(
            Layer(dim=dim, num_heads=num_heads, chunk_size=chunk_size) for _ in range(thickness)
        )
        self.dropout = Dropout(rate=dropout)
        self.head = Linear(dim, num_classes)

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes: [batch, length] -> [batch, classes]."""
        tokens = align_right(check_words(tokens, lengths), lengths)
        x = self.embedding(tokens) * self.dim**0.5
        for level in itertools.count():
            if level and x.shape[1] == 1:
                break
            x, lengths = self._climb(x, lengths, is_first=level == 0)
            if self.dropout.is_on:
                # Counted from the right edge, where words end: padding must not move the masks.
                x = self.dropout(x.flip(1), level).flip(1)
        return self.head(x[:, 0])

    def _climb(
        self, x: Tensor, lengths: Tensor | None, *, is_first: bool
    ) -> tuple[Tensor, Tensor | None]:
        """One level up; words end at the right edge.

        After the first level, words of one state stay as they are.
        """
        filler = self.filler.weight
        x = torch.cat([filler.expand(len(x), -x.shape[1] % self.chunk_size, -1), x], dim=1)
        if lengths is not None:
            from_right = torch.arange(x.shape[1], 0, -1, device=x.device)
            x = torch.where((from_right <= lengths[:, None])[..., None], x, filler)
        windows = x.unflatten(1, (-1, self.chunk_size))  # [batch, windows, chunk, dim]
        last = windows[:, :, -1]
        for layer in self.layers[:-1]:
            windows = layer(windows, queries=windows)
        states = self.layers[-1](windows, queries=windows[:, :, -1:]).squeeze(2)
        if lengths is None:
            return states, None
        if not is_first:
            states = torch.where((lengths > 1)[:, None, None], states, last)
        return states, (lengths + self.chunk_size - 1) // self.chunk_size


class Layer(nn.Module):
    """Attention in windows and FFN, each a residual branch with a layer norm on the sum."""

    def __init__(self, *, dim: int, num_heads: int, chunk_size: int) -> None:
        super().__init__()
        self.attention = WindowAttention(dim=dim, num_heads=num_heads, chunk_size=chunk_size)
        self.attention_norm = AddNorm(dim)
        self.up = Linear(dim, 4 * dim)
        self.down = Linear(4 * dim, dim)
        self.norm = AddNorm(dim)

    def forward(self, windows: Tensor, *, queries: Tensor) -> Tensor:
        """Refine the last tokens of windows: [..., chunk, dim], [..., some, dim] -> the latter."""
        x = self.attention_norm(queries, self.attention(windows, queries))
        return self.norm(x, feed_forward(x, self.up, self.down))


class WindowAttention(nn.Module):
    """Tokens look at their window up to themselves; each head has a bias for each place."""

    def __init__(self, *, dim: int, num_heads: int, chunk_size: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = Linear(dim, dim, bias=False)
        self.key = Linear(dim, dim, bias=False)
        self.value = Linear(dim, dim, bias=False)
        self.out = Linear(dim, dim, bias=False)
        self.bias = nn.Parameter(torch.empty(num_heads, chunk_size))
        nn.init.normal_(self.bias, std=0.02)

    def forward(self, windows: Tensor, queries: Tensor) -> Tensor:
        """Mix windows [..., chunk, dim] for their last tokens: [..., some, dim] -> the same."""
        if can_fuse(self, queries):
            query, key, value = self.query(queries), self.key(windows), self.value(windows)
            rows = (query.flatten(0, -2), key.flatten(0, -3), value.flatten(0, -3), self.bias.mT)
            mixed = Windows.apply(*(part[None] for part in rows)).squeeze(0)
            return self.out(mixed.reshape(queries.shape))
        heads, chunk, some = (self.num_heads, -1), windows.shape[-2], queries.shape[-2]
        query = self.query(queries).unflatten(-1, heads)[..., None, :, :]
        key = self.key(windows).unflatten(-1, heads)[..., None, :, :, :]
        value = self.value(windows).unflatten(-1, heads)[..., None, :, :, :]
        # [..., some, chunk, heads]
        scores = (query * key).sum(dim=-1) * key.shape[-1] ** -0.5 + self.bias.mT
        if some > 1:
            place = torch.arange(chunk, device=windows.device)
            is_seen = place <= place[chunk - some :, None]
            scores = scores.masked_fill(~is_seen[..., None], -torch.inf)
        weights = scores.softmax(dim=-2)
        mixed = (weights[..., None] * value).sum(dim=-3)
        return self.out(mixed.flatten(start_dim=-2))


def can_fuse(layer: WindowAttention, queries: Tensor) -> bool:
    """Whether our kernels attend: for the last tokens of short windows, in sizes that fit."""
    heads, chunk = layer.bias.shape
    width = queries.shape[-1] // heads
    is_even = all(size & (size - 1) == 0 for size in (heads, width))  # powers of two
    return queries.shape[-2] == 1 and chunk <= LONGEST_WINDOW and is_even and can_run(queries)


class Windows(torch.autograd.Function):
    """Attention of last tokens to their windows, of each member: [members, windows, ...] all.

    query [.., dim], key, value [.., chunk, dim]; bias [members, chunk, heads].
    """

    @staticmethod
    def forward(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
        from ldru.kernels.windows import window

        return window(query, key, value, bias)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: Tensor) -> None:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, ...]:  # type: ignore[no-untyped-def]
        from ldru.kernels.windows import window_gradient

        query, key, value, bias, output = ctx.saved_tensors
        return window_gradient(query, key, value, bias, output, gradient)

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs: Tensor) -> tuple[Tensor, int]:  # type: ignore[no-untyped-def]
        return apply_to_all(Windows, info, in_dims, *inputs)
