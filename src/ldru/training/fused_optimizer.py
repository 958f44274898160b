"""The optimiser in kernels, for fleets on a GPU."""

import torch
from torch import Tensor

from ldru.kernels import support
from ldru.training.optimizer import Optimizer, StepSizes
from ldru.training.parameters import Layout


class FusedOptimizer(Optimizer):
    """`Optimizer` by `ldru.kernels.optimizer`; see `why_not`."""

    def __init__(self, layout: Layout, like: Tensor, *, sizes: StepSizes) -> None:
        from ldru.kernels.optimizer import CentreTable

        super().__init__(layout, like, sizes=sizes)
        tensors, own = layout.averages(centralise=sizes.centralise)
        self._table = CentreTable(tensors, own, device=like.device)

    def update(self, parameters: Tensor, gradient: Tensor, step: Tensor) -> None:
        from ldru.kernels import optimizer

        norms = optimizer.centre(gradient, parameters, self._table, l2=self.sizes.l2)
        self._decay(parameters, step)
        rates, warmups = self.sizes.learning_rate, self.sizes.warmup_steps
        if self.sizes.decay != "none":  # the kernel knows the warm-up alone
            rates, warmups = self.sizes.rate(step), torch.zeros_like(warmups)
        optimizer.update(
            parameters,
            gradient,
            self.state,
            norms,
            rates,
            warmups,
            step,
            clip=self.sizes.clip,
        )


def why_not(layout: Layout, like: Tensor) -> str | None:
    """Why the kernels cannot take a fleet's steps; None when they can."""
    if reason := support.why_not(like.device, like.dtype):
        return reason
    if layout.has_padding_inside:
        return "a tensor of more than two axes is padded"
    return None


def make_optimizer(layout: Layout, like: Tensor, *, sizes: StepSizes) -> Optimizer:
    """The fastest optimiser that can run."""
    kind = Optimizer if why_not(layout, like) else FusedOptimizer
    return kind(layout, like, sizes=sizes)
