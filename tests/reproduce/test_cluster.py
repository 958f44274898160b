"""Plans on a Ray cluster and by submitit, both on this machine, with a worker killed in each.

`make test-cluster` installs what they need.
"""

import json
import os
import signal
import threading
import time
from contextlib import contextmanager

import pytest

from ldru.reproduce.engines.submitit import SubmititEngine
from ldru.reproduce.plan import make_plan
from ldru.reproduce.table_runs import table_runs
from ldru.runs.results import Results
from tests.reproduce.tables import work
from tests.reproduce.test_engines import long_table

pytestmark = pytest.mark.cluster

psutil = pytest.importorskip("psutil", reason="finds the workers; make test-cluster installs it")


@pytest.fixture
def ray_engine():
    ray = pytest.importorskip("ray", reason="make test-cluster installs Ray")
    from ldru.reproduce.engines.ray import RayEngine

    yield RayEngine()
    ray.shutdown()


@pytest.fixture
def submitit_engine():
    pytest.importorskip("submitit", reason="make test-cluster installs submitit")
    return SubmititEngine(cluster="local")


def workers(sign):
    """Processes below this one whose command line says that they work on a job."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any(sign in word for word in process.cmdline()):
                found.append(process.pid)
        except psutil.Error:  # it has ended since
            continue
    return found


@contextmanager
def one_killed(results, sign):
    """Kill one worker once both have begun, for the length of a block; who it was."""
    killed = []

    def kill_one():
        deadline = time.monotonic() + 300
        while not killed and time.monotonic() < deadline:
            if len(list((results.folder / ".claims").glob("*"))) == 2 and (some := workers(sign)):
                os.kill(some[0], signal.SIGKILL)
                killed.append(some[0])
            time.sleep(0.02)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    yield killed
    killer.join()


@pytest.mark.parametrize(
    ("engine", "sign"),
    [("ray_engine", "ray::_work"), ("submitit_engine", "submitit.core._submit")],
)
def test_a_plan_with_a_worker_killed_gives_what_the_local_engine_gives(
    tmp_path, request, monkeypatch, engine, sign
):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # as many threads as here: sums depend on them
    table = long_table()
    here, there = Results(tmp_path / "here"), Results(tmp_path / "there")
    work("local", make_plan([table], here).jobs)
    with one_killed(there, sign) as killed:
        work(request.getfixturevalue(engine), make_plan([table], there).jobs)
    assert len(killed) == 1
    assert not make_plan([table], there).jobs
    for spec in table_runs(table):
        ours, theirs = (results.runs / spec.name for results in (here, there))
        for part in ("settings.json", "weights.safetensors"):
            assert (ours / part).read_bytes() == (theirs / part).read_bytes()
        assert without_clocks(ours) == without_clocks(theirs)


def without_clocks(folder):
    """The record and the log of a run, without how long things took."""
    lines = [(folder / "record.json").read_text(), *(folder / "log.jsonl").read_text().splitlines()]
    return [{**json.loads(line), "seconds": None} for line in lines]
