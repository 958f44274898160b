"""Engines: the same records from each, and workers that die."""

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import ldru
from ldru.models.settings import RNNSpec
from ldru.paper.table import Column
from ldru.reproduce.engines import make_engine
from ldru.reproduce.engines.local import LocalEngine, placed
from ldru.reproduce.engines.submitit import SubmititEngine
from ldru.reproduce.plan import Job, make_plan
from ldru.reproduce.table_runs import table_runs
from ldru.runs.results import Results
from tests.reproduce.tables import TRAIN, one_run, small_table, work


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
@pytest.mark.slow
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


def long_table(*, steps):
    """Two fleets that are long at work."""
    train = replace(TRAIN, steps=steps, validate_every=steps // 2)
    columns = {name: replace(c, train=train) for name, c in small_table().columns.items()}
    return small_table(columns=columns, tasks=("parity_check",), seeds=(0,))


def test_fleets_side_by_side_give_the_same_runs_though_a_worker_is_killed(tmp_path, capsys):
    table = long_table(steps=300)
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
    assert total.completed == total.total == 600
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
from tests.reproduce.test_engines import long_table

def say():
    while len(multiprocessing.active_children()) < 2:
        time.sleep(0.05)
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)

if __name__ == "__main__":
    threading.Thread(target=say, daemon=True).start()
    jobs = make_plan([long_table(steps=10**6)], Results(sys.argv[1])).jobs
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
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    pytest.fail("a worker lives on")


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except OSError:
        return False


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


def test_submitit_gives_up_with_the_reason_and_the_logs(tmp_path, monkeypatch):
    pytest.importorskip("submitit")
    monkeypatch.setattr("ldru.reproduce.engines.submitit.TRIES", 1)
    (spec,) = table_runs(one_run())
    job = Job(specs=(spec,), parts=(5,), out=str(tmp_path), device="nowhere")
    with pytest.raises(ldru.LdruError, match=r"failed 1 times.*nowhere.*logs are in"):
        work(SubmititEngine(cluster="local"), [job])
