"""The Log-Depth Recurrent Unit: an encoder, and a classifier of token sequences on top of it."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ldru.base.errors import LdruError, unknown_name
from ldru.base.limits import check_sizes
from ldru.layers.activations import activation_named
from ldru.layers.dropout import Dropout
from ldru.layers.embedding import Embedding, look_up
from ldru.layers.linear import Linear
from ldru.layers.residual_block import ResidualBlock
from ldru.models import backends
from ldru.models.backends import check_backend
from ldru.models.streams import EncoderStream, TokenStream
from ldru.models.stretches import nodes_above, shared_levels
from ldru.models.words import check_words, is_word
from ldru.operators import build_operator
from ldru.tree import (
    Combine,
    Factors,
    Finish,
    Level,
    Order,
    RandomTrees,
    Trees,
    associativity_loss,
    check_lengths,
    fill,
    has_values,
    level_factors,
    without_padding,
)

Empty = Literal["error", "zero", "learned"]

LARGEST_STD = 100.0
"""Of embeddings at the start: far within the range of float16, which kernels store them as."""


class LDRU(nn.Module):
    """Encode words of vectors in logarithmic depth: [batch, length, dim] -> [batch, dim].

    Neighbours are combined by `operator` until one vector is left; after each step every state
    goes through one shared residual block and dropout (see `tree_reduce` for the pairing rule and
    the law of padding).

    operator: a name of `OPERATORS`, or a module [..., dim], [..., dim] -> [..., dim].
    activation: of the residual block and of the MLP operator's gates.
    gates: what these start around (see `MLPOperator`): "centred" as the paper's, or "open", so that
        an untrained encoder is near the sum of its inputs. Texts want "open".
    leaf_block: one more residual block, with its own weights, on the inputs. The paper's parameter
        totals fit a model with such a block, its text describes none.
    backend: a name of `ldru.models.backends.BACKENDS`, or "auto" for the first that can run a call.
    empty: the code of a row without vectors: "error" (there is none), "zero", or "learned".

    Where memory is short, `gradient_checkpointing = True` keeps of each level only its nodes for
    the backward pass, and computes the rest again. (The kernels keep little either way.)

    >>> encoder = ldru.LDRU(32, empty="zero")
    >>> x, lengths = torch.randn(8, 100, 32), torch.randint(0, 101, (8,))
    >>> encoder(x, lengths).shape  # row i is the code of its first lengths[i] vectors
    torch.Size([8, 32])
    >>> mask = torch.arange(100) < lengths[:, None]
    >>> torch.equal(encoder.eval()(x, attention_mask=mask), encoder(x, lengths.tolist()))
    True
    """

    def __init__(
        self,
        dim: int = 64,
        *,
        operator: str | nn.Module = "mlp",
        dropout: float = 0.1,
        activation: str = "relu",
        gates: str = "centred",
        leaf_block: bool = False,
        backend: str = "auto",
        empty: Empty = "error",
    ) -> None:
        super().__init__()
        check_backend(backend)
        _check_dim(dim)
        if empty not in get_args(Empty):
            raise unknown_name("code of empty rows", empty, get_args(Empty))
        activation_named(activation)
        self.dim, self.backend = dim, backend
        if isinstance(operator, str):
            operator = build_operator(operator, dim=dim, activation=activation, gates=gates)
        elif gates != "centred":
            raise LdruError(
                f"gates={gates!r} is for operators by name; let {type(operator).__name__} start so"
            )
        self.operator = operator
        self.block = ResidualBlock(dim=dim, activation=activation)
        self.dropout = Dropout(rate=dropout)
        self.leaf_block = ResidualBlock(dim=dim, activation=activation) if leaf_block else None
        self.empty = empty
        self.empty_code = nn.Parameter(torch.zeros(dim)) if empty == "learned" else None
        self.gradient_checkpointing = False  # the name that transformers looks for

    def forward(
        self,
        x: Tensor,
        lengths: Tensor | Sequence[int] | None = None,
        *,
        attention_mask: Tensor | None = None,
    ) -> Tensor:
        """Encode words: [batch, length, dim] -> [batch, dim].

        lengths: of the words [batch], which are padded on the right; None means no padding.
        attention_mask: instead of lengths, ones at the vectors of words [batch, length].
        """
        lengths = lengths_of(x, lengths, attention_mask)
        if lengths is None or self.empty == "error":
            return backends.reduce(self, self.leaves(x, lengths), lengths)
        is_empty = (lengths == 0)[:, None]
        # An empty row is computed as a word of one zero, and its code is put in afterwards.
        x, lengths = x.masked_fill(is_empty[..., None], 0), lengths.clamp(min=1)
        code = backends.reduce(self, self.leaves(x, lengths), lengths)
        instead = torch.zeros_like(code) if self.empty_code is None else self.empty_code
        return torch.where(is_empty, instead, code)

    def forward_along(
        self, x: Tensor, trees: Trees | RandomTrees, lengths: Tensor | None = None
    ) -> Tensor:
        """Encode words along trees of their own: [batch, length, dim] -> [batch, dim].

        Passed nodes go through no block and no dropout.
        """
        return backends.reduce_along(self, self.leaves(x, lengths), trees, lengths)

    def scan(
        self,
        x: Tensor,
        lengths: Tensor | Sequence[int] | None = None,
        *,
        attention_mask: Tensor | None = None,
        order: Order = "balanced",
    ) -> Tensor:
        """Encode every prefix of words: [batch, length, dim] -> [batch, length, dim].

        Entry t is the code of the first t + 1 vectors, in logarithmic depth; entries behind a
        word's end are zero. order: see `tree_scan`.
        """
        lengths = lengths_of(x, lengths, attention_mask)
        if lengths is None or self.empty == "error":
            return backends.scan(self, self.leaves(x, lengths), lengths, order=order)
        # An empty row is computed as a word of one zero, which is no entry of it.
        x, some = x.masked_fill((lengths == 0)[:, None, None], 0), lengths.clamp(min=1)
        entries = backends.scan(self, self.leaves(x, some), some, order=order)
        return without_padding(entries, lengths)

    def stream(self, *, batch: int = 1, state: Mapping[str, Tensor] | None = None) -> EncoderStream:
        """Words whose vectors come one at a time or in chunks, and their codes at any time.

        state: what another stream of this encoder gave as its `state()`, to go on from there.

        >>> encoder = ldru.LDRU(16).eval()
        >>> stream = encoder.stream()
        >>> word = torch.randn(1, 1000, 16)
        >>> for vectors in word.split(7, dim=1):
        ...     stream = stream.push(vectors)
        >>> bool(torch.allclose(stream.code(), encoder(word), atol=1e-4))
        True
        """
        return EncoderStream(self, batch=batch, state=state)

    def levels(self, x: Tensor, lengths: Tensor | None = None) -> list[Level]:
        """Encode words and keep every level of their trees, from the leaves to the root."""
        levels, _ = backends.levels_and_operator(self, self.leaves(x, lengths), lengths)
        return levels

    def forward_with_associativity(
        self, x: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Encode words, and measure the associativity loss of each: [batch, dim], [batch]."""
        return reduce_with_associativity(self, self.leaves(x, lengths), lengths)

    def leaves(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Make the leaves of the tree from the inputs: [batch, length, dim] -> the same shape."""
        if not isinstance(x, Tensor):
            raise LdruError(
                f"expected vectors as a tensor [batch, length, {self.dim}], got {type(x).__name__}"
            )
        if x.shape[-1] != self.dim:
            raise LdruError(f"expected vectors of width {self.dim}, got {list(x.shape)}")
        if self.leaf_block is None:
            return x
        check_lengths(lengths, batch=x.shape[0], length=x.shape[1])
        # Padding may hold anything, also what the block has no derivative at.
        return self.leaf_block(x if lengths is None else fill(x, lengths))

    def combine(self, left: Tensor, right: Tensor) -> Tensor:
        """The operator on neighbours: [..., dim], [..., dim] -> [..., dim]."""
        return self._recomputed(self.operator, left, right)

    def finish(self) -> Finish:
        """A function that finishes a level: residual block and dropout, one call a level."""
        level_numbers = itertools.count()

        def finish(nodes: Tensor) -> Tensor:
            number = next(level_numbers)
            return self._recomputed(lambda nodes: self.dropout(self.block(nodes), number), nodes)

        return finish

    def _recomputed(self, function: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        """A function's value, computed again in the backward pass if that was asked for."""
        if not (self.gradient_checkpointing and self.training and torch.is_grad_enabled()):
            return function(*inputs)
        return checkpoint(function, *inputs, use_reentrant=False)


def _check_dim(dim: object) -> None:
    if not isinstance(dim, int) or dim < 1:
        raise LdruError(f"dim must be a whole number of at least 1, got {dim!r}")


def lengths_of(
    x: Tensor, lengths: Tensor | Sequence[int] | None, attention_mask: Tensor | None
) -> Tensor | None:
    """The lengths of words, from what was given of them; None means no padding."""
    if attention_mask is None:
        if lengths is None or isinstance(lengths, Tensor):
            return lengths
        return torch.tensor(lengths, device=x.device)
    if lengths is not None:
        raise LdruError("give lengths or attention_mask, not both")
    if attention_mask.shape != x.shape[:2]:
        raise LdruError(
            f"attention_mask has one number for each vector, {list(x.shape[:2])}, got "
            f"{list(attention_mask.shape)}"
        )
    is_seen = attention_mask.bool()
    found = is_seen.sum(dim=1)
    if has_values(found) and not torch.equal(is_seen, is_word(found, length=x.shape[1])):
        raise LdruError(
            "attention_mask must be ones and then zeros: words are padded on the right; move "
            "padding there"
        )
    return found


def reduce_with_associativity(
    encoder: LDRU, leaves: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The roots of words, and the associativity loss of each: [batch, dim], [batch]."""
    levels, combine = backends.levels_and_operator(encoder, leaves, lengths)
    return levels[-1].nodes[:, 0], _loss_in_range(combine, levels)


def _loss_in_range(combine: Combine, levels: list[Level]) -> Tensor:
    """The associativity loss, in float32 where PyTorch would multiply in float16.

    No norm comes between the two operators of (ab)c, and trained ones leave float16's range.
    """
    nodes = levels[0].nodes
    kind = nodes.device.type
    if nodes.dtype == torch.float16:
        raise LdruError(
            "the associativity loss leaves the range of float16: take bfloat16, or weights in "
            "float32, or do without the loss"
        )
    if not torch.is_autocast_enabled(kind) or torch.get_autocast_dtype(kind) != torch.float16:
        return associativity_loss(combine, levels)
    with torch.autocast(kind, enabled=False):
        wide = [Level(level.nodes.float(), level.lengths) for level in levels]
        return associativity_loss(combine, wide)


class LDRUClassifier(nn.Module):
    """Classify token sequences: embedding, LDRU, linear head.

    embedding_std: deviation of the embeddings at the start. With many rare tokens a smaller one
        lets training outweigh what was drawn for them.

    >>> model = ldru.LDRUClassifier(vocab_size=2, num_classes=3, dim=16)
    >>> model(torch.tensor([[0, 1, 1, 0]])).shape, len(model.levels(torch.tensor([[0, 1, 1, 0]])))
    (torch.Size([1, 3]), 3)
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        num_classes: int,
        dim: int = 64,
        operator: str | nn.Module = "mlp",
        dropout: float = 0.1,
        activation: str = "relu",
        gates: str = "centred",
        embedding_std: float = 0.02,
        leaf_block: bool = False,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        check_sizes(vocab_size=vocab_size, num_classes=num_classes)
        _check_dim(dim)
        if not isinstance(embedding_std, int | float) or not 0 < embedding_std <= LARGEST_STD:
            raise LdruError(
                f"embedding_std is a deviation in (0, {LARGEST_STD:g}], got {embedding_std!r}"
            )
        self.vocab_size, self.num_classes = vocab_size, num_classes
        self.embedding = Embedding(vocab_size, dim, std=embedding_std)
        self.encoder = LDRU(
            dim=dim,
            operator=operator,
            dropout=dropout,
            activation=activation,
            gates=gates,
            leaf_block=leaf_block,
            backend=backend,
        )
        self.head = Linear(dim, num_classes)
        self.class_head: Linear | None = None

    def add_class_head(self, size: int) -> None:
        """Give it a second head, on classes of a monoid; a training has it, and a run has not."""
        self.class_head = Linear(self.encoder.dim, size)

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes: [batch, length] -> [batch, classes]."""
        nodes = self._shared(tokens) if lengths is None else None
        if nodes is None:
            nodes = self._leaves(tokens, lengths)
        return self.head(backends.reduce(self.encoder, nodes, lengths))

    def forward_along(
        self, tokens: Tensor, trees: Trees | RandomTrees, lengths: Tensor | None = None
    ) -> Tensor:
        """Score the classes along trees of the words' own: [batch, length] -> [batch, classes]."""
        leaves = self._leaves(tokens, lengths)
        return self.head(backends.reduce_along(self.encoder, leaves, trees, lengths))

    def factors(
        self, tokens: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Score the classes of all stretches of words that their trees have a node for.

        Scores [rows, classes], and where each stretch begins and ends among the tokens of the
        batch [rows]; see `ldru.tree.Factors`.
        """
        nodes, begin, end = self._factors(tokens, lengths)
        return self.head(nodes), begin, end

    def factors_along(
        self, tokens: Tensor, trees: Trees | RandomTrees, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Score the classes of all stretches as `factors` does, along trees of the words' own."""
        nodes, begin, end = self._factors_along(tokens, trees, lengths)
        return self.head(nodes), begin, end

    def class_factors(
        self, tokens: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The `factors` of words, with the scores of the second head before their stretches."""
        nodes, begin, end = self._factors(tokens, lengths)
        assert self.class_head is not None
        return self.head(nodes), self.class_head(nodes), begin, end

    def class_factors_along(
        self, tokens: Tensor, trees: Trees | RandomTrees, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The `class_factors` of words along trees of their own."""
        nodes, begin, end = self._factors_along(tokens, trees, lengths)
        assert self.class_head is not None
        return self.head(nodes), self.class_head(nodes), begin, end

    def scan(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes of every prefix: [batch, length] -> [batch, length, classes].

        Entry t scores the first t + 1 tokens; behind a word's end the scores mean nothing.
        """
        leaves = self._leaves(tokens, lengths)
        return self.head(backends.scan(self.encoder, leaves, lengths, order="balanced"))

    def stream(self, *, batch: int = 1, state: Mapping[str, Tensor] | None = None) -> TokenStream:
        """Words whose tokens come one at a time or in chunks, and their scores at any time.

        state: what another stream of this model gave as its `state()`, to go on from there.

        >>> model = ldru.LDRUClassifier(vocab_size=2, num_classes=2, dim=16).eval()
        >>> stream = model.stream().push(torch.tensor([1])).push(torch.tensor([[0, 1, 1]]))
        >>> stream.lengths, stream.scores().shape
        ([4], torch.Size([1, 2]))
        """
        return TokenStream(self, batch=batch, state=state)

    def levels(self, tokens: Tensor, lengths: Tensor | None = None) -> list[Level]:
        """Every level of the words' trees, from the leaves to the root."""
        leaves = self._leaves(tokens, lengths)
        levels, _ = backends.levels_and_operator(self.encoder, leaves, lengths)
        return levels

    def forward_with_associativity(
        self, tokens: Tensor, lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Scores, and the associativity loss of each word: [batch, classes], [batch]."""
        leaves = self._leaves(tokens, lengths)
        root, lost = reduce_with_associativity(self.encoder, leaves, lengths)
        return self.head(root), lost

    def symbol_leaves(self) -> Tensor:
        """The leaf of each token: [symbols, dim]."""
        block = self.encoder.leaf_block
        return self.embedding.weight if block is None else block(self.embedding.weight)

    def _factors(self, tokens: Tensor, lengths: Tensor | None) -> Factors:
        """All nodes of the words' trees, and the stretches below them."""
        return _needed(level_factors(self.levels(tokens, lengths)), lengths)

    def _factors_along(
        self, tokens: Tensor, trees: Trees | RandomTrees, lengths: Tensor | None
    ) -> Factors:
        """All nodes of trees of the words' own, and the stretches below them."""
        leaves = self._leaves(tokens, lengths)
        return _needed(backends.factors_along(self.encoder, leaves, trees, lengths), lengths)

    def _shared(self, tokens: Tensor) -> Tensor | None:
        """The nodes some levels up, where words share them; None where they are computed."""
        is_plain = tokens.device.type == "cpu" and self.encoder.backend == "auto"
        if self.training or torch.is_grad_enabled() or not is_plain or not has_values(tokens):
            return None
        batch, length = check_words(tokens, None).shape
        levels = shared_levels(self.vocab_size, batch=batch, length=length)
        if not levels or not 0 <= tokens.min() <= tokens.max() < self.vocab_size:
            return None
        return nodes_above(
            self.symbol_leaves(),
            tokens,
            levels=levels,
            combine=self.encoder.operator,
            finish=self.encoder.finish(),
        )

    def _leaves(self, tokens: Tensor, lengths: Tensor | None) -> Tensor:
        """The leaves of words: [batch, length] -> [batch, length, dim]."""
        tokens = check_words(tokens, lengths)
        if self.encoder.leaf_block is not None and self.vocab_size <= tokens.numel():
            # Equal tokens have equal leaves, so the block sees each symbol once.
            return look_up(self.symbol_leaves(), tokens)
        return self.encoder.leaves(self.embedding(tokens), lengths)


def _needed(factors: Factors, lengths: Tensor | None) -> Factors:
    """Factors whose nodes are zero where no word needs them.

    Such rows may hold anything, and NaN would go on into the gradients.
    """
    nodes, begin, end = factors
    if lengths is None:
        return factors
    return Factors(nodes.masked_fill((begin == end)[:, None], 0), begin, end)


class LDRUTagger(LDRUClassifier):
    """Answer at every position: embedding, LDRU over every prefix, linear head.

    Its weights are a classifier's: one can take the other's.

    >>> tagger = ldru.LDRUTagger(vocab_size=2, num_classes=3, dim=16).eval()
    >>> tokens = torch.tensor([[0, 1, 1, 0, 1]])
    >>> tagger(tokens).shape
    torch.Size([1, 5, 3])
    >>> classifier = ldru.LDRUClassifier(vocab_size=2, num_classes=3, dim=16).eval()
    >>> classifier.load_state_dict(tagger.state_dict())
    <All keys matched successfully>
    >>> bool(torch.allclose(tagger(tokens)[:, 2], classifier(tokens[:, :3]), atol=1e-5))
    True
    """

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes at every position: [batch, length] -> [batch, length, classes]."""
        return self.scan(tokens, lengths)
