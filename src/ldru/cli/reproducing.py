"""`ldru reproduce`."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from ldru.cli.printing import print_rows, say
from ldru.config import digest
from ldru.errors import LdruError, unknown_name
from ldru.experiments.board import Board
from ldru.experiments.engines import make_engine
from ldru.experiments.output import write_table
from ldru.experiments.packing import pack, unpack
from ldru.experiments.presets import TABLES
from ldru.experiments.rendering import as_markdown, cell_results
from ldru.experiments.reproduction import FLEET_SIZE, Plan, check_data, make_plan
from ldru.experiments.results import Results, State
from ldru.experiments.table import Table as PaperTable
from ldru.training.distributed import this_process


@dataclass(frozen=True, kw_only=True)
class Reproduce:
    """Rebuild tables of the paper: train and evaluate what is missing, and render from records.

    Stop it at any time; the same command goes on.

    Args:
        names: tables, of those that `ldru reproduce` without a name lists.
        tasks: only these tasks.
        models: only these columns.
        seeds: only these seeds.
        steps_scale: a share of every run's steps; what comes out is marked as scaled.
        engine: local (this machine), ray or submitit (SLURM).
        slurm: what submitit asks of SLURM, such as slurm_partition=gpu gpus_per_node=1.
        out: the results folder.
        device: cpu or cuda; by default a GPU where there is one.
        fleet_size: how many models a fleet has, at most.
        at_once: fleets that this machine works on at once, in as many processes; by default as many
            as it has GPUs.
        plan: only say what would run.
        render: run nothing; write tables and figures from the records that are there.
        pack: gather the finished runs of these tables into a file.
        records_only: leave the weights out of it; tables do not need them.
        unpack: merge the runs of such a file into the results folder.
        json: print JSON.
    """

    names: Positional[tuple[str, ...]] = ()
    tasks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    steps_scale: float = 1.0
    engine: str = "local"
    slurm: tuple[str, ...] = ()
    out: Path = Path("results")
    device: str | None = None
    fleet_size: int = FLEET_SIZE
    at_once: int | None = None
    plan: bool = False
    render: bool = False
    pack: Path | None = None
    records_only: bool = False
    unpack: Path | None = None
    json: bool = False

    def __call__(self) -> None:
        if this_process().size > 1:
            raise LdruError("several processes of torchrun share one `ldru train`; see --engine")
        results = Results(self.out)
        if self.unpack is not None:
            new, known = unpack(self.unpack, results)
            if self.json:
                print(json.dumps({"new": new, "known": known}))
            say(f"{len(new)} runs are new, {len(known)} were there already and stay as they are")
        if not self.names:
            if self.pack is not None:
                raise LdruError("name the tables whose runs are to be packed")
            if self.unpack is None:
                rows = [
                    {"table": t.name, "runs": len(t.runs()), "what": t.caption}
                    for t in TABLES.values()
                ]
                print_rows(rows, as_json=self.json)
            return
        engine = make_engine(
            self.engine, at_once=self.at_once, options=dict(map(_option, self.slurm))
        )
        tables = [self._table(name) for name in self.names]
        if self.pack is not None:
            specs = dict.fromkeys(spec for table in tables for spec in table.runs())
            packed = pack(results, specs, self.pack, has_weights=not self.records_only)
            if self.json:
                print(json.dumps({"packed": packed}))
            say(f"{len(packed)} runs are in {self.pack}")
            return
        plan = make_plan(tables, results, fleet_size=self.fleet_size, device=self.device)
        for found in plan.found.values():
            if found.reason:
                say(f"left alone: {found.reason}")
        counts = ", ".join(f"{plan.count(state)} {state}" for state in State)
        hours = plan.seconds(self.device) / 3600
        say(
            f"{len(plan.found)} runs: {counts}; {plan.model_steps:,} model-steps to train, roughly "
            f"{hours:.1f} h here, in {len(plan.jobs)} fleets:"
        )
        for number, job in enumerate(plan.jobs, start=1):
            say(f"  {number}. {job.title}")
        if self.plan and self.json:
            print(json.dumps({"runs": _states(plan), "fleets": [job.title for job in plan.jobs]}))
            return
        if not self.plan and not self.render:
            check_data(plan.jobs)
            with Board(plan.jobs) as board:
                engine.run(plan.jobs, board)
        for table in tables:
            self._render(table, results)

    def _table(self, name: str) -> PaperTable:
        if name not in TABLES:
            raise unknown_name("table", name, TABLES)
        whole = TABLES[name]
        table = whole.restricted(tasks=self.tasks, columns=self.models, seeds=self.seeds)
        if table != whole:
            part = digest([self.tasks, self.models, self.seeds])[:6]
            table = dataclasses.replace(table, name=f"{name}-part-{part}")
        return table.scaled(self.steps_scale)

    def _render(self, table: PaperTable, results: Results) -> None:
        cells = cell_results(table, results)
        if self.json:
            rows = [
                {"task": task, "column": label, "share": table.share, "seeds": dict(cell.seeds)}
                for (task, label), cell in cells.items()
            ]
            print(json.dumps({"table": table.name, "cells": rows}))
        else:
            print(as_markdown(table, cells))
        if not self.plan:
            write_table(table, results)


def _states(plan: Plan) -> dict[str, str]:
    """What there is of every run, by its name."""
    return {spec.name: str(found.state) for spec, found in plan.found.items()}


def _option(text: str) -> tuple[str, str | int]:
    """An option that is written name=value."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise LdruError(f"an option of SLURM is name=value, got {text!r}")
    return name, int(value) if value.isdigit() else value
