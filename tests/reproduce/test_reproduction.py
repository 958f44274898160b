"""Tables rebuilt: plans, fleets, claims, records and what is rendered from them."""

import contextlib
import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import ldru
from ldru.evaluation.statistics import p_value
from ldru.figures.studies import STUDY_FIGURES
from ldru.models.settings import LDRUSpec, RNNSpec
from ldru.paper.settings import LISTOPS
from ldru.paper.table import Column, Reported, Row, Table
from ldru.paper.tables import TABLES
from ldru.reproduce.board import Board
from ldru.reproduce.engines import make_engine
from ldru.reproduce.engines.local import LocalEngine, placed
from ldru.reproduce.engines.submitit import SubmititEngine
from ldru.reproduce.plan import Job, make_plan
from ldru.reproduce.render import as_csv, as_latex, as_markdown, cell_results
from ldru.reproduce.table_runs import cell_runs, table_runs
from ldru.reproduce.work import work_on
from ldru.runs.pack import pack, unpack
from ldru.runs.results import Results, State
from ldru.training.spec import TrainSpec

TRAIN = TrainSpec(
    steps=4, batch_size=4, max_length=4, validation_words=4, validation_length=6, validate_every=2
)


def small_table(**changes):
    table = Table(
        name="small",
        caption="For tests.",
        tasks=("parity_check", "dyck_2"),
        columns={
            "ldru": Column(model=LDRUSpec(dim=4), train=TRAIN),
            "rnn": Column(model=RNNSpec(dim=4), train=TRAIN),
        },
        seeds=(0, 1),
        lengths=(5, 6),
        reference="ldru",
        reported={("parity_check", "ldru"): Reported(mean=99.25, std=0.5, seeds=(98.0, 100.0))},
    )
    return replace(table, **changes)


def work(engine, jobs):
    engine = make_engine(engine) if isinstance(engine, str) else engine
    with Board(jobs) as board:
        engine.run(jobs, board)
    return board


def without(record, part):
    """A record as it was before it was evaluated on a set."""
    kept = {name: found for name, found in record["evaluation"].items() if name != part}
    return {**record, "evaluation": kept}


def one_run():
    return small_table(tasks=("parity_check",), seeds=(0,)).restricted(columns=["rnn"])


def with_few_words(monkeypatch):
    """Runs count as evaluated with eight words of each length."""
    monkeypatch.setattr("ldru.reproduce.work.WORDS", 8)
    monkeypatch.setattr("ldru.runs.results.WORDS", 8)


@pytest.fixture(autouse=True)
def few_words(monkeypatch):
    with_few_words(monkeypatch)


@pytest.mark.parametrize("name", TABLES)
def test_presets_have_the_papers_numbers_beside_every_cell(name):
    table = TABLES[name]
    cells = {(task, label) for task in table.tasks for label in table.columns}
    if ("sweep" in name and name != "regular_gpt_sweep") or "subset" in name:
        # The paper prints what it chose, no accuracies; subsets are not comparable.
        assert not table.reported
    else:
        # But for what the paper has not tried, or not printed (GLUE's F1).
        ours = {"leaf_block", *(label for label in TABLES["l2"].columns if label != "0.0005")}
        holes = cells - set(table.reported)
        assert all(label in ours or row in {"mrpc_f1", "qqp_f1"} for row, label in holes)
    tasks = {table.row(row).task for row in table.tasks}
    runs = table_runs(table)
    assert len(set(runs)) == len(runs) == len(tasks) * len(table.columns) * len(table.seeds)
    assert all(spec.train.steps and spec.train.learning_rate for spec in table_runs(table))


def test_the_central_table_is_the_papers():
    table = TABLES["central"]
    assert (len(table.tasks), len(table.columns)) == (21, 11)
    ldru_runs = table_runs(table.restricted(columns=["ldru"]))
    assert sum(spec.train.steps for spec in ldru_runs) == 19_800_000
    rates = {spec.train.learning_rate for spec in table_runs(table.restricted(columns=["sd_ssm"]))}
    assert rates == {1e-4}
    assert table.reported["dyck_6", "ldru"].mean == 98.5
    assert set(table_runs(table)) == set(table_runs(TABLES["central_id"]))


