"""The loss of a fleet: cross entropy over each member's own classes."""

import torch
from torch import Tensor

from ldru.kernels import support


def cross_entropy(scores: Tensor, labels: Tensor, classes: Tensor) -> Tensor:
    """Mean over the words: [members, batch, width], [members, batch], [members] -> [members].

    classes: how many of the scores each member has; the others do not count.
    """
    if support.why_not(scores.device, scores.dtype) is None:
        return FusedCrossEntropy.apply(scores, labels, classes)
    scores = within_classes(scores, classes)
    return -scores.log_softmax(dim=-1).gather(-1, labels[..., None])[..., 0].mean(dim=1)


def prefix_cross_entropy(scores: Tensor, labels: Tensor, classes: Tensor) -> Tensor:
    """Mean over all labelled prefixes: [members, batch, length, width], ... -> [members].

    labels: [members, batch, length], -1 where there is none; classes: as for `cross_entropy`.
    """
    scores, labels = scores.flatten(1, 2), labels.flatten(1)
    logs = within_classes(scores, classes).log_softmax(dim=-1)
    own = logs.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    is_labelled = labels >= 0
    return -torch.where(is_labelled, own, 0).sum(dim=1) / is_labelled.sum(dim=1)


def within_classes(scores: Tensor, classes: Tensor) -> Tensor:
    """Scores with minus infinity outside each member's own classes: [members, batch, width]."""
    number = torch.arange(scores.shape[-1], device=scores.device)
    return scores.masked_fill(number >= classes[:, None, None], -torch.inf)


class FusedCrossEntropy(torch.autograd.Function):
    """Cross entropy in one kernel, derivative included."""

    @staticmethod
    def forward(ctx, scores: Tensor, labels: Tensor, classes: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        from ldru.kernels.loss import losses_and_slopes

        losses, slopes = losses_and_slopes(scores, labels, classes)
        ctx.save_for_backward(slopes)
        return losses

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[no-untyped-def]
        (slopes,) = ctx.saved_tensors
        return slopes * gradient[:, None, None], None, None
