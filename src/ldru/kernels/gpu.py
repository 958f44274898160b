"""The GPU that kernels run on, as far as they must know it."""

import os
from functools import lru_cache
from typing import NamedTuple

import torch

OLDEST = (8, 0)
"""The first compute capability whose matrix products take TF32."""


class Gpu(NamedTuple):
    """What a launch depends on.

    memory: shared memory that a program may have, in bytes.
    """

    name: str
    is_nvidia: bool
    capability: tuple[int, int]
    processors: int
    memory: int

    def why_not(self) -> str | None:
        """Why the kernels do not run on it; None when they do."""
        if not self.is_nvidia:
            if os.environ.get("LDRU_UNTRIED_KERNELS") == "1":
                return None
            return (
                f"on {self.name}, as on all of AMD's, the kernels have been compiled and never run "
                "(LDRU_UNTRIED_KERNELS=1 tries them)"
            )
        if self.capability < OLDEST:
            ours, oldest = (".".join(map(str, some)) for some in (self.capability, OLDEST))
            return f"{self.name} has compute capability {ours}, the kernels want {oldest}"
        return None

    def precision(self, *, is_tf32: bool) -> str:
        """Triton's name for products of float32: three in TF32 stand for one that is full."""
        if not self.is_nvidia:
            return "ieee"
        return "tf32" if is_tf32 else "tf32x3"


INTERPRETER = Gpu("the interpreter", True, (9, 0), processors=1, memory=227 * 1024)
"""Stands for one without a GPU: as if it were an H200 of one processor."""


def current() -> Gpu:
    """The GPU that the next launch goes to."""
    return _gpu(torch.cuda.current_device()) if torch.cuda.is_available() else INTERPRETER


def layer_precision() -> str:
    """Triton's name for the products of single layers, as PyTorch's setting wants them."""
    is_full = torch.get_float32_matmul_precision() == "highest"
    return "ieee" if is_full else current().precision(is_tf32=True)


@lru_cache
def _gpu(index: int) -> Gpu:
    found = torch.cuda.get_device_properties(index)
    # AMD's have no more than what every program gets.
    memory = getattr(found, "shared_memory_per_block_optin", found.shared_memory_per_block)
    return Gpu(
        found.name,
        torch.version.hip is None,
        (found.major, found.minor),
        processors=found.multi_processor_count,
        memory=memory,
    )