def test_the_board_says_what_is_done_running_and_left(tmp_path, capsys):
    plan = make_plan([small_table(seeds=(0, 1, 2))], Results(tmp_path), fleet_size=4)
    assert [len(job.specs) for job in plan.jobs] == [4, 2, 4, 2]
    board = work("local", plan.jobs)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("started 4 runs of ldru on dyck_2 and parity_check")
    assert [line.split("; ")[1] for line in lines[:3]] == [
        "runs: 0 done, 4 running, 8 left",
        "runs: 4 done, 0 running, 8 left",
        "runs: 4 done, 2 running, 6 left",
    ]
    assert board.summary == "runs: 12 done, 0 running, 0 left"


def test_the_board_counts_model_steps_of_members_that_end_early(tmp_path):
    table = small_table()
    short = replace(table_runs(table)[0], train=replace(TRAIN, steps=2, learning_rate=1e-3))
    job = Job(specs=(table_runs(table)[1], short), parts=(5,), out=str(tmp_path))
    board = Board([job])
    watcher = board.start(job)
    (total,) = board._progress.tasks
    watcher.on_steps(3, {"a": 1.0})
    assert (total.completed, total.total) == (3 + 2, 4 + 2)
    board.finish(job)
    assert total.completed == 6


def test_the_listops_tables_are_the_papers():
    full = TABLES["listops_1m"]
    assert (len(full.tasks), len(full.columns)) == (22, 7)
    assert set(table_runs(full)) == set(table_runs(TABLES["listops"]))
    assert set(full.reported) == {(row, label) for row in full.tasks for label in full.columns}
    # The paper's summary is the mean of its full table, to a digit.
    for (row, label), cell in TABLES["listops"].reported.items():
        parts = TABLES["listops"].row(row).parts
        mean = sum(full.reported[part, label].mean for part in parts) / len(parts)
        assert cell.mean == pytest.approx(mean, abs=0.11), (row, label)
    by_model = {label: cell_runs(full, "3,9 5-20", label)[0].train for label in full.columns}
    assert {train.steps for train in by_model.values()} == {200_000}
    assert {train.l2 for train in by_model.values()} == {0.0}
    assert {label: train.learning_rate for label, train in by_model.items()} == {
        **{"rir_grc": 1e-3, "bbt_grc": 1e-3, "ldru": 2.5e-4, "lstm": 1e-4},
        **{f"transformer_{kind}": 5e-5 for kind in ("alibi", "nope", "sinusoidal")},
    }
    assert {label for label, train in by_model.items() if train.associativity} == {"ldru"}
    assert {label for label, train in by_model.items() if train.weight_decay} == {
        "rir_grc",
        "bbt_grc",
    }
    ablation = TABLES["listops_associativity"]
    assert [spec.train.associativity for spec in table_runs(ablation)] == [
        0,
        0.1,
        0.25,
        0.5,
        1,
        2,
        5,
    ]
    assert {spec.seed for spec in table_runs(ablation)} == {1}
    assert len(table_runs(TABLES["listops_sweep"])) == 119  # one setting is in both of its parts


def test_a_plan_groups_what_could_train_together(tmp_path):
    plan = make_plan([small_table()], Results(tmp_path))
    assert plan.count(State.MISSING) == 8
    assert plan.model_steps == 32
    assert [len(job.specs) for job in plan.jobs] == [4, 4]
    assert plan.jobs[0].parts == (1, 2, 3, 4, 5, 6)
    parts = make_plan([small_table()], Results(tmp_path), fleet_size=3).jobs
    assert [len(job.specs) for job in parts] == [3, 1, 3, 1]
    assert Job.from_json(json.loads(json.dumps(plan.jobs[0].to_json()))) == plan.jobs[0]


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


def test_an_evaluation_on_fewer_words_does_not_fill_a_table(tmp_path):
    table, folder = one_run(), Results(tmp_path)
    work("local", make_plan([table], folder).jobs)
    (spec,) = table_runs(table)
    assert folder.recorded_evaluation(spec, table.lengths) is not None
    run = ldru.Run.open(folder.runs / spec.name)
    run.with_evaluation(run.compute_evaluation([5], words=7))
    assert folder.recorded_evaluation(spec, table.lengths) is None
    assert make_plan([table], folder).count(State.NOT_EVALUATED) == 1


