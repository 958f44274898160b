"""Words that lie in several processes: each holds a stretch, all hold the tree together.

Every rank but the last holds equally many elements, a power of two, so that a stretch is one node
of the balanced tree; the last holds at most as many. What a rank computes of its own is the node of
its stretch; the tree over the ranks takes log2(ranks) exchanges of single nodes. Values and
gradients are those of one process.

Gradients: every rank must call `backward`. A parameter's gradient is the sum over the ranks, and
`sum_gradients` makes it so.
"""

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import ProcessGroup

from ldru.base.errors import LdruError
from ldru.tree import batched
from ldru.tree.reduce import check_functions
from ldru.tree.reference import Combine, Finish
from ldru.tree.scan import merging, scan_levels


def reduce(
    combine: Combine, x: Tensor, finish: Finish | None = None, *, group: ProcessGroup | None = None
) -> Tensor:
    """Reduce words whose stretches lie in several processes: [batch, own, dim] -> [batch, dim].

    Every rank gets the root. The gradients that the ranks bring to it are averaged: all ranks may
    compute the same loss.

    combine, finish: as for `tree_reduce`.
    group: the processes, in the order of the word; by default all.
    """
    check_functions(combine, finish)
    rank, size, height = _place(x, group)
    node = _stretch(combine, x, finish, height)
    anchor = _anchor(x)
    for level in range((size - 1).bit_length()):
        span = 2**level
        if rank % (2 * span):
            # Its stretch is in the hands of a rank on its left now.
            node = _Sent.apply(node, anchor, _global(rank - span, group), group)
            break
        if rank + span < size:
            other = _Received.apply(node, anchor, _global(rank + span, group), group)
            node = combine(node[:, None], other[:, None])[:, 0]
        node = node if finish is None else finish(node[:, None])[:, 0]
    return _Shared.apply(node, anchor, group)


def scan(
    combine: Combine, x: Tensor, finish: Finish | None = None, *, group: ProcessGroup | None = None
) -> Tensor:
    """Every prefix, of which each rank gets its own entries: [batch, own, dim] -> the same shape.

    The loss of the whole is the sum over the ranks of what they compute from their entries.
    """
    check_functions(combine, finish)
    rank, size, height = _place(x, group)
    entries = scan_levels(merging(combine), x, finish, levels=height, is_first=rank == 0)
    anchor = _anchor(x)
    for level in range((size - 1).bit_length()):
        ends = _Gathered.apply(entries[:, -1], anchor, group)
        if rank >> level & 1:
            sibling = ends[(rank >> level << level) - 1]
            entries = combine(sibling[:, None].expand_as(entries), entries)
        if rank >= 2**level and finish is not None:  # on the first ranks, prefixes have their root
            entries = finish(entries)
        entries = _Tied.apply(entries, ends)
    return entries


def sum_gradients(parameters: Iterable[Tensor], *, group: ProcessGroup | None = None) -> None:
    """Add up the gradients of all ranks, in place; what has none counts as zero."""
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        dist.all_reduce(parameter.grad, group=group)


def _place(x: Tensor, group: ProcessGroup | None) -> tuple[int, int, int]:
    """This rank, how many there are, and the height of a stretch; or one error on all ranks."""
    if not dist.is_available() or not dist.is_initialized():
        raise LdruError(
            "words in several processes need a process group: call "
            "torch.distributed.init_process_group first, or take tree_reduce and tree_scan"
        )
    if not isinstance(x, Tensor) or x.ndim != 3:
        raise LdruError("expected a stretch of words as a tensor [batch, length, dim]")
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    own = torch.tensor(x.shape, device=x.device)
    shapes = [torch.empty_like(own) for _ in range(size)]
    dist.all_gather(shapes, own, group=group)
    lengths = [int(shape[1]) for shape in shapes]
    first = lengths[0]
    if 0 in lengths:
        raise LdruError(f"every rank holds at least one element, got {lengths}")
    if len({(int(shape[0]), int(shape[2])) for shape in shapes}) > 1:
        raise LdruError(
            "the ranks hold stretches of the same words: batch and dim must be equal, got "
            f"{[shape.tolist() for shape in shapes]}"
        )
    is_aligned = first & (first - 1) == 0 and set(lengths[:-1]) == {first} and lengths[-1] <= first
    if size > 1 and not is_aligned:
        raise LdruError(
            "every rank but the last holds the same power of two of elements, the last at most as "
            f"many, got {lengths}"
        )
    return rank, size, (first - 1).bit_length()


