"""Fleets worked on: trained, evaluated, claimed."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

import ldru
from ldru.models.settings import LDRUSpec
from ldru.paper.settings import LISTOPS
from ldru.paper.table import Column, Row
from ldru.reproduce.plan import Job, make_plan
from ldru.reproduce.render import as_markdown, cell_results
from ldru.reproduce.table_runs import cell_runs, table_runs
from ldru.reproduce.work import work_on
from ldru.runs.pack import pack, unpack
from ldru.runs.results import Results, State
from tests.reproduce.tables import small_table, without, work


def test_working_through_a_plan_fills_the_table_and_nothing_is_done_twice(tmp_path):
    folder, table = Results(tmp_path), small_table()
    plan = make_plan([table], folder)
    work("local", plan.jobs[:1])
    half = make_plan([table], folder)
    assert half.count(State.DONE) == 4
    assert [job.specs for job in half.jobs] == [plan.jobs[1].specs]
    work("local", half.jobs)
    assert not make_plan([table], folder).jobs
    run = ldru.Run.open(folder.runs / cell_runs(table, "dyck_2", "rnn")[1].name)
    mean = 100 * run.record.evaluation.mean_accuracy((5, 6))
    assert cell_results(table, folder)["dyck_2", "rnn"].seeds[1] == pytest.approx(mean)

    other = small_table(lengths=(5, 9))
    assert make_plan([other], folder).count(State.NOT_EVALUATED) == 8
    work("local", make_plan([other], folder).jobs)
    record = ldru.Run.open(run.folder).record
    assert set(record.evaluation.by_part) == {1, 2, 3, 4, 5, 6, 9}
    assert record.evaluation.by_part[5] == run.record.evaluation.by_part[5]


def test_a_table_of_test_sets_is_filled_from_runs_on_a_data_set(tmp_path, small_listops):
    train = replace(LISTOPS, steps=3, batch_size=4, learning_rate=1e-3, validation_words=8)
    sets = ("3,9 5-20", "5,14 21-40")
    rows = {
        "both": Row(task="listops_40", parts=sets),
        "long": Row(task="listops_40", parts=sets[1:]),
        "validation": Row(task="listops_60", parts=("validation",)),
    }
    columns = {
        name: Column(model=LDRUSpec(dim=4), train=replace(train, associativity=weight))
        for name, weight in (("plain", 0.0), ("weak", 0.1), ("strong", 1.0))
    }
    table = small_table(
        name="sets", tasks=tuple(rows), rows=rows, columns=columns, reference=None, reported={}
    )
    folder = Results(tmp_path)
    plan = make_plan([table], folder)
    assert plan.count(State.MISSING) == 12
    assert [len(job.specs) for job in plan.jobs] == [4, 8]  # those without the loss apart
    assert "4 runs of ldru on listops_40 and listops_60, 3 steps" in plan.jobs[0].title
    work("local", plan.jobs)
    assert not make_plan([table], folder).jobs
    cells = cell_results(table, folder)
    for label in columns:
        for seed, spec in cell_runs(table, "both", label).items():
            found = ldru.Run.open(folder.runs / spec.name).evaluate(sets)
            assert cells["both", label].seeds[seed] == pytest.approx(50 * sum(found.values()))
            assert cells["long", label].seeds[seed] == pytest.approx(100 * found[sets[1]])
    text = as_markdown(table, cells)
    assert "12 of 12 runs" in text
    spec = cell_runs(table, "both", "plain")[0]
    path = folder.runs / spec.name / "record.json"
    path.write_text(json.dumps(without(json.loads(path.read_text()), sets[0])))
    holed = as_markdown(table, cell_results(table, folder))
    assert "11 of 12 runs" in holed  # a run with a hole in some row is not done
    assert text.count("| long |") == 1


def test_a_fleet_goes_on_beside_runs_that_are_records_alone(tmp_path):
    table = small_table(tasks=("parity_check",)).restricted(columns=["rnn"])
    first, second = Results(tmp_path / "first"), Results(tmp_path / "second")
    work("local", make_plan([table], first).jobs)
    part = table.restricted(seeds=[0])
    pack(first, table_runs(part), tmp_path / "records.zip", has_weights=False)
    unpack(tmp_path / "records.zip", second)
    (job,) = make_plan([table], second).jobs
    work("local", [job])
    plan = make_plan([table], second)
    assert plan.count(State.DONE) == 2
    assert [second.has_weights(spec) for spec in table_runs(table)] == [False, True]
    assert cell_results(table, second) == cell_results(table, first)
    whole = pack(second, table_runs(table), tmp_path / "whole.zip")  # of what has weights
    assert whole == [spec.name for spec in table_runs(table)[1:]]
    with pytest.raises(ldru.LdruError, match="records without weights"):
        pack(second, table_runs(part), tmp_path / "none.zip")


CLAIM = """
import json, sys, time
from ldru.runs.results import Results
from ldru.runs.spec import RunSpec
spec = RunSpec.from_json(json.loads(sys.argv[2]))
with Results(sys.argv[1]).claimed([spec]) as ours:
    print(len(ours), flush=True)
    time.sleep(60)
"""


def test_another_process_keeps_its_claim_until_it_dies(tmp_path):
    folder, specs = Results(tmp_path), table_runs(small_table())[:2]
    other = subprocess.Popen(
        [sys.executable, "-c", CLAIM, str(tmp_path), json.dumps(specs[0].to_json())],
        stdout=subprocess.PIPE,
        text=True,
    )
    with other:
        assert other.stdout.readline().strip() == "1"
        with folder.claimed(specs) as ours:
            assert ours == specs[1:]
        job = Job(specs=tuple(specs[:1]), parts=(5,), out=str(tmp_path))
        assert work_on(job) == 1
        assert not (folder.runs / specs[0].name).exists()
        os.kill(other.pid, signal.SIGKILL)
    with folder.claimed(specs) as ours:
        assert ours == specs