def test_estimates_know_data_sets_from_drawn_words(tmp_path):
    drawn, read = TABLES["central"], TABLES["listops_1m"]
    per_step = {}
    for name, table in (("drawn", drawn), ("read", read)):
        plan = make_plan([table.restricted(columns=["ldru"])], Results(tmp_path))
        per_step[name] = plan.seconds("cpu") / plan.model_steps
    assert per_step == pytest.approx({"drawn": 0.1, "read": 0.5})


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
    with pytest.raises(ldru.LdruError, match="came here without its weights"):
        pack(second, table_runs(table), tmp_path / "whole.zip")


def test_a_record_that_does_not_belong_is_left_alone(tmp_path):
    folder, table = Results(tmp_path), one_run()
    work("local", make_plan([table], folder).jobs)
    (spec,) = table_runs(table)
    path = folder.runs / spec.name / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "digest": "0" * 64}))
    kept = path.read_bytes()
    plan = make_plan([table], folder)
    assert plan.count(State.UNREADABLE) == 1
    assert "00000000" in next(iter(plan.found.values())).reason
    assert not plan.jobs
    assert path.read_bytes() == kept
    assert "| - |" in as_markdown(table, cell_results(table, folder))


def test_scaled_runs_are_other_runs_and_say_so(tmp_path):
    table = small_table().scaled(0.5)
    assert {spec.train.steps for spec in table_runs(table)} == {2}
    assert not set(table_runs(table)) & set(table_runs(small_table()))
    cells = cell_results(table, Results(tmp_path))
    assert "small-scaled-0.5" in as_markdown(table, cells)
    assert "SCALED to 0.5" in as_markdown(table, cells)
    assert "SCALED to 0.5" in as_latex(table, cells)
    assert ",0.5," in as_csv(table, cells)
    with pytest.raises(ldru.LdruError, match="share in"):
        small_table().scaled(2)


def test_unknown_cells_list_the_known():
    with pytest.raises(ldru.LdruError, match=r"unknown task of small 'parity'.*dyck_2"):
        small_table().restricted(tasks=["parity"])
    with pytest.raises(ldru.LdruError, match=r"unknown model of small 'lstm'.*rnn"):
        small_table().restricted(columns=["lstm"])
    with pytest.raises(ldru.LdruError, match=r"unknown engine 'dask'.*submitit"):
        make_engine("dask")


def test_rendering_shows_ours_the_papers_and_holes(tmp_path):
    folder, table = Results(tmp_path), small_table()
    part = table.restricted(columns=["ldru"], seeds=[0])
    work("local", make_plan([part], folder).jobs)
    cells = cell_results(table, folder)
    markdown, latex = as_markdown(table, cells), as_latex(table, cells)
    assert "[1 of 2 seeds] (99.2 ± 0.5)" in markdown
    assert "2 of 8 runs" in markdown
    assert "| - |" in markdown
    assert r"parity\_check" in latex
    assert r"$\pm$" in latex
    rows = as_csv(table, cells).splitlines()
    assert rows[0].startswith("table,steps_share,task")
    assert "small,1,parity_check,ldru,1,,100.0" in rows


@pytest.mark.parametrize("values", [[97.0, 99.5, 98.0], [100.0, 99.0, 98.0], [3.0, -2.0, 4.0, 1.0]])
def test_the_p_value_is_both_of_the_papers_tests(values):
    one_sample = stats.ttest_1samp(values, 100).pvalue
    assert p_value([value - 100 for value in values]) == pytest.approx(one_sample)
    other = [math.sin(value) for value in values]
    differences = [a - b for a, b in zip(values, other, strict=True)]
    assert p_value(differences) == pytest.approx(stats.ttest_rel(values, other).pvalue)
    assert p_value([0.0, 0.0, 0.0]) == 1
    assert p_value([-5.0, -5.0, -5.0]) == 0


