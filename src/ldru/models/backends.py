"""Which code computes an LDRU's reduction, and why not a faster one."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ldru.base.errors import LdruError, unknown_name
from ldru.kernels.reduction import fused
from ldru.operators import MLPOperator
from ldru.tree import Combine, Level, RandomTrees, Trees, tree_levels, tree_reduce

if TYPE_CHECKING:
    from ldru.models.ldru import LDRU

BACKENDS = ("fused", "batched", "reference")
"""In order of preference: Triton kernels, all words of a batch at once, word by word."""


def check_backend(name: str) -> None:
    """Raise unless the backend is known."""
    if name not in ("auto", *BACKENDS):
        raise unknown_name("backend", name, ["auto", *BACKENDS])


def reduce(encoder: "LDRU", x: Tensor, lengths: Tensor | None) -> Tensor:
    """Reduce words by the encoder's backend: [batch, length, dim] -> [batch, dim]."""
    name, _ = choose(encoder, x)
    if name != "fused":
        return tree_reduce(encoder.operator, x, lengths, encoder.finish(), backend=name)
    kernels = fused.Kernels(encoder.operator, encoder.block)
    return kernels.reduce(x, lengths, encoder.dropout.drop(x))


def reduce_along(
    encoder: "LDRU", x: Tensor, trees: Trees | RandomTrees, lengths: Tensor | None
) -> Tensor:
    """Reduce words along trees of their own: [batch, length, dim] -> [batch, dim].

    The kernels take random trees, which they draw themselves.
    """
    name, reason = choose(encoder, x)
    if name == "fused":
        reason = fused.why_not_along(x, activation=encoder.block.activation)
        if not isinstance(trees, RandomTrees):
            reason = "the kernels draw random trees themselves, and take no given ones"
        if reason is None:
            assert isinstance(trees, RandomTrees)
            return fused.Kernels(encoder.operator, encoder.block).reduce_along(
                x,
                lengths,
                encoder.dropout.drop(x),
                tree_keys=trees.keys,
                merges=trees.merges,
                pairs=trees.pairs,
            )
        if encoder.backend == "fused":
            raise LdruError(f"backend 'fused' cannot run this call: {reason}")
        name = "batched"
    drawn = trees.draw() if isinstance(trees, RandomTrees) else trees
    finish = encoder.finish()
    return tree_reduce(encoder.operator, x, lengths, finish, trees=drawn, backend=name)


def levels_and_operator(
    encoder: "LDRU", x: Tensor, lengths: Tensor | None
) -> tuple[list[Level], Combine]:
    """Every level of the same reduction, leaves first, and the operator as the backend computes it.

    The reference, one word at a time, has no levels.
    """
    name, _ = choose(encoder, x)
    if name == "reference":
        raise LdruError(
            "backend 'reference' gives neither levels nor the associativity loss; take 'batched'"
        )
    if name != "fused":
        return list(tree_levels(encoder.operator, x, lengths, encoder.finish())), encoder.operator
    kernels = fused.Kernels(encoder.operator, encoder.block)
    found = []
    for nodes in kernels.levels(x, lengths, encoder.dropout.drop(x)):
        found.append(Level(nodes, lengths))
        lengths = None if lengths is None else (lengths + 1) // 2
    return found, kernels.combine


def choose(encoder: "LDRU", x: Tensor) -> tuple[str, str | None]:
    """The backend for a call, and why it is not the first one."""
    if encoder.backend in ("batched", "reference"):
        return encoder.backend, f"{encoder.backend} was asked for"
    reason: str | None
    operator = encoder.operator
    if type(operator) is not MLPOperator:
        reason = f"the kernels know the mlp operator, not {type(operator).__name__}"
    elif operator.activation != encoder.block.activation:
        reason = f"the operator has {operator.activation}, the block {encoder.block.activation}"
    else:
        reason = fused.why_not(x, activation=operator.activation)
    if reason is None:
        return "fused", None
    if encoder.backend == "fused":
        raise LdruError(f"backend 'fused' cannot run this call: {reason}")
    return "batched", reason


def describe_backend(model: nn.Module, *, device: torch.device, dtype: torch.dtype) -> str:
    """Name the backend that computes a model on a device, in words for a record."""
    from ldru.models.ldru import LDRU

    encoder = next((part for part in model.modules() if isinstance(part, LDRU)), None)
    if encoder is None:
        return "torch"
    words = torch.empty(1, 2, encoder.dim, device=device, dtype=dtype)
    name, reason = choose(encoder, words)
    return name if reason is None else f"{name} (fused: {reason})"
