"""Code that the launches of narrow and wide kernels share: levels as views, tilings, precision."""

from dataclasses import dataclass, replace
from functools import lru_cache

import torch
import triton
from torch import Tensor

from ldru.kernels.reduction.fused import Drop


@dataclass(frozen=True)
class Tiling:
    """The shape of one program's work.

    units: how many of the 4 d units of a hidden layer go through at a time; divides 64.
    """

    rows: int
    warps: int
    stages: int
    units: int = 64


@dataclass(frozen=True)
class Settings:
    """The arithmetic of the kernels.

    is_bounded: whether a norm keeps values within the range of float16.
    """

    is_silu: bool
    is_tf32: bool
    is_bounded: bool = True

    @property
    def precision(self) -> str:
        """Triton's name: three TF32 products stand for one in float32."""
        return "tf32" if self.is_tf32 else "tf32x3"

    @property
    def is_half(self) -> bool:
        """Whether operands are float16, which has TF32's mantissa in half the bytes."""
        return self.is_tf32 and self.is_bounded

    @property
    def is_rounded(self) -> bool:
        """Whether operands are float32, rounded to TF32."""
        return self.is_tf32 and not self.is_bounded


@dataclass(frozen=True)
class Level:
    """The inputs of one level of the tree.

    x: [M, B, n, d], contiguous in all but the first axis.
    lengths: nodes of each word at this level [M, B] int32.
    number: counts levels from the leaves, for dropout.
    """

    x: Tensor
    lengths: Tensor | None
    drop: Drop | None
    number: int

    @property
    def nodes(self) -> int:
        return self.x.shape[2]

    @property
    def rows(self) -> int:
        return self.x.shape[1] * ((self.nodes + 1) // 2)

    # What is absent is never read, but a kernel wants some pointer in its place.

    @property
    def lengths_pointer(self) -> Tensor:
        return self.x if self.lengths is None else self.lengths

    @property
    def lengths_stride(self) -> int:
        return 0 if self.lengths is None else self.lengths.stride(0)

    @property
    def drop_pointers(self) -> Drop:
        return (self.x, self.x, self.x) if self.drop is None else self.drop

    @property
    def drop_stride(self) -> int:
        return 0 if self.drop is None else self.drop[0].stride(0)

    @property
    def options(self) -> dict[str, object]:
        return {"HAS_LENGTHS": self.lengths is not None, "DROPOUT": self.drop is not None}


def fitting(wide: Tiling, few: Tiling, rows: int, others: int) -> Tiling:
    """The largest tiling that still gives every processor a program.

    others: how many programs there are for each tile of rows.
    """
    if triton.cdiv(rows, wide.rows) * others >= num_processors():
        return wide
    size = few.rows
    while size > 16 and triton.cdiv(rows, size) * others < num_processors():
        size //= 2
    return replace(few, rows=size)


def slot_count(members: int, tiles: int) -> int:
    """Into how many sums each weight gradient's rows are cut: to fill the processors thrice."""
    programs = tiles * members
    return max(1, min(12, (3 * num_processors() + programs // 2) // programs))


@lru_cache(maxsize=1)
def num_processors() -> int:
    """Multiprocessors of the GPU; one where there is none."""
    if not torch.cuda.is_available():
        return 1
    return torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count
