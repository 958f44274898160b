"""Recurrent cells over words for a whole fleet: a product and one launch for every place.

The plain code they must agree with is that of `ldru.models.rnn`, `lstm` and `sd_ssm`. What a cell
is given at a place is a row of a table, by token; a token of -1 keeps its state at zero, so that
short words begin later than long ones. The gradient of the recurrent matrix is one product over all
places, not a sum of one for each.

Of the channels that recur, `parts` of a state's width, a cell of each kind makes an output:

    relu      one part: relu(given + recurrent)
    gates     four: an LSTM's gates enter, keep, update and show
    select    one for every token: given + the part of the token
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from ldru.kernels.look_up import look_up_gradient

TILE = 1024  # channels of a program, at most
KINDS = ("relu", "gates", "select")
RELU, GATES, SELECT = (tl.constexpr(number) for number in range(3))


class States(NamedTuple):
    """Of a cell before and after every place: [M, places + 1, words, dim]; or of the last two.

    cell: of an LSTM.
    """

    output: Tensor
    cell: Tensor | None


@triton.jit
def tanh(x):
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def load_gate(given, recurrent, gate, there, DIM: tl.constexpr):
    x = tl.load(given + gate * DIM, mask=there, other=0.0)
    return x + tl.load(recurrent + gate * DIM, mask=there, other=0.0)


@triton.jit
def load_gates(given, recurrent, there, DIM: tl.constexpr):
    """enter, keep, update and show, which lie side by side, behind their non-linearities."""
    enter = tl.sigmoid(load_gate(given, recurrent, 0, there, DIM))
    keep = tl.sigmoid(load_gate(given, recurrent, 1, there, DIM) + 1.0)
    update = tanh(load_gate(given, recurrent, 2, there, DIM))
    show = tl.sigmoid(load_gate(given, recurrent, 3, there, DIM))
    return enter, keep, update, show


@triton.jit
def cell_kernel(
    table_ptr, tokens_ptr, recurrent_ptr, output_ptr, cell_ptr,
    words, places, vocabulary, place, slots, old, new, parts,
    DIM: tl.constexpr, TILE: tl.constexpr, KIND: tl.constexpr,
):  # fmt: skip
    """table [M, vocabulary, ...], tokens [M, places, words], recurrent [M, words, parts DIM].

    The states [M, slots, words, DIM] in slot `old` lead to those in slot `new`. Grid (words,
    channel blocks, M).
    """
    word, member = tl.program_id(0), tl.program_id(2).to(tl.int64)
    channel = tl.program_id(1) * TILE + tl.arange(0, TILE)
    token = tl.load(tokens_ptr + (member * places + place) * words + word)
    there = (channel < DIM) & (token >= 0)  # of a word that has not begun, all is zero
    recurrent = recurrent_ptr + (member * words + word) * parts * DIM + channel
    after = ((member * slots + new) * words + word) * DIM + channel
    row = member * vocabulary + token
    if KIND == GATES:
        given = table_ptr + row * 4 * DIM + channel
        enter, keep, update, show = load_gates(given, recurrent, there, DIM)
        before = ((member * slots + old) * words + word) * DIM + channel
        cell = keep * tl.load(cell_ptr + before, mask=there, other=0.0) + enter * update
        cell = tl.where(token >= 0, cell, 0.0)
        tl.store(cell_ptr + after, cell, mask=channel < DIM)
        output = show * tanh(cell)
    elif KIND == SELECT:
        output = load_gate(table_ptr + row * DIM + channel, recurrent + token * DIM, 0, there, DIM)
    else:
        output = load_gate(table_ptr + row * DIM + channel, recurrent, 0, there, DIM)
        output = tl.maximum(output, 0.0)
    tl.store(output_ptr + after, output, mask=channel < DIM)


@triton.jit
def cell_gradient_kernel(
    table_ptr, tokens_ptr, recurrent_ptr, cell_ptr, of_output_ptr, of_cell_ptr,
    words, places, vocabulary, place, parts,
    DIM: tl.constexpr, TILE: tl.constexpr, KIND: tl.constexpr,
):  # fmt: skip
    """recurrent [M, places, words, parts DIM]: what recurs at this place becomes its gradient.

    of_output, of_cell [M, words, DIM]: of the states behind the place; of_cell becomes that of the
    cell before it. Grid (words, channel blocks, M).
    """
    word, member = tl.program_id(0), tl.program_id(2).to(tl.int64)
    channel = tl.program_id(1) * TILE + tl.arange(0, TILE)
    token = tl.load(tokens_ptr + (member * places + place) * words + word)
    is_channel = channel < DIM
    there = is_channel & (token >= 0)
    at_place = (member * places + place) * words + word
    recurrent = recurrent_ptr + at_place * parts * DIM + channel
    at_state = (member * words + word) * DIM + channel
    of_output = tl.load(of_output_ptr + at_state, mask=there, other=0.0)
    row = member * vocabulary + token
    if KIND == GATES:
        given = table_ptr + row * 4 * DIM + channel
        enter, keep, update, show = load_gates(given, recurrent, there, DIM)
        before = ((member * (places + 1) + place) * words + word) * DIM + channel
        old = tl.load(cell_ptr + before, mask=there, other=0.0)
        shown = tanh(keep * old + enter * update)
        of_cell = tl.load(of_cell_ptr + at_state, mask=there, other=0.0)
        of_cell += of_output * show * (1.0 - shown * shown)
        tl.store(recurrent, of_cell * update * enter * (1.0 - enter), mask=is_channel)
        tl.store(recurrent + DIM, of_cell * old * keep * (1.0 - keep), mask=is_channel)
        tl.store(recurrent + 2 * DIM, of_cell * enter * (1.0 - update * update), mask=is_channel)
        tl.store(recurrent + 3 * DIM, of_output * shown * show * (1.0 - show), mask=is_channel)
        tl.store(of_cell_ptr + at_state, of_cell * keep, mask=is_channel)
    elif KIND == SELECT:
        for part in range(0, parts):
            value = tl.where(part == token, of_output, 0.0)
            tl.store(recurrent + part * DIM, value, mask=is_channel)
    else:
        is_on = load_gate(table_ptr + row * DIM + channel, recurrent, 0, there, DIM) > 0.0
        tl.store(recurrent, tl.where(is_on, of_output, 0.0), mask=is_channel)


def recur(table: Tensor, weight: Tensor, tokens: Tensor, *, kind: str, keeps: bool) -> States:
    """States of [M, vocabulary, ...], [M, parts dim, dim], [M, places, words]; they start at zero.

    keeps: the states of all places, as the gradient needs them.
    """
    (members, places, words), dim = tokens.shape, weight.shape[2]
    slots = places + 1 if keeps else 2
    output = table.new_empty(members, slots, words, dim)
    output[:, 0] = 0
    cell = None
    if kind == "gates":
        cell = torch.empty_like(output)
        cell[:, 0] = 0
    table, tokens = table.contiguous(), tokens.contiguous()
    for place in range(places):
        old, new = place % slots, (place + 1) % slots
        recurrent = torch.bmm(output[:, old], weight.mT)
        cell_kernel[_grid(tokens, dim)](
            table, tokens, recurrent, output, output if cell is None else cell,
            words, places, table.shape[1], place, slots, old, new, **_sizes(weight, kind),
        )  # fmt: skip
    return States(output, cell)


def recurrence_gradient(
    table: Tensor, weight: Tensor, tokens: Tensor, states: States, gradient: Tensor, *, kind: str
) -> tuple[Tensor, Tensor]:
    """The gradients of table and weight, from that of the last output [M, words, dim]."""
    (members, places, words), (_, width, dim) = tokens.shape, weight.shape
    table, tokens = table.contiguous(), tokens.contiguous()
    before = states.output[:, :-1].flatten(1, 2)
    if kind == "select":  # linear, so that its gradient does not need what recurred
        recurrent = table.new_empty(members, places * words, width)
    else:
        recurrent = torch.bmm(before, weight.mT)
    of_output = gradient.contiguous()
    cell = of_output if states.cell is None else states.cell  # others do not read it
    of_cell = torch.zeros_like(of_output)
    for place in reversed(range(places)):
        cell_gradient_kernel[_grid(tokens, dim)](
            table, tokens, recurrent, cell, of_output, of_cell,
            words, places, table.shape[1], place, **_sizes(weight, kind),
        )  # fmt: skip
        if place:
            of_output = torch.bmm(recurrent.unflatten(1, (places, words))[:, place], weight)
    of_weight = torch.bmm(recurrent.mT, before)
    if kind == "select":
        return recurrent.sum(dim=1).unflatten(1, (-1, dim)), of_weight
    of_table = look_up_gradient(recurrent, tokens.flatten(1), vocabulary=table.shape[1])
    return of_table, of_weight


def _grid(tokens: Tensor, dim: int) -> tuple[int, int, int]:
    members, _, words = tokens.shape
    return words, triton.cdiv(dim, min(TILE, triton.next_power_of_2(dim))), members


def _sizes(weight: Tensor, kind: str) -> dict[str, int]:
    _, width, dim = weight.shape
    tile = min(TILE, triton.next_power_of_2(dim))
    return {"parts": width // dim, "DIM": dim, "TILE": tile, "KIND": KINDS.index(kind)}
