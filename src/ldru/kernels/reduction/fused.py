"""The whole reduction of an MLP-LDRU, and its operator alone, as operators on fused kernels.

PyTorch sees ordinary operators, `ldru::fused_reduce` and `ldru::fused_combine`, with a derivative,
a shape rule for `torch.compile` and a rule for `vmap`: the members of a fleet are one more axis of
the same launch. Only the nodes of the tree are kept for the backward pass; the rest is computed
again there. They are handed out too, with their derivative, for what is computed from all levels.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ldru.kernels import gpu, support
from ldru.kernels.reduction.layout import flatten
from ldru.kernels.support import merged

MAX_DIM = 256
DIM_STEP = 16
ACTIVATIONS = ("relu", "silu")
MAX_TREE_DIM, MAX_TREE_LENGTH = 64, 128
"""Of random trees: a program draws a word's tree by comparing all of its nodes with each other."""

Drop = tuple[Tensor, Tensor, Tensor]
"""Dropout: a key for each row, the word below which an element is dropped, and the scale."""


def why_not(x: Tensor, *, activation: str) -> str | None:
    """Why the kernels cannot run a call; None when they can."""
    if reason := support.why_not(x.device, x.dtype):
        return reason
    if x.shape[0] == 0:
        return "there are no words"
    if torch.is_autocast_enabled(x.device.type):
        return "autocast is on"
    if x.shape[-1] % DIM_STEP or x.shape[-1] > MAX_DIM:
        return f"the kernels take widths up to {MAX_DIM} in steps of {DIM_STEP}, not {x.shape[-1]}"
    if activation not in ACTIVATIONS:
        return f"the kernels know {' and '.join(ACTIVATIONS)}, not {activation}"
    return None


def why_not_random(x: Tensor) -> str | None:
    """Why the kernels cannot draw and reduce random trees themselves; None when they can."""
    if x.shape[-1] > MAX_TREE_DIM:
        return f"the kernels take random trees up to width {MAX_TREE_DIM}, not {x.shape[-1]}"
    if x.shape[1] > MAX_TREE_LENGTH:
        return f"the kernels draw trees of up to {MAX_TREE_LENGTH} symbols, not {x.shape[1]}"
    return None


