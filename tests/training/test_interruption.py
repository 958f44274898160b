"""Time limits, and the warning of a scheduler."""

import os
import signal
import subprocess
import sys
import time

import pytest

import ldru
from ldru.training.interruption import Interruption


def wait(hours, sent):
    with ldru.time_limit(hours=hours):
        if sent is not None:
            os.kill(os.getpid(), sent)
        time.sleep(60)


def test_a_block_ends_when_its_time_is_up_and_handlers_come_back():
    before = signal.getsignal(signal.SIGUSR1)
    for hours, sent in ((0.05 / 3600, None), (1, signal.SIGUSR1)):
        begin = time.monotonic()
        with pytest.raises(ldru.OutOfTimeError):
            wait(hours, sent)
        assert time.monotonic() - begin < 30
    with ldru.time_limit(hours=0.05 / 3600):
        pass
    time.sleep(0.1)  # nothing comes afterwards
    assert signal.getsignal(signal.SIGUSR1) is before


@pytest.mark.parametrize("hours", [0, -1, float("nan"), float("inf")])
def test_a_limit_is_a_number_of_hours(hours):
    with pytest.raises(ldru.LdruError, match="positive number of hours"):
        ldru.time_limit(hours=hours).__enter__()


def test_handlers_of_the_program_are_left_alone():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGUSR1)
        assert seen == [signal.SIGUSR1]
        assert not interruption.is_asked
    finally:
        signal.signal(signal.SIGUSR1, before)


SIZES = ["--dim", "4", "--batch-size", "8", "--validation-length", "8", "--validate-every", "50"]
TRAIN = ["train", "parity_check", *SIZES, "--lengths", "2,4", "--words", "4", "--device", "cpu"]


def command(*arguments):
    return [sys.executable, "-m", "ldru", *map(str, arguments)]


@pytest.mark.parametrize("is_warned", [True, False])
def test_a_job_that_is_out_of_time_leaves_a_checkpoint_and_says_so(is_warned, tmp_path):
    """As a job script sees it; that it goes on to the same bits is shown with the loop."""
    stopped = tmp_path / "stopped"
    steps = ["--steps", 20_000] if is_warned else ["--steps", 20_000, "--max-hours", 2 / 3600]
    with subprocess.Popen(
        command(*TRAIN, *steps, "--out", stopped), stderr=subprocess.PIPE, text=True
    ) as process:
        if is_warned:
            waited = time.monotonic()
            while not list(stopped.glob(".unfinished-*/checkpoint.safetensors")):
                assert time.monotonic() - waited < 120
                time.sleep(0.05)
            process.send_signal(signal.SIGUSR1)
        _, printed = process.communicate(timeout=120)
    assert process.returncode == 75
    assert printed.splitlines()[-1] == (
        "error: time is up; the same command with --resume goes on from there"
    )
    if is_warned:  # two seconds may be over before the first step
        (checked,) = ldru.check_runs(stopped).runs
        assert checked.state.startswith("unfinished, step ")
