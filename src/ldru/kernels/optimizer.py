"""A fleet's optimiser step in four kernels: sums, means, centring and norms, then the update.

The plain code it must agree with is `ldru.training.optimizer`. A tensor is seen as averages of
terms (`Layout.averages`) and cut into pieces of AVERAGES x TERMS, one program each, because a
program that walks through all terms of an average waits for memory at every step.
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

AVERAGES = 128  # of a piece
TERMS = 32
BLOCK = 1024  # numbers per program of the update
FIELDS = tl.constexpr(8)  # of a piece
BLOCK_FIELDS = tl.constexpr(6)  # of a block of averages
LOG_BETA_1 = tl.constexpr(math.log(0.9))
LOG_BETA_2 = tl.constexpr(math.log(0.999))


@triton.jit
def _piece(
    gradient_ptr, parameters_ptr, pieces_ptr, sizes_ptr, l2, total, tensors,
    AVERAGES: tl.constexpr, TERMS: tl.constexpr,
):  # fmt: skip
    """The gradient of a piece with L2, where it lies, what of it the member has, the numbers of its
    averages, and its tensor's averages of this member."""
    member = tl.program_id(1).to(tl.int64)
    piece = pieces_ptr + tl.program_id(0) * FIELDS
    begin = tl.load(piece)
    tensor = tl.load(piece + 1)
    average = tl.load(piece + 2) + tl.arange(0, AVERAGES)
    term = tl.load(piece + 3) + tl.arange(0, TERMS)
    average_stride = tl.load(piece + 4)
    term_stride = tl.load(piece + 5)
    size = sizes_ptr + (member * tensors + tensor) * 2
    own_averages = tl.load(size)
    own_terms = tl.load(size + 1)
    place = term[:, None] * term_stride + average[None, :] * average_stride
    place += member * total + begin
    own = (term < own_terms)[:, None] & (average < own_averages)[None, :]
    gradient = tl.load(gradient_ptr + place, mask=own, other=0.0)
    gradient += l2 * tl.load(parameters_ptr + place, mask=own, other=0.0)
    return gradient, place, own, average, own_averages, own_terms


@triton.jit
def sum_kernel(
    gradient_ptr, parameters_ptr, sums_ptr, pieces_ptr, sizes_ptr, l2, total, tensors, sums_size,
    AVERAGES: tl.constexpr, TERMS: tl.constexpr,
):  # fmt: skip
    """Sums over the terms of each piece to sums [M, ...]. Grid (pieces, M)."""
    member = tl.program_id(1).to(tl.int64)
    gradient, _, _, average, own_averages, _ = _piece(
        gradient_ptr, parameters_ptr, pieces_ptr, sizes_ptr, l2, total, tensors, AVERAGES, TERMS
    )
    place = tl.load(pieces_ptr + tl.program_id(0) * FIELDS + 7)
    sums = sums_ptr + member * sums_size + place + average
    tl.store(sums, tl.sum(gradient, axis=0), mask=average < own_averages)


@triton.jit
def mean_kernel(
    sums_ptr, means_ptr, blocks_ptr, sizes_ptr, tensors, sums_size, means_size,
    AVERAGES: tl.constexpr, TERMS: tl.constexpr,
):  # fmt: skip
    """Add up the chunks' sums [M, ...] to means [M, ...], in a fixed order. Grid (blocks, M).

    A block's fields: where its sums begin, how far those of two chunks lie apart, how many chunks
    there are, the tensor's number, the first average, and where its tensor's means begin.
    """
    member = tl.program_id(1).to(tl.int64)
    block = blocks_ptr + tl.program_id(0) * BLOCK_FIELDS
    apart = tl.load(block + 1)
    chunks = tl.load(block + 2)
    size = sizes_ptr + (member * tensors + tl.load(block + 3)) * 2
    average = tl.load(block + 4) + tl.arange(0, AVERAGES)
    own = average < tl.load(size)
    sums = sums_ptr + member * sums_size + tl.load(block) + average[None, :]
    total = tl.zeros((TERMS, AVERAGES), dtype=tl.float32)
    for first in range(0, chunks, TERMS):
        chunk = first + tl.arange(0, TERMS)[:, None]
        total += tl.load(sums + chunk * apart, mask=(chunk < chunks) & own[None, :], other=0.0)
    mean = tl.sum(total, axis=0) / tl.load(size + 1)
    tl.store(means_ptr + member * means_size + tl.load(block + 5) + average, mean, mask=own)


