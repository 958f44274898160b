"""The loss of a fleet: cross entropy over each member's own classes."""

import torch
from torch import Tensor

from ldru.kernels import support


def cross_entropy(scores: Tensor, labels: Tensor, classes: Tensor) -> Tensor:
    """Mean over the words: [members, batch, width], [members, batch], [members] -> [members].

    classes: how many of the scores each member has; the others do not count.
    """
    return weighted_cross_entropy(scores, labels, scores.new_ones(labels.shape), classes)


def prefix_cross_entropy(scores: Tensor, labels: Tensor, classes: Tensor) -> Tensor:
    """Mean over all labelled prefixes: [members, batch, length, width], ... -> [members].

    labels: [members, batch, length], -1 where there is none; classes: as for `cross_entropy`.
    """
    labels = labels.flatten(1)
    weights = (labels >= 0).to(scores.dtype)
    return weighted_cross_entropy(scores.flatten(1, 2), labels, weights, classes)


def factor_cross_entropy(scores: Tensor, labels: Tensor, sizes: Tensor, classes: Tensor) -> Tensor:
    """Mean over all labelled stretches of words, by their sizes: [members].

    So every level of a tree weighs the same, and a root as much as its leaves together.

    scores: [members, rows, width]; labels, sizes: [members, rows], the label -1 where there is
        none.
    """
    weights = sizes.masked_fill(labels < 0, 0).to(scores.dtype)
    return weighted_cross_entropy(scores, labels, weights, classes)


def weighted_cross_entropy(
    scores: Tensor, labels: Tensor, weights: Tensor, classes: Tensor
) -> Tensor:
    """Mean by weights: [members, rows, width], [members, rows] twice, [members] -> [members].

    labels: anything where the weight is 0.
    """
    weights = weights / weights.sum(dim=1, keepdim=True)
    if support.why_not(scores.device, scores.dtype) is None:
        return FusedCrossEntropy.apply(scores, labels, weights, classes)
    logs = within_classes(scores, classes).log_softmax(dim=-1)
    own = logs.gather(-1, labels.masked_fill(weights == 0, 0)[..., None])[..., 0]
    return -(own * weights).sum(dim=1)


def within_classes(scores: Tensor, classes: Tensor) -> Tensor:
    """Scores with minus infinity outside each member's own classes: [members, batch, width]."""
    number = torch.arange(scores.shape[-1], device=scores.device)
    return scores.masked_fill(number >= classes[:, None, None], -torch.inf)


class FusedCrossEntropy(torch.autograd.Function):
    """The sum of weighted cross entropies in one kernel, derivative by the scores included."""

    @staticmethod
    def forward(ctx, scores: Tensor, labels: Tensor, weights: Tensor, classes: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        from ldru.kernels.loss import losses_and_slopes

        losses, slopes = losses_and_slopes(scores, labels, weights, classes)
        ctx.save_for_backward(slopes)
        return losses

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[no-untyped-def]
        (slopes,) = ctx.saved_tensors
        return slopes * gradient[:, None, None], None, None, None