class Kernels:
    """An operator and its residual block, laid out once for all that the kernels compute of them.

    `why_not` must have no objection.
    """

    def __init__(self, operator: nn.Module, block: nn.Module) -> None:
        self.flat = flatten(operator, block)[None]
        self.is_silu = operator.activation == "silu"
        self.is_tf32 = gpu.wants_tf32()

    def reduce(self, x: Tensor, lengths: Tensor | None, drop: Drop | None) -> Tensor:
        """Reduce words: [batch, length, dim] -> [batch, dim]."""
        root, _ = self._reduced(x, lengths, drop)
        return root

    def reduce_along(
        self,
        x: Tensor,
        lengths: Tensor | None,
        drop: Drop | None,
        *,
        tree_keys: Tensor,
        merges: Sequence[int],
        pairs: Sequence[int],
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Reduce words along random trees of their own: roots [batch, dim], then all nodes.

        Nodes are [rows, dim], with where the stretches of words below them begin and end [rows].

        tree_keys: of each word [batch, 2]; merges, pairs: see `ldru.kernels.reduction.trees`.
        `why_not_random` must have no objection.
        """
        if x.shape[1] == 1:
            place = torch.arange(len(x), device=x.device)
            return x[:, 0], x[:, 0], place, place + 1
        keys, cut, scale = (None, None, None) if drop is None else drop
        found = fused_reduce_along(
            x[None],
            self.flat,
            tree_keys[None],
            None if lengths is None else lengths[None].to(torch.int32),
            None if keys is None else keys[None],
            None if cut is None else cut[None],
            None if scale is None else scale[None],
            list(merges),
            list(pairs),
            self.is_silu,
            self.is_tf32,
        )
        root, nodes, _, _, begin, end, _ = (part.squeeze(0) for part in found)
        return root, nodes, begin, end

    def levels(self, x: Tensor, lengths: Tensor | None, drop: Drop | None) -> list[Tensor]:
        """The nodes of every level of that reduction, leaves first: [batch, nodes, dim] each.

        What stands in the padding may be anything.
        """
        root, nodes = self._reduced(x, lengths, drop)
        if nodes is None:
            return [x]
        return [x, *split_levels(nodes, batch=x.shape[0], length=x.shape[1]), root[:, None]]

    def combine(self, left: Tensor, right: Tensor) -> Tensor:
        """The operator alone: [..., rows, dim], [..., rows, dim] -> [..., rows, dim]."""
        pairs = torch.stack([left, right], dim=-2).flatten(end_dim=-3)
        joined = fused_combine(pairs[None], self.flat, self.is_silu, self.is_tf32)
        return joined.squeeze(0).unflatten(0, left.shape[:-1])

    def _reduced(
        self, x: Tensor, lengths: Tensor | None, drop: Drop | None
    ) -> tuple[Tensor, Tensor | None]:
        """Roots [batch, dim], and the nodes between leaves and roots by level [rows, dim]."""
        if x.shape[1] == 1:
            return x[:, 0], None
        keys, cut, scale = (None, None, None) if drop is None else drop
        root, nodes = fused_reduce(
            x[None],
            self.flat,
            None if lengths is None else lengths[None].to(torch.int32),
            None if keys is None else keys[None],
            None if cut is None else cut[None],
            None if scale is None else scale[None],
            self.is_silu,
            self.is_tf32,
        )
        return root.squeeze(0), nodes.squeeze(0)


@torch.library.custom_op("ldru::fused_reduce", mutates_args=())
def fused_reduce(
    x: Tensor,
    flat: Tensor,
    lengths: Tensor | None,
    keys: Tensor | None,
    cut: Tensor | None,
    scale: Tensor | None,
    is_silu: bool,
    is_tf32: bool,
) -> tuple[Tensor, Tensor]:
    """Reduce words of a fleet: roots, and the nodes between leaves and roots.

    x: [members, batch, length, dim], lengths [members, batch] int32.
    flat: weights of each member as `flatten` lays them [members, parameters].
    keys, cut, scale: dropout, [members, batch, 2], [members], [members].
    """
    from ldru.kernels.reduction.mlp_launch import forward

    return forward(x, flat, lengths, _drop(keys, cut, scale), is_silu, is_tf32)


@torch.library.custom_op("ldru::fused_reduce_backward", mutates_args=())
def fused_reduce_backward(
    gradient: Tensor,
    node_gradient: Tensor | None,
    x: Tensor,
    nodes: Tensor,
    flat: Tensor,
    lengths: Tensor | None,
    keys: Tensor | None,
    cut: Tensor | None,
    scale: Tensor | None,
    is_silu: bool,
    is_tf32: bool,
) -> tuple[Tensor, Tensor]:
    """The gradients of x and of the weights.

    gradient: of the roots [members, batch, dim].
    node_gradient: what comes to the nodes from elsewhere [members, rows, dim].
    """
    from ldru.kernels.reduction.mlp_launch import backward

    drop = _drop(keys, cut, scale)
    return backward(gradient, node_gradient, x, nodes, flat, lengths, drop, is_silu, is_tf32)


@torch.library.custom_op("ldru::fused_reduce_along", mutates_args=())
def fused_reduce_along(
    x: Tensor,
    flat: Tensor,
    tree_keys: Tensor,
    lengths: Tensor | None,
    keys: Tensor | None,
    cut: Tensor | None,
    scale: Tensor | None,
    merges: list[int],
    pairs: list[int],
    is_silu: bool,
    is_tf32: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Reduce words of a fleet along random trees; see `ldru.kernels.reduction.trees`.

    tree_keys: of each word's tree [members, batch, 2]. The others as for `fused_reduce`.
    """
    from ldru.kernels.reduction.trees import forward_along

    drop = _drop(keys, cut, scale)
    return forward_along(x, flat, tree_keys, lengths, drop, merges, pairs, is_silu, is_tf32)


@torch.library.custom_op("ldru::fused_reduce_along_backward", mutates_args=())
def fused_reduce_along_backward(
    gradient: Tensor,
    node_gradient: Tensor | None,
    nodes: Tensor,
    left: Tensor,
    right: Tensor,
    roots: Tensor,
    flat: Tensor,
    keys: Tensor | None,
    cut: Tensor | None,
    scale: Tensor | None,
    merges: list[int],
    is_silu: bool,
    is_tf32: bool,
) -> tuple[Tensor, Tensor]:
    """The gradients of x and of the weights.

    gradient, node_gradient: as for `fused_reduce_backward`; here leaves and roots are nodes too.
    """
    from ldru.kernels.reduction.trees import backward_along

    drop = _drop(keys, cut, scale)
    return backward_along(
        gradient, node_gradient, nodes, left, right, roots, flat, drop, merges, is_silu, is_tf32
    )


@torch.library.custom_op("ldru::fused_combine", mutates_args=())
def fused_combine(pairs: Tensor, flat: Tensor, is_silu: bool, is_tf32: bool) -> Tensor:
    """The operators of a fleet: [members, rows, 2, dim] -> [members, rows, dim].

    flat: as for `fused_reduce`.
    """
    from ldru.kernels.reduction.mlp_launch import combine

    return combine(pairs, flat, is_silu, is_tf32)


@torch.library.custom_op("ldru::fused_combine_backward", mutates_args=())
def fused_combine_backward(
    gradient: Tensor, pairs: Tensor, flat: Tensor, is_silu: bool, is_tf32: bool
) -> tuple[Tensor, Tensor]:
    """The gradients of the pairs and of the weights."""
    from ldru.kernels.reduction.mlp_launch import combine_backward

    return combine_backward(gradient, pairs, flat, is_silu, is_tf32)


def inner_nodes(length: int) -> list[int]:
    """How many nodes each level between leaves and root has."""
    counts = []
    while length > 2:
        length = (length + 1) // 2
        counts.append(length)
    return counts


def split_levels(nodes: Tensor, *, batch: int, length: int) -> list[Tensor]:
    """The levels between leaves and roots as views: [..., rows, d] -> [..., batch, n, d] each."""
    counts = inner_nodes(length)
    parts = nodes.split([batch * count for count in counts], dim=-2)
    return [part.unflatten(-2, (batch, n)) for part, n in zip(parts, counts, strict=True)]


def _drop(keys: Tensor | None, cut: Tensor | None, scale: Tensor | None) -> Drop | None:
    if keys is None or cut is None or scale is None:
        return None
    return keys.contiguous(), cut.contiguous(), scale.contiguous()


@fused_reduce.register_fake
def _(x, flat, lengths, keys, cut, scale, is_silu, is_tf32):
    members, batch, length, dim = x.shape
    nodes = x.new_empty(members, batch * sum(inner_nodes(length)), dim)
    return x.new_empty(members, batch, dim), nodes


@fused_reduce_backward.register_fake
def _(gradient, node_gradient, x, nodes, flat, *rest):
    return torch.empty_like(x), torch.empty_like(flat)


def _remember(ctx, inputs, output) -> None:
    x, flat, lengths, keys, cut, scale, ctx.is_silu, ctx.is_tf32 = inputs
    ctx.save_for_backward(x, output[1], flat, lengths, keys, cut, scale)
    ctx.set_materialize_grads(False)  # mostly nobody uses the nodes: no zeros for their gradient


def _differentiate(ctx, gradient, node_gradient) -> tuple:
    if gradient is None:  # only the nodes are used
        x = ctx.saved_tensors[0]
        gradient = x.new_zeros(*x.shape[:2], x.shape[-1])
    dx, dflat = fused_reduce_backward(
        gradient.contiguous(), node_gradient, *ctx.saved_tensors, ctx.is_silu, ctx.is_tf32
    )
    return dx, dflat, None, None, None, None, None, None


fused_reduce.register_autograd(_differentiate, setup_context=_remember)


@fused_reduce.register_vmap
def _(info, in_dims, *inputs):
    """A mapped axis joins the members' axis."""
    tensors = [
        merged(value, axis, info.batch_size) if isinstance(value, Tensor) else value
        for value, axis in zip(inputs, in_dims, strict=True)
    ]
    root, nodes = fused_reduce(*tensors)
    split = (info.batch_size, -1)
    return (root.unflatten(0, split), nodes.unflatten(0, split)), (0, 0)


@fused_reduce_along.register_fake
def _(x, flat, tree_keys, lengths, keys, cut, scale, merges, pairs, is_silu, is_tf32):
    members, batch, length, dim = x.shape
    table = tree_keys.new_empty(members, batch * sum(merges))
    nodes = x.new_empty(members, batch * (length + sum(merges)), dim)
    begin, end = (tree_keys.new_empty(nodes.shape[:2]) for _ in range(2))
    roots = tree_keys.new_empty(members, batch)
    tables = (table, torch.empty_like(table), begin, end)
    return x.new_empty(members, batch, dim), nodes, *tables, roots


@fused_reduce_along_backward.register_fake
def _(gradient, node_gradient, nodes, left, right, roots, flat, keys, cut, scale, merges, *rest):
    members, batch, dim = gradient.shape
    length = nodes.shape[1] // batch - sum(merges)
    return nodes.new_empty(members, batch, length, dim), torch.empty_like(flat)


def _remember_trees(ctx, inputs, output) -> None:
    _, flat, _, _, keys, cut, scale, ctx.merges, _, ctx.is_silu, ctx.is_tf32 = inputs
    _, nodes, left, right, _, _, roots = output
    ctx.save_for_backward(nodes, left, right, roots, flat, keys, cut, scale)
    ctx.set_materialize_grads(False)


def _differentiate_trees(ctx, gradient, node_gradient, *_) -> tuple:
    if gradient is None:  # only the nodes are used
        nodes, _, _, roots, *_ = ctx.saved_tensors
        gradient = nodes.new_zeros(*roots.shape, nodes.shape[-1])
    dx, dflat = fused_reduce_along_backward(
        gradient.contiguous(),
        node_gradient,
        *ctx.saved_tensors,
        ctx.merges,
        ctx.is_silu,
        ctx.is_tf32,
    )
    return dx, dflat, *[None] * 9


fused_reduce_along.register_autograd(_differentiate_trees, setup_context=_remember_trees)


@fused_reduce_along.register_vmap
def _(info, in_dims, *inputs):
    """A mapped axis joins the members' axis."""
    tensors = [
        merged(value, axis, info.batch_size) if isinstance(value, Tensor) else value
        for value, axis in zip(inputs, in_dims, strict=True)
    ]
    found = fused_reduce_along(*tensors)
    split = (info.batch_size, -1)
    return tuple(tensor.unflatten(0, split) for tensor in found), (0,) * len(found)


@fused_combine.register_fake
def _(pairs, flat, is_silu, is_tf32):
    members, rows, _, dim = pairs.shape
    return pairs.new_empty(members, rows, dim)


@fused_combine_backward.register_fake
def _(gradient, pairs, flat, is_silu, is_tf32):
    return torch.empty_like(pairs), torch.empty_like(flat)


def _remember_pairs(ctx, inputs, output) -> None:
    pairs, flat, ctx.is_silu, ctx.is_tf32 = inputs
    ctx.save_for_backward(pairs, flat)


def _differentiate_pairs(ctx, gradient) -> tuple:
    dpairs, dflat = fused_combine_backward(gradient, *ctx.saved_tensors, ctx.is_silu, ctx.is_tf32)
    return dpairs, dflat, None, None


fused_combine.register_autograd(_differentiate_pairs, setup_context=_remember_pairs)


@fused_combine.register_vmap
def _(info, in_dims, pairs, flat, is_silu, is_tf32):
    tensors = [
        merged(value, axis, info.batch_size)
        for value, axis in zip((pairs, flat), in_dims[:2], strict=True)
    ]
    joined = fused_combine(*tensors, is_silu, is_tf32)
    return joined.unflatten(0, (info.batch_size, -1)), 0
