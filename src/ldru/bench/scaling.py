"""Timings of one model by the length of its words: the LDRU beside PyTorch's own networks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.base.json import Json
from ldru.base.precision import products_in
from ldru.bench.timing import captured, inner_nodes, seconds_per_call, wait
from ldru.models.settings import LDRUSpec

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
        return 31 * dim**2 * inner_nodes(length)

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
    """One length of one model, as a captured graph on a GPU."""
    parameters = list(model.parameters())

    def one_pass() -> None:
        with products_in("tf32", device=device):
            torch.autograd.grad(model(tokens).square().sum(), parameters, materialize_grads=True)

    one_pass()
    peak = 0
    if device.type == "cuda":
        wait(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        one_pass()
        wait(device)
        peak = torch.cuda.max_memory_allocated(device) - before
    call = captured(one_pass) if device.type == "cuda" else one_pass
    once = seconds_per_call(call, calls=1, device=device)
    passes = min(passes, max(8, int(1 / once)))
    seconds = seconds_per_call(call, calls=passes, device=device, times=1)
    return {
        "ms": 1e3 * seconds,
        "passes": passes,
        "words_per_second": len(tokens) / seconds,
        "peak_mib": peak / 2**20,
    }