@triton.jit
def centre_kernel(
    gradient_ptr, parameters_ptr, means_ptr, norms_ptr, pieces_ptr, sizes_ptr, l2, total, tensors,
    means_size, AVERAGES: tl.constexpr, TERMS: tl.constexpr, CHANGES: tl.constexpr,
):  # fmt: skip
    """Add L2 to the gradient and centre it, in place; sums of squares to norms [M, pieces].

    Without CHANGES there is no L2 and nothing is centred: only the sums are wanted.

    A piece's fields: where its tensor begins, the tensor's number, the first average, the first
    term, strides of averages and terms, where its tensor's means begin (-1: not centred), and where
    its own sums go. sizes [M, tensors, 2] says how many averages and terms each member has. Grid
    (pieces, M).
    """
    member = tl.program_id(1).to(tl.int64)
    gradient, place, own, average, own_averages, _ = _piece(
        gradient_ptr, parameters_ptr, pieces_ptr, sizes_ptr, l2, total, tensors, AVERAGES, TERMS
    )
    begin = tl.load(pieces_ptr + tl.program_id(0) * FIELDS + 6)
    if begin >= 0:
        means = means_ptr + member * means_size + begin + average
        mean = tl.load(means, mask=average < own_averages, other=0.0)
        gradient = tl.where(own, gradient - mean[None, :], 0.0)
    if CHANGES:
        tl.store(gradient_ptr + place, gradient, mask=own)
    squares = tl.sum(tl.sum(gradient * gradient, axis=1), axis=0)
    tl.store(norms_ptr + member * tl.num_programs(0) + tl.program_id(0), squares)


