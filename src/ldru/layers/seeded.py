"""New modules whose weights depend on a seed alone."""

from collections.abc import Callable

import torch
from torch import nn


def drawn(make: Callable[[], nn.Module], *, seed: int) -> nn.Module:
    """A new module whose weights, and whatever else its making draws, depend on the seed alone.

    PyTorch's default CPU generator is put back as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return make()
