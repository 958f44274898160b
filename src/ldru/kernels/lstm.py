"""The gates of an LSTM for a whole fleet, in one launch each way.

The plain code it must agree with is `ldru.models.lstm.plain_gates`. Gates lie side by side: enter,
keep, update, show.
"""

import triton
import triton.language as tl
from torch import Tensor

TILE = 1024  # channels of a program


@triton.jit
def tanh(x):
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def load_gates(given_ptr, member_stride, word_stride, recurrent_ptr, member, word, words, channel,
               there, DIM: tl.constexpr):  # fmt: skip
    """enter, keep, update and show of one word, before and after their non-linearity."""
    given = given_ptr + member * member_stride + word * word_stride + channel
    recurrent = recurrent_ptr + (member * words + word) * 4 * DIM + channel
    enter = tl.load(given, mask=there, other=0.0) + tl.load(recurrent, mask=there, other=0.0)
    keep = tl.load(given + DIM, mask=there, other=0.0)
    keep += tl.load(recurrent + DIM, mask=there, other=0.0)
    update = tl.load(given + 2 * DIM, mask=there, other=0.0)
    update += tl.load(recurrent + 2 * DIM, mask=there, other=0.0)
    show = tl.load(given + 3 * DIM, mask=there, other=0.0)
    show += tl.load(recurrent + 3 * DIM, mask=there, other=0.0)
    return tl.sigmoid(enter), tl.sigmoid(keep + 1.0), tanh(update), tl.sigmoid(show)


@triton.jit
def gates_kernel(
    given_ptr, given_member, given_word, recurrent_ptr, cell_ptr, cell_member, cell_word, out_ptr,
    words, DIM: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """given, recurrent [M, words, 4 DIM], cell [M, words, DIM] -> output, cell [M, words, 2 DIM].

    given_member, given_word, cell_member, cell_word: strides. Grid (words, blocks, M).
    """
    word, member = tl.program_id(0).to(tl.int64), tl.program_id(2).to(tl.int64)
    channel = tl.program_id(1) * TILE + tl.arange(0, TILE)
    there = channel < DIM
    enter, keep, update, show = load_gates(
        given_ptr, given_member, given_word, recurrent_ptr, member, word, words, channel, there, DIM
    )
    old = cell_ptr + member * cell_member + word * cell_word + channel
    cell = keep * tl.load(old, mask=there, other=0.0) + enter * update
    out = out_ptr + (member * words + word) * 2 * DIM + channel
    tl.store(out, show * tanh(cell), mask=there)
    tl.store(out + DIM, cell, mask=there)


@triton.jit
def gates_gradient_kernel(
    given_ptr, given_member, given_word, recurrent_ptr, cell_ptr, cell_member, cell_word,
    gradient_ptr, of_gates_ptr, of_cell_ptr, words, DIM: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """gradient [M, words, 2 DIM] -> of gates [M, words, 4 DIM], of the old cell [M, words, DIM].

    Grid (words, blocks, M).
    """
    word, member = tl.program_id(0).to(tl.int64), tl.program_id(2).to(tl.int64)
    channel = tl.program_id(1) * TILE + tl.arange(0, TILE)
    there = channel < DIM
    enter, keep, update, show = load_gates(
        given_ptr, given_member, given_word, recurrent_ptr, member, word, words, channel, there, DIM
    )
    old = tl.load(
        cell_ptr + member * cell_member + word * cell_word + channel, mask=there, other=0.0
    )
    shown = tanh(keep * old + enter * update)
    row = member * words + word
    gradient = gradient_ptr + row * 2 * DIM + channel
    of_output = tl.load(gradient, mask=there, other=0.0)
    of_cell = tl.load(gradient + DIM, mask=there, other=0.0)
    of_cell += of_output * show * (1.0 - shown * shown)
    out = of_gates_ptr + row * 4 * DIM + channel
    tl.store(out, of_cell * update * enter * (1.0 - enter), mask=there)
    tl.store(out + DIM, of_cell * old * keep * (1.0 - keep), mask=there)
    tl.store(out + 2 * DIM, of_cell * enter * (1.0 - update * update), mask=there)
    tl.store(out + 3 * DIM, of_output * shown * show * (1.0 - show), mask=there)
    tl.store(of_cell_ptr + row * DIM + channel, of_cell * keep, mask=there)


def gates(given: Tensor, recurrent: Tensor, cell: Tensor) -> Tensor:
    """[M, words, 4 dim] twice, [M, words, dim] -> output and cell [M, words, 2 dim]."""
    members, words, dim = cell.shape
    out = cell.new_empty(members, words, 2 * dim)
    tile, grid = _tile(members, words, dim)
    gates_kernel[grid](
        *_strided(given), recurrent.contiguous(), *_strided(cell), out, words, DIM=dim, TILE=tile
    )
    return out


def gates_gradient(
    given: Tensor, recurrent: Tensor, cell: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients of what is given and recurrent [M, words, 4 dim], and of the cell."""
    members, words, dim = cell.shape
    of_gates, of_cell = cell.new_empty(members, words, 4 * dim), cell.new_empty(cell.shape)
    tile, grid = _tile(members, words, dim)
    gates_gradient_kernel[grid](
        *_strided(given), recurrent.contiguous(), *_strided(cell), gradient.contiguous(),
        of_gates, of_cell, words, DIM=dim, TILE=tile,
    )  # fmt: skip
    return of_gates, of_cell


def _tile(members: int, words: int, dim: int) -> tuple[int, tuple[int, int, int]]:
    tile = min(TILE, triton.next_power_of_2(dim))
    return tile, (words, triton.cdiv(dim, tile), members)


def _strided(tensor: Tensor) -> tuple[Tensor, int, int]:
    """A tensor [M, words, channels] as it lies, with the strides of members and words."""
    if tensor.stride(2) != 1:
        tensor = tensor.contiguous()
    return tensor, tensor.stride(0), tensor.stride(1)
