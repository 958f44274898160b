"""Which code computes an LDRU's reduction, and why not a faster one."""

import itertools
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ldru.base.errors import LdruError, unknown_name
from ldru.base.randomness import beginning_at
from ldru.kernels import support
from ldru.kernels.reduction import fused
from ldru.layers.dropout import PLACES
from ldru.operators import MLPOperator
from ldru.tree import (
    Combine,
    Factors,
    Level,
    Order,
    RandomTrees,
    Trees,
    batched,
    check_lengths,
    fill,
    scan_levels,
    tree_levels,
    tree_reduce,
    tree_scan,
    without_padding,
)

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
    if name == "reference" and encoder.dropout.is_on:
        raise LdruError(
            "backend 'reference' takes one word at a time, and dropout would not drop what it "
            "does elsewhere: train with backend='batched', or with dropout=0"
        )
    if name != "fused":
        return tree_reduce(encoder.combine, x, lengths, encoder.finish(), backend=name)
    kernels = fused.Kernels(encoder.operator, encoder.block)
    return kernels.reduce(x, lengths, encoder.dropout.drop(x))


def reduce_along(
    encoder: "LDRU", x: Tensor, trees: Trees | RandomTrees, lengths: Tensor | None
) -> Tensor:
    """Reduce words along trees of their own: [batch, length, dim] -> [batch, dim].

    Random trees of narrow models are drawn and reduced by kernels of their own. Any others are
    climbed level by level, and the kernels merge a level's pairs as words of two.
    """
    name, _ = choose(encoder, x)
    if name != "fused":
        finish, drawn = encoder.finish(), _drawn(trees)
        return tree_reduce(encoder.combine, x, lengths, finish, trees=drawn, backend=name)
    kernels = fused.Kernels(encoder.operator, encoder.block)
    drop = encoder.dropout.drop(x)
    if isinstance(trees, RandomTrees) and fused.why_not_random(x) is None:
        root, *_ = kernels.reduce_along(
            x, lengths, drop, tree_keys=trees.keys, merges=trees.merges, pairs=trees.pairs
        )
        return root
    return tree_reduce(_merging(kernels, drop), x, lengths, trees=_drawn(trees), backend="batched")


def factors_along(
    encoder: "LDRU", x: Tensor, trees: Trees | RandomTrees, lengths: Tensor | None
) -> Factors:
    """All nodes of the same reduction, and the stretches of the words below them."""
    name, _ = choose(encoder, x)
    if name == "reference":
        raise LdruError("backend 'reference' gives roots alone; take 'batched' for all nodes")
    if name != "fused":
        return batched.factors_along(encoder.combine, x, _drawn(trees), lengths, encoder.finish())
    kernels = fused.Kernels(encoder.operator, encoder.block)
    drop = encoder.dropout.drop(x)
    if isinstance(trees, RandomTrees) and fused.why_not_random(x) is None:
        _, *found = kernels.reduce_along(
            x, lengths, drop, tree_keys=trees.keys, merges=trees.merges, pairs=trees.pairs
        )
        return Factors(*found)
    return batched.factors_along(_merging(kernels, drop), x, _drawn(trees), lengths)


def _drawn(trees: Trees | RandomTrees) -> Trees:
    return trees.draw() if isinstance(trees, RandomTrees) else trees


def scan(encoder: "LDRU", x: Tensor, lengths: Tensor | None, *, order: Order) -> Tensor:
    """Reduce every prefix of words: [batch, length, dim] -> [batch, length, dim].

    The kernels merge a level's pairs as words of two; what rises goes through the block alone.
    """
    name, _ = choose(encoder, x)
    if name == "reference":
        raise LdruError("backend 'reference' reduces whole words alone; take 'batched' for a scan")
    if name != "fused":
        return tree_scan(encoder.combine, x, lengths, encoder.finish(), order=order)
    kernels = fused.Kernels(encoder.operator, encoder.block)
    if order != "balanced":
        merge = _merging(kernels, encoder.dropout.drop(x))
        return tree_scan(merge, x, lengths, order=order)
    check_lengths(lengths, batch=x.shape[0], length=x.shape[1])
    merge = _merging(kernels, drop=None)
    level_numbers = itertools.count()

    def step(left: Tensor, right: Tensor, rising: Tensor) -> Tensor:
        merged = merge(left, right)
        return torch.cat([merged, encoder.block(rising)], dim=1) if rising.shape[1] else merged

    def drop(nodes: Tensor) -> Tensor:
        return encoder.dropout(nodes, next(level_numbers))

    if lengths is None:
        return scan_levels(step, x, drop)
    return without_padding(scan_levels(step, fill(x, lengths), drop), lengths)


def _merging(kernels: fused.Kernels, drop: fused.Drop | None) -> Combine:
    """Operator, block and dropout of a level's pairs as one call; every call is the next level."""
    level_numbers = itertools.count()

    def merge(left: Tensor, right: Tensor) -> Tensor:
        batch, count, dim = left.shape
        begin = next(level_numbers) * PLACES
        pairs = torch.stack([left, right], dim=2).flatten(0, 1)
        if drop is None:
            return kernels.reduce(pairs, None, None).unflatten(0, (batch, count))
        # The first level of a word of two drops what this level drops at the pair's place.
        keys, cut, scale = drop
        places = begin + dim * torch.arange(count, device=left.device)
        keys = beginning_at(keys[:, None].expand(-1, count, -1), places).flatten(0, 1)
        return kernels.reduce(pairs, None, (keys, cut, scale)).unflatten(0, (batch, count))

    return merge


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
        return list(tree_levels(encoder.combine, x, lengths, encoder.finish())), encoder.combine
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
        return "torch" if support.why_not(device, dtype) else "torch, with kernels of single layers"
    words = torch.empty(1, 2, encoder.dim, device=device, dtype=dtype)
    name, reason = choose(encoder, words)
    return name if reason is None else f"{name} (fused: {reason})"