@triton.jit
def update_kernel(
    parameters_ptr, gradient_ptr, first_ptr, second_ptr, largest_ptr, norms_ptr,
    learning_rates_ptr, warmups_ptr, step_ptr,
    total, pieces, clip,
    IS_AMSGRAD: tl.constexpr, PIECES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Clip, then Adam or AMSGrad, in place. Grid (blocks, M)."""
    member = tl.program_id(1).to(tl.int64)
    piece = tl.arange(0, PIECES)
    squares = tl.load(norms_ptr + member * pieces + piece, mask=piece < pieces, other=0.0)
    norm = tl.sqrt(tl.sum(squares, axis=0))
    factor = tl.where(norm < clip, 1.0, clip / norm)
    step = tl.load(step_ptr)
    warmup = tl.load(warmups_ptr + member)
    share = tl.where(warmup > 0, tl.minimum(step / tl.maximum(warmup, 1.0), 1.0), 1.0)
    rate = 1e-8 + (tl.load(learning_rates_ptr + member) - 1e-8) * share
    count = (step + 1).to(tl.float64)  # in float32, 1 - 0.999 would be right to four digits only
    rate = (rate / (1.0 - tl.exp(count * LOG_BETA_1))).to(tl.float32)
    correction = (1.0 / (1.0 - tl.exp(count * LOG_BETA_2))).to(tl.float32)

    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < total
    place = member * total + index
    gradient = tl.load(gradient_ptr + place, mask=inside, other=0.0) * factor
    first = tl.load(first_ptr + place, mask=inside, other=0.0) * 0.9 + gradient * (1 - 0.9)
    second = tl.load(second_ptr + place, mask=inside, other=0.0) * 0.999
    second += gradient * gradient * (1 - 0.999)
    tl.store(first_ptr + place, first, mask=inside)
    tl.store(second_ptr + place, second, mask=inside)
    corrected = second * correction
    if IS_AMSGRAD:
        corrected = tl.maximum(tl.load(largest_ptr + place, mask=inside, other=0.0), corrected)
        tl.store(largest_ptr + place, corrected, mask=inside)
    parameter = tl.load(parameters_ptr + place, mask=inside, other=0.0)
    parameter -= rate * first / (tl.sqrt(corrected) + 1e-8)
    tl.store(parameters_ptr + place, parameter, mask=inside)


class CentreTable:
    """The tensors of a fleet cut into pieces for `sum_kernel` and `centre_kernel`.

    tensors: place, (averages, stride), (terms, stride) and whether to centre, of each tensor.
    sizes: averages and terms that belong to each member [members, tensors, 2].
    """

    def __init__(
        self,
        tensors: list[tuple[int, tuple[int, int], tuple[int, int], bool]],
        sizes: Tensor,
        *,
        device: torch.device,
    ) -> None:
        pieces: list[tuple[int, ...]] = []
        blocks: list[tuple[int, ...]] = []
        self.sums_size = self.means_size = 0
        for number, (begin, averages, terms, is_centred) in enumerate(tensors):
            (count, average_stride), (length, term_stride) = averages, terms
            chunks, starts = triton.cdiv(length, TERMS), range(0, count, AVERAGES)
            means = self.means_size if is_centred else -1
            pieces += [
                (
                    begin, number, average, chunk * TERMS, average_stride, term_stride, means,
                    self.sums_size + chunk * count,
                )
                for chunk in range(chunks)
                for average in starts
            ]  # fmt: skip
            if is_centred:
                sums = (self.sums_size, count, chunks)
                blocks += [(*sums, number, average, means) for average in starts]
                self.means_size += count
            self.sums_size += chunks * count
        self.pieces = torch.tensor(pieces, dtype=torch.int32, device=device)
        self.blocks = torch.tensor(blocks, dtype=torch.int32, device=device)
        self.sizes = sizes.to(device=device, dtype=torch.int32).contiguous()

    @property
    def is_centred(self) -> bool:
        """Whether any tensor is."""
        return self.means_size > 0


def centre(gradient: Tensor, parameters: Tensor, table: CentreTable, *, l2: float) -> Tensor:
    """L2 and centring in place: [members, parameters] -> sums of squares [members, pieces]."""
    members, total = gradient.shape
    grid = (len(table.pieces), members)
    norms = gradient.new_empty(members, len(table.pieces))
    sums = gradient.new_empty(members, table.sums_size)
    means = gradient.new_empty(members, table.means_size)
    tensors = table.sizes.shape[1]
    shared = (table.pieces, table.sizes, l2, total, tensors)
    tile = {"AVERAGES": AVERAGES, "TERMS": TERMS, "num_warps": 8}
    if table.is_centred:
        sum_kernel[grid](gradient, parameters, sums, *shared, table.sums_size, **tile)
        mean_kernel[(len(table.blocks), members)](
            sums, means, table.blocks, table.sizes, tensors, table.sums_size, table.means_size,
            **tile,
        )  # fmt: skip
    centre_kernel[grid](
        gradient, parameters, means, norms, *shared, table.means_size, **tile,
        CHANGES=table.is_centred or l2 != 0,
    )  # fmt: skip
    return norms


def update(
    parameters: Tensor, gradient: Tensor, state: dict[str, Tensor], norms: Tensor,
    learning_rates: Tensor, warmups: Tensor, step: Tensor, *, clip: float,
) -> None:  # fmt: skip
    """One step in place; learning_rates and warmups [members, 1], step []."""
    members, total = parameters.shape
    is_amsgrad = "largest_moment" in state
    update_kernel[(triton.cdiv(total, BLOCK), members)](
        parameters, gradient, state["first_moment"], state["second_moment"],
        state["largest_moment"] if is_amsgrad else gradient, norms,
        learning_rates, warmups, step, total, norms.shape[1], clip,
        IS_AMSGRAD=is_amsgrad, PIECES=triton.next_power_of_2(norms.shape[1]), BLOCK=BLOCK,
    )  # fmt: skip
