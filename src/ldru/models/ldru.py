"""The Log-Depth Recurrent Unit: an encoder, and a classifier of token sequences on top of it."""

import itertools
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ldru.errors import LdruError
from ldru.layers import Dropout, Linear, activation_named
from ldru.models import backends
from ldru.models.backends import check_backend
from ldru.models.embedding import Embedding, look_up
from ldru.models.spec import ModelSpec
from ldru.models.words import check_sizes, check_words
from ldru.operators import build_operator
from ldru.tree import (
    Combine,
    Finish,
    Level,
    associativity_loss,
    check_lengths,
    fill,
)


class ResidualBlock(nn.Module):
    """h <- LayerNorm(h + FFN(h)), with FFN: d -> 4d -> d."""

    def __init__(self, *, dim: int, activation: str = "relu") -> None:
        super().__init__()
        self.dim, self.activation = dim, activation
        self.up = Linear(dim, 4 * dim)
        self.down = Linear(4 * dim, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, state: Tensor) -> Tensor:
        """Refine states: [..., dim] -> [..., dim]."""
        act = activation_named(self.activation)
        return self.norm(state + self.down(act(self.up(state))))


class LDRU(nn.Module):
    """Encode words of vectors in logarithmic depth: [batch, length, dim] -> [batch, dim].

    Neighbours are combined by `operator` until one vector is left; after each step every state
    goes through one shared residual block and dropout (see `tree_reduce` for the pairing rule and
    the law of padding).

    operator: a name of `OPERATORS`, or a module [..., dim], [..., dim] -> [..., dim].
    activation: of the residual block and of the MLP operator's gates.
    leaf_block: one more residual block, with its own weights, on the inputs. The paper's parameter
        totals fit a model with such a block, its text describes none.
    backend: a name of `ldru.models.backends.BACKENDS`, or "auto" for the first that can run a call.
    """

    def __init__(
        self,
        *,
        dim: int = 64,
        operator: str | nn.Module = "mlp",
        dropout: float = 0.1,
        activation: str = "relu",
        leaf_block: bool = False,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        check_backend(backend)
        if dim < 1:
            raise LdruError(f"dim must be at least 1, got {dim}")
        activation_named(activation)
        self.dim, self.backend = dim, backend
        if isinstance(operator, str):
            operator = build_operator(operator, dim=dim, activation=activation)
        self.operator = operator
        self.block = ResidualBlock(dim=dim, activation=activation)
        self.dropout = Dropout(rate=dropout)
        self.leaf_block = ResidualBlock(dim=dim, activation=activation) if leaf_block else None

    def forward(
        self,
        x: Tensor,
        lengths: Tensor | None = None,
        *,
        return_levels: bool = False,
        return_associativity: bool = False,
    ) -> Tensor | tuple[Tensor, list[Level]] | tuple[Tensor, Tensor]:
        """Encode words: [batch, length, dim] -> [batch, dim].

        return_levels: also return every level of the tree, leaves first.
        return_associativity: also return the associativity loss of each word [batch].
        """
        if x.shape[-1] != self.dim:
            raise LdruError(f"expected vectors of width {self.dim}, got {list(x.shape)}")
        if self.leaf_block is not None:
            check_lengths(lengths, batch=x.shape[0], length=x.shape[1])
            # Padding may hold anything, also what the block has no derivative at.
            x = self.leaf_block(x if lengths is None else fill(x, lengths))
        return self.reduce(
            x, lengths, return_levels=return_levels, return_associativity=return_associativity
        )

    def reduce(
        self,
        x: Tensor,
        lengths: Tensor | None = None,
        *,
        return_levels: bool = False,
        return_associativity: bool = False,
    ) -> Tensor | tuple[Tensor, list[Level]] | tuple[Tensor, Tensor]:
        """The same from leaves that have been through the leaf block, where there is one."""
        if return_levels and return_associativity:
            raise LdruError("ask for the levels or for the associativity loss, not for both")
        if not (return_levels or return_associativity):
            return backends.reduce(self, x, lengths)
        levels, combine = backends.levels_and_operator(self, x, lengths)
        root = levels[-1].nodes[:, 0]
        if return_levels:
            return root, levels
        return root, _loss_in_range(combine, levels)

    def finish(self) -> Finish:
        """What happens to the nodes of each level, one call a level."""
        level_numbers = itertools.count()
        return lambda nodes: self.dropout(self.block(nodes), next(level_numbers))


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
    """Classify token sequences: embedding, LDRU, linear head."""

    def __init__(
        self,
        *,
        vocab_size: int,
        num_classes: int,
        dim: int = 64,
        operator: str | nn.Module = "mlp",
        dropout: float = 0.1,
        activation: str = "relu",
        leaf_block: bool = False,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        check_sizes(vocab_size=vocab_size, num_classes=num_classes)
        self.vocab_size, self.num_classes = vocab_size, num_classes
        self.embedding = Embedding(vocab_size, dim)
        self.encoder = LDRU(
            dim=dim,
            operator=operator,
            dropout=dropout,
            activation=activation,
            leaf_block=leaf_block,
            backend=backend,
        )
        self.head = Linear(dim, num_classes)

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor | None = None,
        *,
        return_levels: bool = False,
        return_associativity: bool = False,
    ) -> Tensor | tuple[Tensor, list[Level]] | tuple[Tensor, Tensor]:
        """Score the classes: [batch, length] -> [batch, classes].

        return_levels, return_associativity: see `LDRU`.
        """
        tokens = check_words(tokens, lengths)
        found: Any
        options = {"return_levels": return_levels, "return_associativity": return_associativity}
        if self.encoder.leaf_block is not None and self.vocab_size <= tokens.numel():
            # Equal tokens have equal leaves, so the block sees each symbol once.
            found = self.encoder.reduce(look_up(self.leaves(), tokens), lengths, **options)
        else:
            found = self.encoder(self.embedding(tokens), lengths, **options)
        if return_levels or return_associativity:
            root, more = found
            return self.head(root), more
        return self.head(found)

    def leaves(self) -> Tensor:
        """What the reduction starts from, for each token: [symbols, dim]."""
        block = self.encoder.leaf_block
        return self.embedding.weight if block is None else block(self.embedding.weight)


@dataclass(frozen=True, kw_only=True)
class LDRUSpec(ModelSpec):
    """Settings of the LDRU classifier; the defaults are the paper's for regular tasks.

    Args:
        dim: width of a state.
        operator: mlp, grc, gated_sum, linear or element_sum.
        dropout: rate after each level; by default the task's, 0.1 where it has none.
        activation: relu or silu, in the residual block and the MLP operator's gates.
        leaf_block: one more residual block on the embeddings.
        backend: fused (Triton kernels), batched, reference, or auto for the fastest that can run.
    """

    paper_parameters: ClassVar[int] = 162_000
    note: ClassVar[str] = "the paper's equations add up to ours; its total fits --leaf-block"

    dim: int = 64
    operator: str = "mlp"
    dropout: float | None = None
    activation: str = "relu"
    leaf_block: bool = False
    backend: str = "auto"

    @classmethod
    def listops(cls) -> "LDRUSpec":
        """The paper's settings for ListOps."""
        return cls(dim=256, dropout=0.05, activation="silu")

    @classmethod
    def text(cls) -> "LDRUSpec":
        """The paper's settings for texts."""
        return cls(dim=256, dropout=0.01, activation="silu")

    def build(self, *, vocab_size: int, num_classes: int) -> LDRUClassifier:
        return LDRUClassifier(
            vocab_size=vocab_size,
            num_classes=num_classes,
            dim=self.dim,
            operator=self.operator,
            dropout=0.1 if self.dropout is None else self.dropout,
            activation=self.activation,
            leaf_block=self.leaf_block,
            backend=self.backend,
        )

    def resolved(self, *, dropout: float) -> "LDRUSpec":
        return replace(self, dropout=dropout) if self.dropout is None else self