def test_packed_runs_are_merged_and_nothing_is_overwritten(tmp_path):
    here, there, table = Results(tmp_path / "here"), Results(tmp_path / "there"), one_run()
    work("local", make_plan([table], here).jobs)
    file = tmp_path / "runs.zip"
    names = pack(here, table_runs(table), file)
    assert len(names) == 1
    with pytest.raises(ldru.LdruError, match="not overwritten"):
        pack(here, table_runs(table), file)
    assert unpack(file, there) == (names, [])
    assert not make_plan([table], there).jobs
    marker = there.runs / names[0] / "log.jsonl"
    marker.write_text("")
    assert unpack(file, there) == ([], names)
    assert marker.read_text() == ""
    records = tmp_path / "records.zip"
    bare = Results(tmp_path / "bare")
    ldru.train("parity_check", model=RNNSpec(dim=4), settings=TRAIN, out=bare.runs)
    with pytest.raises(ldru.LdruError, match="not evaluated yet"):
        pack(bare, table_runs(table), tmp_path / "bare.zip", has_weights=False)
    pack(here, table_runs(table), records, has_weights=False)
    for is_same in (True, False):
        other = Results(tmp_path / f"other-{is_same}")
        unpack(records, other)
        weights = other.runs / names[0] / "weights.safetensors"
        assert not weights.exists()
        if not is_same:
            (other.runs / names[0] / "log.jsonl").write_text("")
        assert unpack(file, other) == ([], names)
        assert weights.exists() is is_same
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    with pytest.raises(ldru.LdruError, match="no file of packed runs"):
        unpack(tmp_path / "bad.zip", there)


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


def test_submitit_gives_records_of_the_same_form(tmp_path):
    pytest.importorskip("submitit")
    here, there, table = Results(tmp_path / "here"), Results(tmp_path / "there"), one_run()
    work("local", make_plan([table], here).jobs)
    work(SubmititEngine(cluster="local"), make_plan([table], there).jobs)
    (spec,) = table_runs(table)
    ours, theirs = (
        json.loads((folder.runs / spec.name / "record.json").read_text())
        for folder in (here, there)
    )
    assert ours.keys() == theirs.keys()
    assert ours["final"] == theirs["final"]
    assert set(ours["evaluation"]) == set(theirs["evaluation"])


def workers(folder):
    """Processes of submitit's that work on jobs of a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it may have ended since
            words = path.read_bytes().decode().split("\0")
            if "submitit.core._submit" in words and any(str(folder) in word for word in words):
                found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for workers in /proc")
def test_a_worker_killed_in_the_middle_is_sent_the_job_again(tmp_path):
    pytest.importorskip("submitit")
    column = Column(model=RNNSpec(dim=4), train=replace(TRAIN, steps=1000, validate_every=500))
    table = replace(one_run(), columns={"rnn": column})
    here, there = Results(tmp_path / "here"), Results(tmp_path / "there")
    work("local", make_plan([table], here).jobs)
    killed = []

    def kill_the_first():
        while not killed:
            if (there.folder / ".claims").exists():  # it has begun to work
                killed.extend(workers(there.folder))
                for worker in killed:
                    os.kill(worker, signal.SIGKILL)
            time.sleep(0.05)

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    work(SubmititEngine(cluster="local"), make_plan([table], there).jobs)
    killer.join()
    (spec,) = table_runs(table)
    assert len(killed) == 1
    assert len(list((there.folder / ".jobs").glob("*_submitted.pkl"))) == 2
    weights = [(folder.runs / spec.name / "weights.safetensors") for folder in (here, there)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def long_table():
    """Two fleets that take seconds."""
    train = replace(TRAIN, steps=1000, validate_every=500)
    columns = {name: replace(c, train=train) for name, c in small_table().columns.items()}
    return small_table(columns=columns, tasks=("parity_check",), seeds=(0,))


def test_fleets_side_by_side_give_the_same_runs_though_a_worker_is_killed(tmp_path, capsys):
    table = long_table()
    here, there = Results(tmp_path / "here"), Results(tmp_path / "there")
    work("local", make_plan([table], here).jobs)
    capsys.readouterr()
    killed = []

    def kill_one():
        deadline = time.monotonic() + 60
        while not killed and time.monotonic() < deadline:
            some = multiprocessing.active_children()
            if len(some) == 2 and len(list((there.folder / ".claims").glob("*"))) == 2:
                some[0].kill()
                killed.append(some[0].pid)
            time.sleep(0.02)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    board = work(LocalEngine(at_once=2), make_plan([table], there).jobs)
    killer.join()
    assert killed
    assert "runs: 0 done, 2 running, 0 left" in capsys.readouterr().err
    assert board.summary == "runs: 2 done, 0 running, 0 left"
    (total,) = board._progress.tasks
    assert total.completed == total.total == 2000
    for spec in table_runs(table):
        parts = [folder.runs / spec.name / "weights.safetensors" for folder in (here, there)]
        assert parts[0].read_bytes() == parts[1].read_bytes()
        record = json.loads((there.runs / spec.name / "record.json").read_text())
        assert set(record["evaluation"]) == {"1", "2", "3", "4", "5", "6"}


SIDE_BY_SIDE = """
import multiprocessing, sys, threading, time
from ldru.reproduce.board import Board
from ldru.reproduce.engines.local import LocalEngine, placed
from ldru.reproduce.plan import make_plan
from ldru.runs.results import Results
from tests.reproduce.test_reproduction import long_table

