"""Recurrent cells over words in kernels of their own, also for a whole fleet."""

import torch
from torch import Tensor

from ldru.kernels.support import apply_to_all, can_run
from ldru.layers.embedding import SMALL_VOCABULARY


def can_fuse(table: Tensor) -> bool:
    """Whether our kernels go through words whose tokens are rows of this table."""
    return len(table) <= SMALL_VOCABULARY and can_run(table)


def last_output(table: Tensor, weight: Tensor, tokens: Tensor, *, kind: str) -> Tensor:
    """The output of a cell behind the last token of every word: [batch, length] -> [batch, dim].

    table: what each token gives [tokens, channels]. A token of -1 gives nothing and keeps the
        state at zero.
    weight: the recurrent matrix [channels that recur, dim].
    kind: of the cell; see `ldru.kernels.recurrence`.
    """
    inputs = (part[None] for part in (table, weight, tokens.T))
    states, *_ = Recurrence.apply(*inputs, kind, torch.is_grad_enabled())
    return states.squeeze(0)


class Recurrence(torch.autograd.Function):
    """Of each member: table [members, ...], weight [members, ...], tokens [members, places, words].

    keeps: the states that the backward pass needs. -> the last output [members, words, dim], and
    these states.
    """

    @staticmethod
    def forward(
        table: Tensor, weight: Tensor, tokens: Tensor, kind: str, keeps: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        from ldru.kernels.recurrence import recur

        output, cell = recur(table, weight, tokens, kind=kind, keeps=keeps)
        last = output[:, tokens.shape[1] % output.shape[1]].clone()
        return last, output, output.new_empty(len(output), 0) if cell is None else cell

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: tuple) -> None:  # type: ignore[no-untyped-def]
        *tensors, ctx.kind, _ = inputs
        _, *states = output
        ctx.mark_non_differentiable(*states)
        ctx.save_for_backward(*tensors, *states)

    @staticmethod
    def backward(ctx, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[no-untyped-def]
        from ldru.kernels.recurrence import States, recurrence_gradient

        table, weight, tokens, output, cell = ctx.saved_tensors
        states = States(output, cell if cell.numel() else None)
        found = recurrence_gradient(table, weight, tokens, states, gradient, kind=ctx.kind)
        return *found, None, None, None

    @staticmethod
    def vmap(info, in_dims: tuple, *inputs) -> tuple[tuple[Tensor, ...], int]:  # type: ignore[no-untyped-def]
        return apply_to_all(Recurrence, info, in_dims, *inputs)
