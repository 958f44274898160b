"""Timings side by side: every ratio comes from one run, on the machine that is named beside it."""

import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.config import Json
from ldru.models import LDRUSpec, ModelSpec
from ldru.tasks import task
from ldru.training.capture import CapturedSteps
from ldru.training.fleet import Fleet, Member
from ldru.training.sampling import training_lengths
from ldru.training.spec import TrainSpec, products_in

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
        _wait(device)
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        _wait(device)
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
            nodes = statistics.mean(_nodes(length) for length in lengths)
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


def _nodes(length: int) -> int:
    """Nodes that the reduction of a word computes."""
    total = 0
    while length > 1:
        length = (length + 1) // 2
        total += length
    return total


# ---- scaling with length ----

LENGTHS = tuple(2**power for power in range(2, 17))
LONGEST = {"rnn": 4096, "lstm": 4096, "transformer": 8192}
"""cuDNN refuses longer recurrences, and attention's square would fill the time of a benchmark."""


class Recurrent(nn.Module):
    """PyTorch's own RNN or LSTM (cuDNN on a GPU) with a linear head, for timing."""

    def __init__(self, kind: type[nn.RNN] | type[nn.LSTM], *, dim: int) -> None:
        super().__init__()
        self.rnn = kind(16, dim, batch_first=True)
        self.head = nn.Linear(dim, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.rnn(functional.one_hot(tokens, 16).to(self.head.weight.dtype))
        return self.head(states[:, -1])


class Attention(nn.Module):
    """PyTorch's transformer encoder (scaled dot-product attention) with a head, for timing."""

    def __init__(self, *, layers: int, dim: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(16, dim)
        layer = nn.TransformerEncoderLayer(dim, 8, 4 * dim, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.encoder(self.embedding(tokens))[:, -1])


@dataclass(frozen=True)
class Timed:
    """A model to time, and the multiplications of one word of a length, forward."""

    model: nn.Module
    products: Callable[[int], int]


def scaling_models(size: str) -> dict[str, Timed]:
    """The paper's three sizes of each architecture."""
    dim, hidden, (layers, width) = {
        "small": (64, 400, (3, 64)),
        "medium": (160, 1024, (5, 128)),
        "large": (256, 1600, (6, 192)),
    }[size]
    half = hidden // 2  # an LSTM has four matrices where an RNN has one
    spec = LDRUSpec(dim=dim, dropout=0.0)
    sizes = {"vocab_size": 16, "num_classes": 2}

    def tree(length: int) -> int:
        return 31 * dim**2 * _nodes(length)

    def attention(length: int) -> int:
        return layers * (12 * width**2 * length + 2 * width * length**2)

    return {
        "ldru": Timed(spec.build(**sizes), tree),
        "ldru plain": Timed(replace(spec, backend="batched").build(**sizes), tree),
        "rnn": Timed(Recurrent(nn.RNN, dim=hidden), lambda n: n * hidden * (hidden + 16)),
        "lstm": Timed(Recurrent(nn.LSTM, dim=half), lambda n: 4 * n * half * (half + 16)),
        "transformer": Timed(Attention(layers=layers, dim=width), attention),
    }


def bench_scaling(
    *,
    sizes: Sequence[str] = ("small", "medium", "large"),
    lengths: Sequence[int] = LENGTHS,
    batch_size: int = 32,
    passes: int = 128,
    device: torch.device,
) -> list[dict[str, Json]]:
    """Forward and backward of one model by length: time, words a second, peak memory, GFLOP.

    passes: how many are timed; fewer, but at least 8, where they would take more than a second.
    The operations are counted, not measured: two for a multiplication, three times forward's.
    A model that runs out of memory at a length is left out from there on; see also `LONGEST`.
    """
    rows: list[dict[str, Json]] = []
    for size in sizes:
        for name, timed in scaling_models(size).items():
            model = timed.model.to(device).train()
            for length in lengths:
                if length > LONGEST.get(name, length):
                    break
                tokens = torch.randint(0, 16, (batch_size, length), device=device)
                try:
                    row = _time_pass(model, tokens, passes=passes, device=device)
                except torch.OutOfMemoryError:
                    break
                row["gflop"] = 6 * batch_size * timed.products(length) / 1e9
                rows.append({"size": size, "model": name, "length": length, **row})
            model.cpu()
            if device.type == "cuda":
                torch.cuda.empty_cache()
    return rows


def _time_pass(
    model: nn.Module, tokens: Tensor, *, passes: int, device: torch.device
) -> dict[str, Json]:
    """One length of one model, as a captured graph on a GPU: launches are then no one's cost."""
    parameters = list(model.parameters())

    def one_pass() -> None:
        with products_in("tf32", device=device):
            torch.autograd.grad(model(tokens).square().sum(), parameters, materialize_grads=True)

    one_pass()
    peak = 0
    if device.type == "cuda":
        _wait(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        one_pass()
        _wait(device)
        peak = torch.cuda.max_memory_allocated(device) - before
    call = _captured(one_pass) if device.type == "cuda" else one_pass
    once = seconds_per_call(call, calls=1, device=device)
    passes = min(passes, max(8, int(1 / once)))
    seconds = seconds_per_call(call, calls=passes, device=device, times=1)
    return {
        "ms": 1e3 * seconds,
        "passes": passes,
        "words_per_second": len(tokens) / seconds,
        "peak_mib": peak / 2**20,
    }


def _captured(call: Callable[[], None]) -> Callable[[], None]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
