"""How calls and training steps are timed, and on which machine."""

import platform
import statistics
import time
from collections.abc import Callable, Sequence

import torch

from ldru.base.json import Json
from ldru.models.spec import ModelSpec
from ldru.paper.settings import completed
from ldru.tasks.find import task
from ldru.training.capture import CapturedSteps
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.spec import TrainSpec


def machine() -> dict[str, Json]:
    """The machine that the numbers were taken on."""
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


def parity_fleet(spec: ModelSpec, count: int, *, batch_size: int, device: torch.device) -> Fleet:
    """Models of these settings on parity, as the paper trains it."""
    parity = task("parity_check")
    spec, settings = completed(parity, spec, TrainSpec(steps=100_000, batch_size=batch_size))
    members = [
        Member(name=f"seed{seed}", task=parity, build=spec.build, seed=seed, settings=settings)
        for seed in range(count)
    ]
    return Fleet(members, device=device)


def time_steps(
    fleet: Fleet, lengths: Sequence[int], *, is_captured: bool, is_random: bool = False
) -> float:
    """Seconds a step over these lengths, in balanced trees or along random ones."""
    is_captured = is_captured and fleet.device.type == "cuda"
    step = CapturedSteps(fleet).step if is_captured else fleet.step
    for length in sorted(set(lengths)):
        step(length, is_random)

    def all_steps() -> None:
        for length in lengths:
            step(length, is_random)

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


def captured(call: Callable[[], None]) -> Callable[[], None]:
    """A call as a CUDA graph: launches are then no one's cost."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay
