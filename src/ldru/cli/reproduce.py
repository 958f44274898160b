"""`ldru reproduce`: plan, run, render, pack, unpack."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import OmitArgPrefixes, Positional

from ldru.base.errors import LdruError, unknown_name
from ldru.base.json import digest
from ldru.cli.printing import print_rows, say
from ldru.evaluation.lengths import parse_lengths
from ldru.reproduce import FLEET_SIZE
from ldru.training.interruption import time_limit

if TYPE_CHECKING:
    from ldru.paper.table import Table
    from ldru.reproduce.plan import Plan
    from ldru.runs.results import Results


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which parts of which tables.

    Args:
        names: tables, of those that `ldru reproduce plan` without a name lists.
        tasks: only these tasks.
        models: only these columns.
        seeds: only these seeds.
        steps_scale: a share of every run's steps; what comes out is marked as scaled.
        lengths: evaluate these lengths instead of the table's, e.g. 50:500:50.
        words: test words of each length, instead of 512.
        out: the results folder.
    """

    names: Positional[tuple[str, ...]] = ()
    tasks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    steps_scale: float = 1.0
    lengths: str | None = None
    words: int | None = None
    out: Path = Path("results")

    def results(self) -> "Results":
        from ldru.runs.results import Results

        return Results(self.out)

    def tables(self) -> "list[Table]":
        """The tables, of which at least one must be named."""
        if not self.names:
            raise LdruError("name a table; `ldru reproduce plan` lists them")
        return [self._table(name) for name in self.names]

    def _table(self, name: str) -> "Table":
        from ldru.paper.tables import TABLES
        from ldru.runs.spec import check_seed

        if name not in TABLES:
            raise unknown_name("table", name, TABLES)
        whole = TABLES[name]
        seeds = [check_seed(seed) for seed in self.seeds]
        table = whole.restricted(tasks=self.tasks, columns=self.models, seeds=seeds)
        chosen = [self.tasks, self.models, self.seeds]
        if self.lengths is not None or self.words is not None:
            lengths = parse_lengths(self.lengths) if self.lengths else ()
            table = table.shortened(lengths, words=self.words)
            chosen += [(self.lengths or "",), (self.words or 0,)]
        if table != whole:
            table = dataclasses.replace(table, name=f"{name}-part-{digest(chosen)[:6]}")
        return table.scaled(self.steps_scale)


@dataclass(frozen=True, kw_only=True)
class PlanTables:
    """Say what there is of some tables, and which fleets would make the rest.

    Args:
        fleet_size: how many models a fleet has, at most.
        device: cpu or cuda; by default a GPU where there is one.
        json: print JSON.
    """

    choice: OmitArgPrefixes[Choice] = field(default_factory=Choice)
    fleet_size: int = FLEET_SIZE
    device: str | None = None
    json: bool = False

    def __call__(self) -> None:
        if self.choice == Choice(out=self.choice.out):
            _list_tables(as_json=self.json)
            return
        tables, results = self.choice.tables(), self.choice.results()
        plan = _plan(tables, results, fleet_size=self.fleet_size, device=self.device)
        if self.json:
            states = {spec.name: str(found.state) for spec, found in plan.found.items()}
            print(json.dumps({"runs": states, "fleets": [job.title for job in plan.jobs]}))
            return
        for table in tables:
            _print_table(table, results, as_json=False)


