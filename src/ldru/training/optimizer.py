"""The paper's optimiser on the parameter matrix of a fleet; one row, one model.

AMSGrad here is optax's: the running maximum is over the bias-corrected second moment, while
`torch.optim` takes it over the uncorrected one.
"""

import torch
from torch import Tensor

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
FIRST_LEARNING_RATE = 1e-8


class Optimizer:
    """Clip each row's gradient, then take an Adam or AMSGrad step with a warming learning rate.

    learning_rate, warmup_steps: of every member [members, 1].
    """

    def __init__(
        self,
        like: Tensor,
        *,
        learning_rate: Tensor,
        warmup_steps: Tensor,
        clip: float,
        is_amsgrad: bool,
    ) -> None:
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps
        self.clip, self.is_amsgrad = clip, is_amsgrad
        self.state = {
            "first_moment": torch.zeros_like(like),
            "second_moment": torch.zeros_like(like),
        }
        if is_amsgrad:
            self.state["largest_moment"] = torch.zeros_like(like)

    def rate(self, step: Tensor) -> Tensor:
        """The learning rate at a step (from 0): linear over the warm-up, then constant."""
        share = (step / self.warmup_steps.clamp(min=1)).clamp(max=1)
        share = torch.where(self.warmup_steps > 0, share, torch.ones_like(share))
        return FIRST_LEARNING_RATE + (self.learning_rate - FIRST_LEARNING_RATE) * share

    def update(self, parameters: Tensor, gradient: Tensor, step: Tensor) -> None:
        """Change the parameters in place: [members, parameters], `step` [] counts from 0."""
        norm = gradient.square().sum(dim=1, keepdim=True).sqrt()
        gradient = gradient * torch.where(norm < self.clip, 1.0, self.clip / norm)
        first, second = self.state["first_moment"], self.state["second_moment"]
        first.mul_(BETA_1).add_(gradient, alpha=1 - BETA_1)
        second.mul_(BETA_2).addcmul_(gradient, gradient, value=1 - BETA_2)
        count = (step + 1).to(parameters.dtype)
        corrected = second / (1 - BETA_2**count)
        if self.is_amsgrad:
            largest = self.state["largest_moment"]
            corrected = torch.maximum(largest, corrected, out=largest)
        rate = self.rate(step) / (1 - BETA_1**count)
        parameters.sub_(rate * first / (corrected.sqrt() + EPSILON))
