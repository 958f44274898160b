"""Cross entropy of a whole fleet with its derivative, in one launch.

The plain code it must agree with is `ldru.training.loss.cross_entropy`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def cross_entropy_kernel(
    scores_ptr, labels_ptr, classes_ptr, losses_ptr, slopes_ptr, batch, width,
    ROWS: tl.constexpr, CLASSES: tl.constexpr,
):  # fmt: skip
    """The mean loss of each member, and its derivative by the scores. Grid (M,).

    scores, slopes [M, B, width], of which the first classes [M] count; labels [M, B].
    """
    member = tl.program_id(0).to(tl.int64)
    number = tl.arange(0, CLASSES)[None, :]
    is_class = number < tl.load(classes_ptr + member)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    for start in range(0, batch, ROWS):
        row = start + tl.arange(0, ROWS)
        there = row < batch
        place = (member * batch + row)[:, None] * width + number
        known = there[:, None] & (number < width)
        score = tl.load(scores_ptr + place, mask=known, other=0.0)
        score = tl.where(is_class, score, float("-inf"))
        label = tl.load(labels_ptr + member * batch + row, mask=there, other=0)
        is_label = number == label[:, None]
        top = tl.max(score, axis=1)
        power = tl.exp(score - top[:, None])
        sum_of_powers = tl.sum(power, axis=1)
        chosen = tl.sum(tl.where(is_label, score, 0.0), axis=1)
        loss = tl.log(sum_of_powers) + top - chosen
        total += tl.where(there, loss, 0.0)
        slope = power / sum_of_powers[:, None] - tl.where(is_label, 1.0, 0.0)
        tl.store(slopes_ptr + place, slope / batch, mask=known)
    tl.store(losses_ptr + member, tl.sum(total, axis=0) / batch)


def losses_and_slopes(scores: Tensor, labels: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """[M, B, width], [M, B], [M] -> [M], [M, B, width]."""
    members, batch, width = scores.shape
    scores, labels = scores.contiguous(), labels.contiguous()
    losses, slopes = scores.new_empty(members), torch.empty_like(scores)
    size = triton.next_power_of_2(max(2, width))
    cross_entropy_kernel[(members,)](
        scores, labels, classes, losses, slopes, batch, width,
        ROWS=min(256, max(1, 4096 // size)), CLASSES=size,
    )  # fmt: skip
    return losses, slopes
