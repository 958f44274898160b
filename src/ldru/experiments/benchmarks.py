"""Timings side by side: every ratio comes from one run, on the machine that is named beside it."""

import platform
import statistics
import time
from collections.abc import Callable, Sequence

import torch

from ldru.config import Json
from ldru.models import LDRUSpec, ModelSpec
from ldru.tasks import task
from ldru.training.capture import CapturedSteps
from ldru.training.fleet import Fleet, Member
from ldru.training.sampling import training_lengths
from ldru.training.spec import TrainSpec

FLOPS_PER_NODE = 3 * 2 * 31
"""Of forward and backward, in units of d^2: 31 d^2 multiplications, twice more going back."""


def machine() -> dict[str, Json]:
    """What the numbers were taken on."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"gpu": gpu, "cpu": platform.machine(), "torch": torch.__version__}


def seconds_per_call(
    call: Callable[[], object], *, calls: int, device: torch.device, times: int = 3
) -> float:
    """The median of some times of `calls` calls, after one to warm up."""
    call()
    seconds = []
    for _ in range(times):
        wait(device)
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        wait(device)
        seconds.append((time.perf_counter() - begin) / calls)
    return statistics.median(seconds)


def bench_fleet(
    *,
    members: Sequence[int] = (1, 3, 15, 48),
    dim: int = 64,
    batch_size: int = 256,
    steps: int = 100,
    device: torch.device,
) -> list[dict[str, Json]]:
    """Training steps of fleets on parity: at length 20, at 40, and lengths as training draws them.

    Each case with the fused kernels and with plain PyTorch; on a GPU both as captured graphs, and
    plain PyTorch also without. A floor is the time of the arithmetic alone at 400 TFLOP/s.
    """
    mixes = {"20": [20] * steps, "40": [40] * steps}
    mixes["1-40"] = training_lengths(0, steps, max_length=40)
    rows: list[dict[str, Json]] = []
    for count in members:
        kinds = (
            {"fused": "auto", "plain": "batched"} if device.type == "cuda" else {"plain": "auto"}
        )
        fleets = {
            name: parity_fleet(
                LDRUSpec(dim=dim, backend=backend), count, batch_size=batch_size, device=device
            )
            for name, backend in kinds.items()
        }
        for mix, lengths in mixes.items():
            row: dict[str, Json] = {"members": count, "lengths": mix}
            for name, fleet in fleets.items():
                row[f"{name}_ms"] = 1e3 * time_steps(fleet, lengths, is_captured=True)
            if device.type == "cuda" and mix == "20":
                row["eager_ms"] = 1e3 * time_steps(fleets["plain"], lengths[:10], is_captured=False)
            best = row[f"{next(iter(kinds))}_ms"]
            row["model_steps_per_second"] = 1e3 * count / best  # type: ignore[operator]
            if "fused" in kinds:
                row["ratio"] = row["plain_ms"] / row["fused_ms"]  # type: ignore[operator]
            nodes = statistics.mean(inner_nodes(length) for length in lengths)
            row["floor_ms"] = 1e3 * count * batch_size * nodes * FLOPS_PER_NODE * dim**2 / 400e12
            rows.append(row)
        del fleets
    return rows


def parity_fleet(spec: ModelSpec, count: int, *, batch_size: int, device: torch.device) -> Fleet:
    """Models of these settings on parity, as the paper trains it."""
    parity = task("parity_check")
    settings = TrainSpec(steps=100_000, batch_size=batch_size).resolved(parity)
    build = spec.resolved(dropout=parity.recommended.dropout).build
    members = [
        Member(name=f"seed{seed}", task=parity, build=build, seed=seed, settings=settings)
        for seed in range(count)
    ]
    return Fleet(members, device=device)


def time_steps(fleet: Fleet, lengths: Sequence[int], *, is_captured: bool) -> float:
    """Seconds a step over these lengths."""
    is_captured = is_captured and fleet.device.type == "cuda"
    step = CapturedSteps(fleet).step if is_captured else fleet.step
    for length in sorted(set(lengths)):
        step(length)

    def all_steps() -> None:
        for length in lengths:
            step(length)

    return seconds_per_call(all_steps, calls=1, device=fleet.device) / len(lengths)


def inner_nodes(length: int) -> int:
    """Nodes that the reduction of a word computes."""
    total = 0
    while length > 1:
        length = (length + 1) // 2
        total += length
    return total


def wait(device: torch.device) -> None:
    """Until the device has done what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