@dataclass(frozen=True, kw_only=True)
class RunTables:
    """Train and evaluate what is missing of some tables, then render them.

    Stop it at any time; the same command goes on.

    Args:
        engine: local (this machine), ray or submitit (SLURM).
        slurm: what submitit asks of SLURM, such as slurm_partition=gpu gpus_per_node=1.
        device: cpu or cuda; by default a GPU where there is one.
        fleet_size: how many models a fleet has, at most.
        at_once: fleets that this machine works on at once, in as many processes; by default as many
            as it has GPUs.
        max_hours: stop after so many hours, with checkpoints and the exit code 75; jobs that were
            sent to a cluster go on.
        json: print JSON.
    """

    choice: OmitArgPrefixes[Choice] = field(default_factory=Choice)
    engine: str = "local"
    slurm: tuple[str, ...] = ()
    device: str | None = None
    fleet_size: int = FLEET_SIZE
    at_once: int | None = None
    max_hours: float | None = None
    json: bool = False

    def __call__(self) -> None:
        with time_limit(hours=self.max_hours):
            self._run()

    def _run(self) -> None:
        from ldru.reproduce.board import Board
        from ldru.reproduce.engines import make_engine
        from ldru.reproduce.plan import check_data
        from ldru.training.distributed import this_process

        if this_process().size > 1:
            raise LdruError("several processes of torchrun share one `ldru train`; see --engine")
        engine = make_engine(
            self.engine, at_once=self.at_once, options=dict(map(_option, self.slurm))
        )
        tables, results = self.choice.tables(), self.choice.results()
        plan = _plan(tables, results, fleet_size=self.fleet_size, device=self.device)
        check_data(plan.jobs)
        with Board(plan.jobs) as board:
            engine.run(plan.jobs, board)
        _render(tables, results, as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class RenderTables:
    """Write tables and figures from the records that are there; run nothing.

    Args:
        json: print JSON.
    """

    choice: OmitArgPrefixes[Choice] = field(default_factory=Choice)
    json: bool = False

    def __call__(self) -> None:
        _render(self.choice.tables(), self.choice.results(), as_json=self.json)


@dataclass(frozen=True, kw_only=True)
class PackRuns:
    """Gather the finished runs of some tables into one file.

    Args:
        file: a new zip file.
        records_only: leave the weights out of it; tables do not need them.
        json: print JSON.
    """

    choice: OmitArgPrefixes[Choice] = field(default_factory=Choice)
    file: Path
    records_only: bool = False
    json: bool = False

    def __call__(self) -> None:
        from ldru.reproduce.table_runs import table_runs
        from ldru.runs.pack import pack

        tables = self.choice.tables()
        specs = dict.fromkeys(spec for table in tables for spec in table_runs(table))
        packed = pack(self.choice.results(), specs, self.file, has_weights=not self.records_only)
        if self.json:
            print(json.dumps({"packed": packed}))
        say(f"{_counted(len(packed))} in {self.file}")


@dataclass(frozen=True, kw_only=True)
class UnpackRuns:
    """Merge the runs of a packed file into a results folder.

    Args:
        file: what `ldru reproduce pack` wrote.
        out: the results folder.
        json: print JSON.
    """

    file: Positional[Path]
    out: Path = Path("results")
    json: bool = False

    def __call__(self) -> None:
        from ldru.runs.pack import unpack
        from ldru.runs.results import Results

        new, known = unpack(self.file, Results(self.out))
        if self.json:
            print(json.dumps({"new": new, "known": known}))
        say(f"{_counted(len(new))} new; already there, and left as they are: {len(known)}")


def command(arguments: list[str]) -> Mapping[str, type]:
    commands = {
        "plan": PlanTables,
        "run": RunTables,
        "render": RenderTables,
        "pack": PackRuns,
        "unpack": UnpackRuns,
    }
    first = arguments[0] if arguments else "--help"
    if not first.startswith("-") and first not in commands:
        raise unknown_name("command of `ldru reproduce`", first, commands)
    return commands


def _list_tables(*, as_json: bool) -> None:
    from ldru.paper.tables import TABLES
    from ldru.reproduce.table_runs import table_runs

    rows = [
        {"table": table.name, "runs": len(table_runs(table)), "what": table.caption}
        for table in TABLES.values()
    ]
    print_rows(rows, as_json=as_json)


def _plan(
    tables: "list[Table]", results: "Results", *, fleet_size: int, device: str | None
) -> "Plan":
    """Plan the work and describe it on standard error."""
    from ldru.reproduce.plan import make_plan
    from ldru.runs.results import State

    plan = make_plan(tables, results, fleet_size=fleet_size, device=device)
    for found in plan.found.values():
        if found.reason:
            say(f"left alone: {found.reason}")
    counts = ", ".join(f"{plan.count(state)} {state}" for state in State)
    say(
        f"runs: {counts}; {plan.model_steps:,} model-steps to train, roughly "
        f"{_duration(plan.seconds(device))} here with evaluation; fleets: {len(plan.jobs)}"
    )
    for number, job in enumerate(plan.jobs, start=1):
        say(f"  {number}. {job.title}")
    return plan


def _duration(seconds: float) -> str:
    """A time for people, in one unit."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def _render(tables: "Iterable[Table]", results: "Results", *, as_json: bool) -> None:
    """Print tables, and write them with their figures under the results folder."""
    from ldru.figures.studies import write_study_figure
    from ldru.reproduce.render import write_table

    for table in tables:
        _print_table(table, results, as_json=as_json)
        write_table(table, results)
        write_study_figure(table, results)


def _print_table(table: "Table", results: "Results", *, as_json: bool) -> None:
    from ldru.reproduce.render import as_markdown, cell_results

    cells = cell_results(table, results)
    if not as_json:
        print(as_markdown(table, cells))
        return
    rows = [
        {"task": task, "column": label, "share": table.share, "seeds": dict(cell.seeds)}
        for (task, label), cell in cells.items()
    ]
    print(json.dumps({"table": table.name, "cells": rows}))


def _counted(runs: int) -> str:
    return "1 run is" if runs == 1 else f"{runs} runs are"


def _option(text: str) -> tuple[str, str | int]:
    """An option that is written name=value."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise LdruError(f"an option of SLURM is name=value, got {text!r}")
    return name, int(value) if value.isdigit() else value
