"""A fleet's optimiser step in two kernels: centring and norms, then the update.

The plain code it must agree with is `ldru.training.optimizer` and `Parameters.gradient`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

AVERAGES = 32  # per program of the first kernel
TERMS = 64  # of each average at a time
BLOCK = 1024  # numbers per program of the second kernel


@triton.jit
def centre_kernel(
    gradient_ptr, parameters_ptr, norms_ptr, pieces_ptr, sizes_ptr, l2, total, tensors,
    AVERAGES: tl.constexpr, TERMS: tl.constexpr,
):  # fmt: skip
    """Add L2 to the gradient and centre it, in place; sums of squares to norms [M, pieces].

    A piece is up to AVERAGES averages of one tensor: its place, the tensor's number, the first
    average, then how many averages and terms the tensor has, their strides, and whether to centre.
    sizes [M, tensors, 2] says how many averages and terms belong to each member. Grid (pieces, M).
    """
    member = tl.program_id(1).to(tl.int64)
    piece = pieces_ptr + tl.program_id(0) * 8
    begin = tl.load(piece)
    tensor = tl.load(piece + 1)
    average = tl.load(piece + 2) + tl.arange(0, AVERAGES)
    terms = tl.load(piece + 4)
    average_stride = tl.load(piece + 5)
    term_stride = tl.load(piece + 6)
    is_centred = tl.load(piece + 7)
    size = sizes_ptr + (member * tensors + tensor) * 2
    own_averages = tl.load(size)
    own_terms = tl.load(size + 1)
    gradient_ptr += member * total + begin
    parameters_ptr += member * total + begin

    total_sum = tl.zeros((AVERAGES,), dtype=tl.float32)
    for start in range(0, terms, TERMS):
        term = start + tl.arange(0, TERMS)
        place = term[:, None] * term_stride + average[None, :] * average_stride
        own = (term < own_terms)[:, None] & (average < own_averages)[None, :]
        gradient = tl.load(gradient_ptr + place, mask=own, other=0.0)
        gradient += l2 * tl.load(parameters_ptr + place, mask=own, other=0.0)
        total_sum += tl.sum(gradient, axis=0)
    mean = tl.where(is_centred != 0, total_sum / own_terms, 0.0)

    squares = tl.zeros((AVERAGES,), dtype=tl.float32)
    for start in range(0, terms, TERMS):
        term = start + tl.arange(0, TERMS)
        place = term[:, None] * term_stride + average[None, :] * average_stride
        own = (term < own_terms)[:, None] & (average < own_averages)[None, :]
        gradient = tl.load(gradient_ptr + place, mask=own, other=0.0)
        gradient += l2 * tl.load(parameters_ptr + place, mask=own, other=0.0)
        gradient = tl.where(own, gradient - mean[None, :], 0.0)
        squares += tl.sum(gradient * gradient, axis=0)
        tl.store(gradient_ptr + place, gradient, mask=own)
    tl.store(norms_ptr + member * tl.num_programs(0) + tl.program_id(0), tl.sum(squares, axis=0))


@triton.jit
def update_kernel(
    parameters_ptr, gradient_ptr, first_ptr, second_ptr, largest_ptr, norms_ptr, scalars_ptr,
    total, pieces, clip,
    IS_AMSGRAD: tl.constexpr, PIECES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Clip, then Adam or AMSGrad, in place. scalars [M, 2]: rate and second correction."""
    member = tl.program_id(1).to(tl.int64)
    piece = tl.arange(0, PIECES)
    squares = tl.load(norms_ptr + member * pieces + piece, mask=piece < pieces, other=0.0)
    norm = tl.sqrt(tl.sum(squares, axis=0))
    factor = tl.where(norm < clip, 1.0, clip / norm)
    rate = tl.load(scalars_ptr + 2 * member)
    correction = tl.load(scalars_ptr + 2 * member + 1)

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
    """The tensors of a fleet cut into pieces for `centre_kernel`.

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
        rows = [
            (begin, number, start, averages, terms, average_stride, term_stride, int(is_centred))
            for number, (begin, (averages, average_stride), (terms, term_stride), is_centred) in (
                enumerate(tensors)
            )
            for start in range(0, averages, AVERAGES)
        ]
        self.pieces = torch.tensor(rows, dtype=torch.int32, device=device)
        self.sizes = sizes.to(device=device, dtype=torch.int32).contiguous()


def centre(gradient: Tensor, parameters: Tensor, table: CentreTable, *, l2: float) -> Tensor:
    """L2 and centring in place: [members, parameters] -> sums of squares [members, pieces]."""
    members, total = gradient.shape
    norms = gradient.new_empty(members, len(table.pieces))
    centre_kernel[(len(table.pieces), members)](
        gradient, parameters, norms, table.pieces, table.sizes, l2, total, table.sizes.shape[1],
        AVERAGES=AVERAGES, TERMS=TERMS,
    )  # fmt: skip
    return norms


def update(
    parameters: Tensor, gradient: Tensor, state: dict[str, Tensor], norms: Tensor, scalars: Tensor,
    *, clip: float,
) -> None:  # fmt: skip
    """One step in place; scalars [members, 2] are the rate over the first moment's correction, and
    the inverse of the second moment's."""
    members, total = parameters.shape
    is_amsgrad = "largest_moment" in state
    update_kernel[(triton.cdiv(total, BLOCK), members)](
        parameters, gradient, state["first_moment"], state["second_moment"],
        state["largest_moment"] if is_amsgrad else gradient, norms, scalars,
        total, norms.shape[1], clip,
        IS_AMSGRAD=is_amsgrad, PIECES=triton.next_power_of_2(norms.shape[1]), BLOCK=BLOCK,
    )  # fmt: skip
