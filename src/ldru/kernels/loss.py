"""Weighted cross entropy of a whole fleet with its derivative, in one launch.

The plain code it must agree with is `ldru.training.loss.weighted_cross_entropy`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

ELEMENTS = 4096
"""Scores that a program holds."""


@triton.jit
def cross_entropy_kernel(
    scores_ptr, labels_ptr, weights_ptr, classes_ptr, losses_ptr, slopes_ptr, rows, width,
    ROWS: tl.constexpr, CLASSES: tl.constexpr,
):  # fmt: skip
    """The weighted losses of some rows, and the derivative by the scores. Grid (row tiles, M).

    scores, slopes [M, rows, width], of which the first classes [M] count; labels, weights
    [M, rows]; losses [M, tiles]. Rows without a weight are passed over, whatever their label is.
    """
    tile, member = tl.program_id(0), tl.program_id(1).to(tl.int64)
    number = tl.arange(0, CLASSES)[None, :]
    is_class = number < tl.load(classes_ptr + member)
    row = tile * ROWS + tl.arange(0, ROWS)
    there = row < rows
    place = (member * rows + row)[:, None] * width + number
    known = there[:, None] & (number < width)
    score = tl.load(scores_ptr + place, mask=known, other=0.0)
    score = tl.where(is_class, score, float("-inf"))
    label = tl.load(labels_ptr + member * rows + row, mask=there, other=0)
    weight = tl.load(weights_ptr + member * rows + row, mask=there, other=0.0)
    is_label = number == label[:, None]
    top = tl.max(score, axis=1)
    power = tl.exp(score - top[:, None])
    sum_of_powers = tl.sum(power, axis=1)
    chosen = tl.sum(tl.where(is_label, score, 0.0), axis=1)
    loss = tl.where(weight != 0.0, (tl.log(sum_of_powers) + top - chosen) * weight, 0.0)
    slope = power / sum_of_powers[:, None] - tl.where(is_label, 1.0, 0.0)
    tl.store(slopes_ptr + place, slope * weight[:, None], mask=known)
    tl.store(losses_ptr + member * tl.num_programs(0) + tile, tl.sum(loss, axis=0))


def losses_and_slopes(
    scores: Tensor, labels: Tensor, weights: Tensor, classes: Tensor
) -> tuple[Tensor, Tensor]:
    """[M, rows, width], [M, rows] twice, [M] -> [M], [M, rows, width]."""
    members, count, width = scores.shape
    scores, labels, weights = scores.contiguous(), labels.contiguous(), weights.contiguous()
    size = triton.next_power_of_2(max(2, width))
    rows = min(256, max(1, ELEMENTS // size))
    tiles = triton.cdiv(count, rows)
    losses, slopes = scores.new_empty(members, tiles), torch.empty_like(scores)
    cross_entropy_kernel[(tiles, members)](
        scores, labels, weights, classes, losses, slopes, count, width,
        ROWS=rows, CLASSES=size,
    )  # fmt: skip
    return losses.sum(dim=1), slopes
