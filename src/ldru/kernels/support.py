"""Where Triton kernels can run at all, and how mapped axes join the axis of the members."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from ldru.kernels import gpu

_SWITCH = {"layers": True}  # of the process: backward passes run in threads of their own


def why_not(device: torch.device, dtype: torch.dtype = torch.float32) -> str | None:
    """Why no kernel can run on a device with numbers of a type; None when they can."""
    if not (device.type == "cuda" or is_interpreted()):
        return f"the input is on the {device.type}"
    if dtype != torch.float32:
        return f"the kernels compute in float32, not {str(dtype).removeprefix('torch.')}"
    return gpu.why_not()


def is_interpreted() -> bool:
    """Whether the kernels may run on a CPU, in Triton's interpreter: for tests, for it is slow.

    Triton wants TRITON_INTERPRET=1 before it is imported.
    """
    return os.environ.get("LDRU_INTERPRET_KERNELS") == "1"


def can_run(tensor: Tensor) -> bool:
    """Whether the kernels of single layers compute with such numbers.

    A compiler makes kernels of its own, and without numbers there is nothing to launch.
    """
    is_wanted = _SWITCH["layers"] and not torch.compiler.is_compiling() and tensor.numel() > 0
    return is_wanted and why_not(tensor.device, tensor.dtype) is None


@contextmanager
def without_layer_kernels() -> Iterator[None]:
    """Leave single layers to PyTorch for the length of a block, to compare."""
    _SWITCH["layers"] = False
    try:
        yield
    finally:
        _SWITCH["layers"] = True


def apply_to_all(function: Any, info: Any, in_dims: tuple, *inputs: Any) -> tuple[Any, int]:
    """The rule of `vmap` for a function of all members: a mapped axis joins the members' axis.

    function: a `torch.autograd.Function` of tensors [members, ...] and of numbers, with one result
        or a tuple of them.
    """
    size = info.batch_size
    joined = [
        merged(part, axis, size) if isinstance(part, Tensor) else part
        for part, axis in zip(inputs, in_dims, strict=True)
    ]
    found = tree_map(lambda part: part.unflatten(0, (size, -1)), function.apply(*joined))
    return found, 0


def merged(value: Tensor, axis: int | None, size: int) -> Tensor:
    """[size, members, ...] as [size * members, ...]; what is not mapped is the same for all."""
    value = value.expand(size, *value.shape) if axis is None else value.movedim(axis, 0)
    return value.flatten(0, 1)
