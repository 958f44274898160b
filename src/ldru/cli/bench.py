"""`ldru bench`."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tyro.conf import Positional

from ldru.base.errors import LdruError, unknown_name
from ldru.base.json import Json
from ldru.base.reading import is_there
from ldru.cli.printing import print_rows

NAMES = ("fleet", "scaling", "models", "text", "listops", "scan")


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Time things side by side; every ratio comes from one run.

    Args:
        name: fleet (training steps of many LDRUs), scaling (one model by length), models (a step
            and a test word of every architecture), text or listops (a step on such words beside a
            plain loop), scan (answers at every position, streams and edits).
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
        if self.name not in NAMES:
            raise unknown_name("benchmark", self.name, NAMES)
        numbers = self.out / f"{self.name}.json"
        if is_there(numbers):
            raise LdruError(f"{str(numbers)!r} is already there; choose another folder with --out")
        from ldru.base.files import write_text
        from ldru.bench.timing import machine
        from ldru.drawing.style import save_figure
        from ldru.figures.benchmarks import BENCHMARK_FIGURES
        from ldru.training.device import find_device

        time = _benchmark(self.name, is_quick=self.quick)
        rows = time(device=find_device(self.device))
        data = {"machine": machine(), "rows": rows}
        write_text(numbers, json.dumps(data, indent=1) + "\n")
        save_figure(BENCHMARK_FIGURES[self.name](rows), self.out / f"{self.name}.png")
        shown = [{k: f"{v:.3g}" if isinstance(v, float) else v for k, v in r.items()} for r in rows]
        keys = list(dict.fromkeys(key for row in shown for key in row))
        table = [{key: row.get(key) for key in keys} for row in shown]
        print_rows(rows if self.json else table, as_json=self.json, note=f"written to {self.out}")


def _benchmark(name: str, *, is_quick: bool) -> Callable[..., list[dict[str, Json]]]:
    """The function that times a benchmark's cases; is_quick: few and small ones."""
    from ldru.bench.data import Case, bench_data
    from ldru.bench.fleet import bench_fleet
    from ldru.bench.models import bench_models
    from ldru.bench.scaling import bench_scaling
    from ldru.bench.scan import bench_scan

    if name == "fleet":
        small: dict = {"members": (1, 2), "dim": 16, "batch_size": 8, "steps": 3}
        return partial(bench_fleet, **small if is_quick else {})
    if name == "scaling":
        small = {"sizes": ("small",), "lengths": (4, 8), "batch_size": 2, "passes": 2}
        return partial(bench_scaling, **small if is_quick else {})
    if name == "models":
        small = {"names": ("ldru", "rnn"), "batch_size": 4, "words": 4, "steps": 2}
        return partial(bench_models, **small if is_quick else {})
    if name == "scan":
        small = {"dim": 8, "batch_size": 2, "length": 20, "symbols": 64, "chunk": 16}
        small |= {"edited": 100, "tokens": 10**4, "passes": 1}
        return partial(bench_scan, **small if is_quick else {})
    small = {"members": (1, 2), "cases": (Case(batch_size=4, length=8),), "dim": 8, "steps": 2}
    return partial(bench_data, name, **small if is_quick else {})


def command(arguments: list[str]) -> type[Bench]:
    return Bench