def say():
    while len(multiprocessing.active_children()) < 2:
        time.sleep(0.05)
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)

if __name__ == "__main__":
    threading.Thread(target=say, daemon=True).start()
    jobs = make_plan([long_table()], Results(sys.argv[1])).jobs
    with Board(jobs) as board:
        LocalEngine(at_once=2).run(jobs, board)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for workers in /proc")
def test_workers_end_with_the_process_that_started_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SIDE_BY_SIDE)
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "results")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as parent:
        workers = [int(number) for number in parent.stdout.readline().split()]
        assert len(workers) == 2
        parent.kill()
    for _ in range(600):
        if not any(is_alive(worker) for worker in workers):
            return
        time.sleep(0.05)
    pytest.fail("a worker lives on")


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except OSError:
        return False


def test_runs_of_another_process_are_named(tmp_path, capsys):
    folder, table = Results(tmp_path), one_run()
    with folder.claimed(table_runs(table)):
        work("local", make_plan([table], folder).jobs)
    said = capsys.readouterr().err
    assert "another process works on 1 of: 1 run of rnn on parity_check" in said
    assert folder.find(table_runs(table)[0], [5]).state is State.MISSING


@pytest.mark.parametrize(("gpus", "devices"), [(0, [None, None]), (2, ["cuda:0", "cuda:1"])])
def test_jobs_go_to_the_gpus_in_turn(tmp_path, monkeypatch, gpus, devices):
    monkeypatch.setattr("torch.cuda.device_count", lambda: gpus)
    jobs = make_plan([small_table()], Results(tmp_path)).jobs
    assert [placed(job, place).device for place, job in enumerate(jobs)] == devices
    elsewhere = replace(jobs[0], device="cpu")
    assert placed(elsewhere, 1) == elsewhere
    assert LocalEngine().count(jobs) == max(1, gpus)
    assert LocalEngine().count([elsewhere]) == 1
    assert LocalEngine(at_once=5).count(jobs) == 5


def test_a_worker_that_always_ends_is_given_up(tmp_path, monkeypatch):
    jobs = make_plan([small_table()], Results(tmp_path)).jobs
    monkeypatch.setattr("ldru.reproduce.engines.local._work", os._exit)
    monkeypatch.setattr(Job, "to_json", lambda self: 3)
    engine = LocalEngine(at_once=2)
    with pytest.raises(ldru.LdruError, match="ended 3 times, last with exit status"):
        work(engine, jobs)


def test_a_fleet_side_by_side_that_cannot_work_says_why(tmp_path):
    jobs = make_plan([small_table()], Results(tmp_path), device="nowhere").jobs
    with pytest.raises(
        ldru.LdruError, match=r"the fleet of .* failed: there is no device 'nowhere'"
    ):
        work(LocalEngine(at_once=2), jobs)
    assert not multiprocessing.active_children()
    with pytest.raises(ldru.LdruError, match="at least one fleet is worked on at once, got 0"):
        make_engine("local", at_once=0)
    with pytest.raises(ldru.LdruError, match="an option of the local engine, not of ray"):
        make_engine("ray", at_once=2)
    slurm = make_engine("submitit", options={"slurm_partition": "gpu"})
    assert slurm.options == {"slurm_partition": "gpu"}


