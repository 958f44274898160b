"""`ldru bench`."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tyro.conf import Positional

from ldru.cli.printing import print_rows
from ldru.config import Json
from ldru.errors import LdruError, unknown_name
from ldru.experiments.bench_data import STUDIES, Case, bench_data
from ldru.experiments.bench_models import bench_models
from ldru.experiments.bench_scaling import bench_scaling
from ldru.experiments.benchmarks import bench_fleet, machine
from ldru.experiments.figures import BENCHMARK_FIGURES, save_figure
from ldru.experiments.training import find_device
from ldru.files import write_text

QUICK_DATA = {
    "members": (1, 2),
    "cases": (Case(batch_size=4, length=8),),
    "dim": 8,
    "steps": 2,
}
QUICK = {
    "fleet": {"members": (1, 2), "dim": 16, "batch_size": 8, "steps": 3},
    "scaling": {"sizes": ("small",), "lengths": (4, 8), "batch_size": 2, "passes": 2},
    "models": {"names": ("ldru", "rnn"), "batch_size": 4, "words": 4, "steps": 2},
    **dict.fromkeys(STUDIES, QUICK_DATA),
}


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Time things side by side; every ratio comes from one run.

    Args:
        name: fleet (training steps of many LDRUs), scaling (one model by length), models (a step
            and a test word of every architecture), text or listops (a step on such words beside a
            plain loop).
        out: folder for the numbers and the figure; numbers already there are not overwritten.
        device: cpu or cuda; by default a GPU where there is one.
        quick: few and small cases, to see that it works.
        json: print JSON.
    """

    name: Positional[str]
    out: Path = Path("bench")
    device: str | None = None
    quick: bool = False
    json: bool = False

    def __call__(self) -> None:
        benches: dict[str, Callable[..., list[dict[str, Json]]]] = {
            "fleet": bench_fleet,
            "scaling": bench_scaling,
            "models": bench_models,
            **{study: partial(bench_data, study) for study in STUDIES},
        }
        if self.name not in benches:
            raise unknown_name("benchmark", self.name, benches)
        numbers = self.out / f"{self.name}.json"
        if numbers.exists():
            raise LdruError(f"{str(numbers)!r} is already there; choose another folder with --out")
        small = QUICK[self.name] if self.quick else {}
        rows = benches[self.name](device=find_device(self.device), **small)
        data = {"machine": machine(), "rows": rows}
        write_text(numbers, json.dumps(data, indent=1) + "\n")
        save_figure(BENCHMARK_FIGURES[self.name](rows), self.out / f"{self.name}.png")
        shown = [{k: f"{v:.3g}" if isinstance(v, float) else v for k, v in r.items()} for r in rows]
        keys = list(dict.fromkeys(key for row in shown for key in row))
        table = [{key: row.get(key) for key in keys} for row in shown]
        print_rows(rows if self.json else table, as_json=self.json, note=f"written to {self.out}")
