"""Code that the launches of narrow and wide kernels share: levels as views, tilings, precision."""

from dataclasses import dataclass

import triton
from torch import Tensor

from ldru.kernels import gpu
from ldru.kernels.reduction.fused import Drop


@dataclass(frozen=True)
class Tiling:
    """The shape of one program's work.

    memory: what a GPU must have for it, shared and in KiB: no less than it takes at width 64.
    units: how many of the 4 d units of a hidden layer go through at a time; divides 64.
    """

    rows: int
    stages: int
    memory: int
    warps: int = 4
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
        """Triton's name."""
        return gpu.current().precision(is_tf32=self.is_tf32)

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


@dataclass(frozen=True)
class Tilings:
    """Shapes that a kernel's programs may have, those preferred first.

    half, full: for operands in float16, and in float32.
    """

    half: tuple[Tiling, ...]
    full: tuple[Tiling, ...]

    def fitting(self, settings: Settings, *, rows: int, others: int) -> Tiling:
        """The first with room on the GPU that gives every processor a program.

        Where there are too few rows for that, the first of the smallest.

        others: how many programs there are for each tile of rows.
        """
        room, processors = self.with_room(settings), gpu.current().processors
        filling = (t for t in room if triton.cdiv(rows, t.rows) * others >= processors)
        return next(filling, min(room, key=lambda tiling: tiling.rows))

    def with_room(self, settings: Settings) -> list[Tiling]:
        """Those whose programs the GPU has enough shared memory for."""
        memory = gpu.current().memory
        found = [t for t in self._of(settings) if t.memory * 1024 <= memory]
        assert found, f"no tiling fits into {memory} bytes"
        return found

    def _of(self, settings: Settings) -> tuple[Tiling, ...]:
        return self.half if settings.is_half else self.full


def slot_count(members: int, tiles: int) -> int:
    """Into how many sums each weight gradient's rows are cut: to fill the processors thrice."""
    programs = tiles * members
    return max(1, min(12, (3 * gpu.current().processors + programs // 2) // programs))
