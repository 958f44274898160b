"""The paper's optimiser on the parameter matrix of a fleet; one row, one model.

AMSGrad here is optax's: the running maximum is over the bias-corrected second moment, while
`torch.optim` takes it over the uncorrected one.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ldru.training.parameters import Layout

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
FIRST_LEARNING_RATE = 1e-8


@dataclass(frozen=True, kw_only=True)
class StepSizes:
    """Rates and weights of each member's step.

    learning_rate, warmup_steps, steps: of every member [members, 1].
    decay: none, cosine or linear, from the end of the warm-up to the last step.
    l2: multiple of the parameters added to the gradient.
    weight_decay: times the rate, share of the parameters taken off.
    clip: largest norm of a row's gradient.
    """

    learning_rate: Tensor
    warmup_steps: Tensor
    steps: Tensor
    decay: str
    l2: float
    weight_decay: float
    clip: float
    centralise: bool
    is_amsgrad: bool

    def rate(self, step: Tensor) -> Tensor:
        """The learning rate at a step (from 0): linear over the warm-up, then as it decays."""
        share = (step / self.warmup_steps.clamp(min=1)).clamp(max=1)
        share = torch.where(self.warmup_steps > 0, share, torch.ones_like(share))
        rate = FIRST_LEARNING_RATE + (self.learning_rate - FIRST_LEARNING_RATE) * share
        if self.decay == "none":
            return rate
        decayed = (step - self.warmup_steps) / (self.steps - self.warmup_steps).clamp(min=1)
        decayed = decayed.clamp(min=0, max=1)
        if self.decay == "linear":
            return rate * (1 - decayed)
        return rate * (1 + torch.cos(torch.pi * decayed)) / 2

    def scalars(self, step: Tensor) -> Tensor:
        """The rate with the first moment's correction, and the second's: [members, 2]."""
        count = (step + 1).double()  # in float32, 1 - 0.999 would be right to four digits only
        rate = self.rate(step) / (1 - BETA_1**count)
        correction = (1 / (1 - BETA_2**count)).expand_as(rate)
        return torch.cat([rate, correction], dim=1).to(self.learning_rate.dtype)


class Optimizer:
    """L2, centring and clipping of each row's gradient, then an Adam or AMSGrad step."""

    def __init__(self, layout: Layout, like: Tensor, *, sizes: StepSizes) -> None:
        self.layout, self.sizes = layout, sizes
        names = ["first_moment", "second_moment"]
        if sizes.is_amsgrad:
            names.append("largest_moment")
        self.state = {name: torch.zeros_like(like) for name in names}

    def update(self, parameters: Tensor, gradient: Tensor, step: Tensor) -> None:
        """Change the parameters in place, and the gradient: [members, parameters].

        step: [] how many steps were taken before.
        """
        gradient.add_(parameters, alpha=self.sizes.l2)
        if self.sizes.centralise:
            self.layout.centre(gradient)
        clip_rows(gradient, self.sizes.clip)
        first, second = self.state["first_moment"], self.state["second_moment"]
        first.mul_(BETA_1).add_(gradient, alpha=1 - BETA_1)
        second.mul_(BETA_2).addcmul_(gradient, gradient, value=1 - BETA_2)
        self._decay(parameters, step)
        rate, correction = self.sizes.scalars(step).unbind(dim=1)
        corrected = second * correction[:, None]
        if self.sizes.is_amsgrad:
            largest = self.state["largest_moment"]
            corrected = torch.maximum(largest, corrected, out=largest)
        parameters.sub_(rate[:, None] * first / (corrected.sqrt() + EPSILON))

    def _decay(self, parameters: Tensor, step: Tensor) -> None:
        """Take their share off the parameters, in place."""
        if self.sizes.weight_decay:
            parameters.mul_(1 - self.sizes.weight_decay * self.sizes.rate(step))


def clip_rows(gradient: Tensor, largest: float) -> None:
    """Scale rows down, in place, whose norm is larger."""
    norm = gradient.square().sum(dim=1, keepdim=True).sqrt()
    gradient.mul_(torch.where(norm < largest, 1.0, largest / norm))
