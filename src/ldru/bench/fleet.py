"""Training steps of many LDRUs at once: fused kernels beside plain PyTorch."""

import statistics
from collections.abc import Sequence

import torch

from ldru.base.json import Json
from ldru.bench.timing import inner_nodes, parity_fleet, time_steps
from ldru.models.settings import LDRUSpec
from ldru.training.draws.regular import training_lengths

FLOPS_PER_NODE = 3 * 2 * 31
"""Of forward and backward, in units of d^2: 31 d^2 multiplications, twice more going back."""


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
    plain PyTorch also without. The fastest of these also along random trees. A floor is the time of
    the arithmetic alone at 400 TFLOP/s.
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
            fastest = next(iter(kinds))
            best = row[f"{fastest}_ms"]
            row["random_ms"] = 1e3 * time_steps(
                fleets[fastest], lengths, is_captured=True, is_random=True
            )
            row["random_ratio"] = row["random_ms"] / best  # type: ignore[operator]
            row["model_steps_per_second"] = 1e3 * count / best  # type: ignore[operator]
            if "fused" in kinds:
                row["ratio"] = row["plain_ms"] / row["fused_ms"]  # type: ignore[operator]
            nodes = statistics.mean(inner_nodes(length) for length in lengths)
            row["floor_ms"] = 1e3 * count * batch_size * nodes * FLOPS_PER_NODE * dim**2 / 400e12
            rows.append(row)
        del fleets
    return rows
