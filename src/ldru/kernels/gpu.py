"""The GPU that kernels run on, as far as they must know it."""

import importlib.util
import os
from functools import lru_cache
from typing import NamedTuple

import torch

OLDEST = (8, 0)
"""The first compute capability whose matrix products take TF32."""


class Gpu(NamedTuple):
    """A GPU, by all that a launch depends on.

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


def wants_tf32() -> bool:
    """Whether PyTorch's setting allows products of float32 in TF32."""
    return torch.get_float32_matmul_precision() != "highest"


def layer_precision() -> str:
    """Triton's name for the products of single layers, as PyTorch's setting wants them."""
    return current().precision(is_tf32=True) if wants_tf32() else "ieee"


def why_not() -> str | None:
    """Why the kernels do not run here; None when they do."""
    return current().why_not() if _has_triton() else "triton is not installed"


for _asked in (wants_tf32, why_not):
    # A compiler takes the answer for a constant, since it cannot follow the question. It compiles
    # anew where the setting changes. (`torch.compiler.assume_constant_result` does the same, and
    # imports the compiler.)
    vars(_asked)["_dynamo_marked_constant"] = True


@lru_cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None


@lru_cache
def _gpu(index: int) -> Gpu:
    from triton.runtime import driver

    found = torch.cuda.get_device_properties(index)
    return Gpu(
        found.name,
        torch.version.hip is None,
        (found.major, found.minor),
        processors=found.multi_processor_count,
        # By this Triton decides whether a program fits; PyTorch has it in some versions only.
        memory=driver.active.utils.get_device_properties(index)["max_shared_mem"],
    )
