"""The device that a name means."""

import torch

from ldru.base.errors import LdruError
from ldru.training.distributed import own_device


def find_device(name: str | None) -> torch.device:
    """A device by name; None takes a GPU where there is one."""
    if name is None:
        return _made_current(own_device())
    if not isinstance(name, str):
        raise LdruError(f"a device is named by text such as cpu or cuda:1, got {name!r}")
    try:
        device = torch.device(name)
    except RuntimeError as problem:
        raise LdruError(f"there is no device {name!r}; give cpu, cuda or cuda:1") from problem
    if device.type == "cuda" and not torch.cuda.is_available():
        raise LdruError(f"device {name!r} was asked for, but PyTorch sees no CUDA device here")
    try:
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, ImportError) as problem:
        raise LdruError(
            f"PyTorch cannot compute on device {name!r} here; give cpu, cuda or cuda:1"
        ) from problem
    return _made_current(device)


def _made_current(device: torch.device) -> torch.device:
    """Kernels are launched on the current GPU, and graphs captured there; "cuda" means that one."""
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    return device
