"""Pipes that are closed, disks that are full, and Ctrl-C at a bad moment."""

import os
import signal
import subprocess
import sys

import pytest

LDRU = [sys.executable, "-m", "ldru"]


def run(*arguments, **options):
    return subprocess.run(
        [*LDRU, *arguments], stderr=subprocess.PIPE, text=True, check=False, timeout=120, **options
    )


@pytest.mark.parametrize("arguments", [["tasks"], ["tasks", "--json"], ["--help"], ["models"]])
def test_a_reader_who_has_seen_enough_is_no_error(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    done = run(*arguments, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["tasks"], ["tasks", "--json"], ["tasks", "--jsn"]])
def test_a_full_disk_is_one_line(arguments):
    with open("/dev/full", "w") as full:
        done = run(*arguments, stdout=full)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_closed_streams_and_plain_terminals_are_no_error():
    for redirect in (">&-", ">&- 2>&-"):
        command = f"{sys.executable} -m ldru tasks {redirect}"
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    done = run(
        "predict",
        "parity_check",
        "0\udcff",
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: word 1")


INTERRUPTED = "raise KeyboardInterrupt"
WAITING = "import time; print('here', flush=True); time.sleep(60)"


def test_ctrl_c_during_an_import_is_no_traceback(tmp_path):
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    done = run("tasks", "--import", "interrupted", stdout=subprocess.PIPE, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "stopped\n")
    (tmp_path / "waiting.py").write_text(WAITING)
    command = [*LDRU, "tasks", "--import", "waiting"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=-1, stderr=-1, text=True) as waiting:
        waiting.stdout.readline()
        waiting.send_signal(signal.SIGINT)
        _, printed = waiting.communicate(timeout=60)
    assert (waiting.returncode, printed) == (130, "stopped\n")
    # Also before the first line of `main`.
    broken = "import sys; sys.modules['tyro'] = sys.modules['ldru.cli.dispatch'] = None\n" + (
        "import builtins\nusual = builtins.__import__\n"
        "def stop(name, *rest):\n"
        "    if name == 'ldru.cli.dispatch': raise KeyboardInterrupt\n"
        "    return usual(name, *rest)\n"
        "builtins.__import__ = stop\nfrom ldru.cli import main\nmain(['tasks'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", broken], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "stopped\n")