def _stretch(combine: Combine, x: Tensor, finish: Finish | None, height: int) -> Tensor:
    """The node of that height over a stretch: [batch, length, dim] -> [batch, dim].

    A short stretch rises by itself.
    """
    node = batched.reduce(combine, x, None, finish)
    for _ in range((x.shape[1] - 1).bit_length(), height):
        node = node if finish is None else finish(node[:, None])[:, 0]
    return node


def _anchor(x: Tensor) -> Tensor:
    """A number that keeps an exchange in every rank's graph, also where nothing else would."""
    return torch.zeros((), device=x.device, requires_grad=torch.is_grad_enabled())


def _global(rank: int, group: ProcessGroup | None) -> int:
    return rank if group is None else dist.get_global_rank(group, rank)


class _Sent(torch.autograd.Function):
    """Hand a node to another rank; its gradient comes back from there."""

    @staticmethod
    def forward(
        ctx: Any, node: Tensor, anchor: Tensor, to: int, group: ProcessGroup | None
    ) -> Tensor:
        ctx.to, ctx.group = to, group
        dist.send(node.contiguous(), to, group=group)
        return torch.zeros_like(node)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        gradient = gradient.contiguous().clone()
        dist.recv(gradient, ctx.to, group=ctx.group)
        return gradient, None, None, None


class _Received(torch.autograd.Function):
    """A node of another rank, like one of our own."""

    @staticmethod
    def forward(
        ctx: Any, like: Tensor, anchor: Tensor, source: int, group: ProcessGroup | None
    ) -> Tensor:
        ctx.source, ctx.group = source, group
        node = torch.empty_like(like, memory_format=torch.contiguous_format)
        dist.recv(node, source, group=group)
        return node

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None, None]:
        dist.send(gradient.contiguous(), ctx.source, group=ctx.group)
        return None, None, None, None


class _Shared(torch.autograd.Function):
    """The first rank's node for all; the mean of all gradients for the first rank."""

    @staticmethod
    def forward(ctx: Any, node: Tensor, anchor: Tensor, group: ProcessGroup | None) -> Tensor:
        ctx.group = group
        root = node.contiguous().clone()
        dist.broadcast(root, _global(0, group), group=group)
        return root

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        mean = gradient.contiguous() / dist.get_world_size(ctx.group)
        dist.all_reduce(mean, group=ctx.group)
        # Elsewhere it runs into what was sent, which waits for its own.
        return mean, None, None


class _Gathered(torch.autograd.Function):
    """The vectors of all ranks: [...] -> [ranks, ...]."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, anchor: Tensor, group: ProcessGroup | None) -> Tensor:
        ctx.group = group
        parts = [torch.empty_like(own.contiguous()) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, own.contiguous(), group=group)
        return torch.stack(parts)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        total = gradient.contiguous().clone()
        dist.all_reduce(total, group=ctx.group)
        return total[dist.get_rank(ctx.group)], None, None


class _Tied(torch.autograd.Function):
    """Entries, such that every rank takes part in the backward pass of what was gathered."""

    @staticmethod
    def forward(ctx: Any, entries: Tensor, ends: Tensor) -> Tensor:
        ctx.shape = ends.shape
        return entries.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        return gradient, gradient.new_zeros(ctx.shape)
