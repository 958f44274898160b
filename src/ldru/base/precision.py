"""The precision in which matrices are multiplied.

PyTorch is imported where it is used: settings name a precision on a command line that starts
without it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Precision = Literal["tf32", "float32", "float64"]
"""tf32 is float32 with products in TF32 on a GPU; the others are full everywhere."""


def dtype_of(precision: Precision) -> "torch.dtype":
    """The type of weights and activations."""
    import torch

    return torch.float64 if precision == "float64" else torch.float32


@contextmanager
def products_in(precision: Precision, *, device: "torch.device") -> Iterator[None]:
    """Multiply float32 matrices in TF32 on a GPU, or not, for the length of a block."""
    if device.type != "cuda":
        yield
        return
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
