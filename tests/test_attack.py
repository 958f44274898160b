"""A small fixed part of the attacks; `make test-attack` runs them whole.

They fork, so they run in processes of their own, where nothing else does.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from attack.attack import Attack, Tally
from attack.material import make_material
from attack.report import BEGIN, END, HEADER, as_row, write_page
from attack.runner import run_attack
from attack.sealing import changed_paths
from attack.table import ATTACKS

import ldru

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="limits memory as Linux does"
)


def run_python(*arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )


SLOW = ("command",)
QUICK = [name for name, attack in ATTACKS.items() if attack.is_sealed and name not in SLOW]


@pytest.mark.parametrize(
    "arguments",
    [(*QUICK, "--cases=25"), ("crash", "full_disk", "--every=150")],
    ids=["files", "ends"],
)
def test_attacks_find_nothing(arguments, tmp_path):
    file = tmp_path / "counts.json"
    done = run_python("-m", "attack", *arguments, "--seed=1", "--workers=1", f"--json={file}")
    assert done.returncode == 0, done.stderr
    for tally in json.loads(file.read_text()):
        assert tally["cases"] == tally["succeeded"] + tally["refused"] > 0


def harm(number, material, folder):
    """What no case may do, one after the other."""
    if number == 0:
        raise KeyError("odd")
    if number == 1:
        time.sleep(60)
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 3:
        bytearray(2**31)
    if number == 4:
        (folder.parent.parent / "outside").write_text("x")
    if number == 5:
        raise ldru.LdruError("no")


def attack_with_harm(folder):
    """The findings of an attack that does harm, and its counts."""
    material = make_material(folder)
    attack = Attack(
        name="harm",
        about="",
        cases=7,
        make=lambda number, random, material: number,
        attempt=harm,
        seconds=1,
    )
    tally = run_attack(attack, material, seed=0, workers=2)
    assert not (folder / "outside").exists()
    return (
        {finding.number: finding.what for finding in tally.findings},
        [tally.cases, tally.succeeded, tally.refused],
    )


HARM = """
import json, sys
from pathlib import Path
from tests.test_attack import attack_with_harm
print(json.dumps(attack_with_harm(Path(sys.argv[1]))))
"""


def test_the_runner_finds_what_no_case_may_do(tmp_path):
    done = run_python("-c", HARM, str(tmp_path))
    found, counts = json.loads(done.stdout)
    assert found["0"].startswith("KeyError")
    assert found["1"] == "took more than 1 s"
    assert found["2"] == "ended its process with exit code -9"
    assert found["3"].startswith("MemoryError")
    assert found["4"].startswith("TouchedError")
    assert counts == [7, 1, 1]


def test_a_case_is_the_same_each_time(tmp_path):
    first, second = (make_material(tmp_path / name) for name in ("first", "second"))
    for attack in ATTACKS.values():
        if not attack.is_sealed:  # those ask for processes
            continue
        for number in (0, 5):
            case = repr(attack.case(number, seed=2, material=first))
            assert case == repr(attack.case(number, seed=2, material=second)), attack.name


def test_paths_that_an_event_changes(tmp_path):
    read, write = os.O_RDONLY, os.O_WRONLY | os.O_CREAT
    assert list(changed_paths("open", ("a", "rb", read))) == []
    assert list(changed_paths("open", ("/a", None, write))) == ["/a"]
    assert list(changed_paths("os.rename", ("/a", "/b", -1, -1))) == ["/a", "/b"]
    folder = os.open(tmp_path, os.O_RDONLY)
    assert list(changed_paths("os.remove", ("a", folder))) == [str(tmp_path.resolve() / "a")]
    os.close(folder)


def test_the_page_shows_the_last_full_run():
    text = (ROOT / "docs" / "reliability.md").read_text()
    assert HEADER in text
    for attack in ATTACKS.values():
        row = f"| {attack.name} | {attack.about} |"
        assert row in text, f"run `make test-attack`: {attack.name} is not in the table"


def test_a_table_takes_the_place_of_the_one_before(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    tally = Tally(
        attack="log",
        about="logs",
        cases=1_000,
        succeeded=400,
        refused=600,
        findings=(),
        slowest=0.25,
        memory=2**20,
        seconds=60.0,
    )
    write_page(page, [tally], seed=3)
    assert page.read_text().startswith(f"before\n{BEGIN}\n1,000 cases of ")
    assert page.read_text().endswith(f"{as_row(tally)}\n{END}\nafter\n")