def test_ray_gives_records_of_the_same_form(tmp_path):
    pytest.importorskip("ray", reason="ray is large and in no development install")
    from ldru.reproduce.engines.ray import RayEngine

    here, there, table = Results(tmp_path / "here"), Results(tmp_path / "there"), one_run()
    work("local", make_plan([table], here).jobs)
    work(RayEngine(), make_plan([table], there).jobs)
    (spec,) = table_runs(table)
    weights = [(folder.runs / spec.name / "weights.safetensors") for folder in (here, there)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_submitit_gives_up_with_the_reason_and_the_logs(tmp_path, monkeypatch):
    pytest.importorskip("submitit")
    monkeypatch.setattr("ldru.reproduce.engines.submitit.TRIES", 1)
    (spec,) = table_runs(one_run())
    job = Job(specs=(spec,), parts=(5,), out=str(tmp_path), device="nowhere")
    with pytest.raises(ldru.LdruError, match=r"failed 1 times.*nowhere.*logs are in"):
        work(SubmititEngine(cluster="local"), [job])


@pytest.mark.parametrize("kind", ["accuracy", "training_length", "optimizers"])
def test_figures_are_drawn_from_what_is_there(kind, tmp_path):
    folder = Results(tmp_path)
    table = small_table(
        tasks=("parity_check",),
        columns={
            f"ldru-{length}": Column(
                model=LDRUSpec(dim=4), train=replace(TRAIN, max_length=length, steps=8)
            )
            for length in (4, 5, 6)
        },
        lengths=(5, 6, 7),
        figure=kind,
        reported={("parity_check", f"ldru-{n}"): Reported(mean=90.0 + n) for n in (4, 5, 6)},
    )
    work("local", make_plan([table], folder).jobs[:2])
    figure = STUDY_FIGURES[kind](table, folder)
    drawn = sum(len(axes.lines) for axes in figure.axes)
    assert drawn == {"accuracy": 4, "training_length": 4, "optimizers": 10}[kind]
    figure.savefig(tmp_path / "figure.png")


def test_the_figure_of_listops_has_each_test_set_where_it_belongs(tmp_path, small_listops):
    sets = ("3,9 5-20", "3,9 21-40", "5,14 21-40", "5,14 41-60")
    train = replace(LISTOPS, steps=3, batch_size=4, learning_rate=1e-3, validation_words=8)
    columns = {f"{dim}": Column(model=LDRUSpec(dim=dim), train=train) for dim in (4, 5)}
    table = small_table(
        tasks=sets,
        rows={name: Row(task="listops_40", parts=(name,)) for name in sets},
        columns=columns,
        reference=None,
        reported={
            (name, label): Reported(mean=10.0 * number + int(label))
            for number, name in enumerate(sets)
            for label in columns
        },
    )
    folder, only = Results(tmp_path), table.restricted(columns=["4"])
    work("local", make_plan([only], folder).jobs)
    runs = [ldru.Run.open(folder.runs / spec.name) for spec in table_runs(only)]
    means = {name: 100 * np.mean([run.evaluate([name])[name] for run in runs]) for name in sets}
    figure = STUDY_FIGURES["listops"](table, folder)
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["5-20", "21-40", "41-60"]
    for axes, number in zip(figure.axes, (0, 2), strict=True):
        names, x = sets[number : number + 2], [number // 2, number // 2 + 1]
        ours, paper, _none, other_paper = (line for line in axes.lines if line.get_marker() != "_")
        np.testing.assert_allclose(ours.get_xydata(), [[a, means[n]] for a, n in zip(x, names)])
        assert paper.get_xydata().tolist() == [[a, 10 * (number + i) + 4] for i, a in enumerate(x)]
        assert other_paper.get_ydata().tolist() == [10 * number + 5, 10 * number + 15]
