"""Malformed command lines: in this process, and some in one of their own."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

from attack.attack import Attack
from attack.material import Material
from ldru.base.errors import LdruError
from ldru.cli import main
from ldru.cli.dispatch import COMMANDS

RUN = "RUN"
"""Stands for the folder of a run."""

TINY = ("--dim=4", "--steps=2", "--batch-size=4", "--validation-length=6", "--validation-words=4")
SHORT = ("--lengths=1:5", "--words=4")
USUAL: dict[str, tuple[str, ...]] = {
    "train": ("parity_check", *TINY, *SHORT, "--out=out"),
    "eval": (RUN, *SHORT),
    "predict": (RUN, "0110"),
    "runs": (".",),
    "extract": (RUN,),
    "analyse": (RUN, "--words=4", "--lengths=4,6", "--max-length=4"),
    "teach": ("dyck_1", "--dim=4", "--steps=2", "--out=out"),
    "certify": (RUN, "--out=out", "--rounds=1", "--steps=2"),
    "monoid": ("dyck_2",),
    "draw": ("parity_check", "--out=a.png"),
    "coverage": ("dyck_2", "--lengths=4", "--test=8"),
    "heatmaps": ("dyck_2", "--ranges=2:4"),
    "export": (RUN, "exported"),
    "reproduce": ("plan", "central"),
    "tasks": (),
    "models": (),
    "completion": ("bash",),
}
"""Short lines that work."""

EXIT_CODES = (0, 1, 2, 75)
"""Done, failed, misused, out of time."""

NEVER = {"play", "bench", "prepare"}
"""Commands that would serve, measure or ask the network; only lines that cannot work are tried."""

VALUES = (
    *("-1", "0", "2.5", "nan", "inf", "1e400", "x", "", " ", "\x01", "[/x]", "[b]a", "../../x"),
    *("9" * 400, "100000000000000000000", "1:", ":", "5:1", "1:10:0", "1:9999999999", "a" * 300),
    *("/nonexistent/x", "/dev/null", "(", "(a*){20000}", "None", "--", "-", "🦉", "\udcff"),
)
OPTIONS = (
    *("--lengths", "--words", "--seed", "--seeds", "--device", "--plot", "--json", "--help"),
    *("--steps", "--dim", "--max-length", "--validation-length", "--model", "--recipe", "--regex"),
    *("--alphabet", "--machine", "--limit", "--out", "--resume", "--test", "--sets", "--labels"),
    *("--dropout", "--operator", "--backend", "--learning-rate", "--import", "--track", "--file"),
    *("--engine", "--tasks", "--models", "--results", "--tolerance", "--unknown", "--init-from"),
    *("--checkpoint-seconds", "--max-hours", "--check", "--precision", "--label", "--ranges"),
)

ENDING = tuple(name for name in COMMANDS if name != "play")
"""Commands that end of themselves."""


def make(number: int, random: Random, material: Material) -> list[str]:
    """A line that works, with one to three words odd; or odd altogether."""
    if random.random() < 0.1:
        return [random.choice((*ENDING, *VALUES, *OPTIONS)) for _ in range(random.randrange(4))]
    if random.random() < 0.1:
        line = [random.choice(sorted(NEVER)), "--unknown"]
        return [*line, random.choice(VALUES)]
    name = random.choice(list(USUAL))
    words = list(USUAL[name])
    for _ in range(random.choice((1, 1, 2, 3))):
        kind = random.randrange(5)
        if kind == 0 and words:
            words.remove(random.choice(words))
        elif kind == 1 and words:
            place = random.randrange(len(words))
            option, equals, _ = words[place].partition("=")
            words[place] = option + "=" + random.choice(VALUES) if equals else random.choice(VALUES)
        elif kind == 2:
            words.append(random.choice(VALUES))
        elif kind == 3:
            words += [random.choice(OPTIONS)]
        else:
            words += [random.choice(OPTIONS), random.choice(VALUES)]
    if name == "reproduce" and words[:1] != ["plan"]:
        words.insert(0, random.choice(("plan", "render", "pack", "unpack", "odd")))
    if name == "train":  # whatever it says elsewhere, never for long
        words = [*words, *(() if any("steps" in word for word in words) else ("--steps=2",))]
    return [name, *words]


def call(line: list[str], material: Material, box: Path) -> None:
    """In this process: one of the exit codes, and nothing but that."""
    shutil.copytree(material.run, box / RUN)
    output, errors = io.StringIO(), io.StringIO()
    code: object = None
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            main(line)
    except SystemExit as stop:
        code = stop.code
    check(code, errors.getvalue())


def call_process(line: list[str], material: Material, box: Path) -> None:
    """The same in a process of its own, as a shell starts it."""
    if any("\0" in word for word in line):
        return
    shutil.copytree(material.run, box / RUN)
    done = subprocess.run(
        [sys.executable, "-m", "ldru", *(os.fsencode(word) for word in line)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=box,
        check=False,
    )
    check(done.returncode, done.stderr.decode(errors="replace"))


def check(code: object, errors: str) -> None:
    """Raise unless it ended as a command may; an `LdruError` if it refused the line."""
    assert code in EXIT_CODES, f"the exit code is {code!r}: {errors[-200:]}"
    assert "Traceback" not in errors, f"a traceback: {errors[-200:]}"
    if code != 0:
        assert errors.strip(), "it failed without a word"
        raise LdruError(errors)


ATTACKS = (
    Attack(
        name="command",
        about="malformed command lines",
        cases=1_000,
        make=make,
        attempt=call,
        seconds=20,
    ),
    Attack(
        name="process",
        about="malformed command lines, each in a process of its own",
        cases=30,
        make=make,
        attempt=call_process,
        seconds=60,
        is_sealed=False,
    ),
)
