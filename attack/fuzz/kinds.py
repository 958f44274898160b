"""Files that are none: folders, pipes that nobody writes to, links to nowhere or to no end."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from attack.attack import Attack
from attack.fuzz.run_files import use_run
from attack.fuzz.tensors import take_up
from attack.fuzz.word_sets import use_set
from attack.material import Material
from ldru.runs.folder import PARTS
from ldru.runs.pack import unpack
from ldru.runs.results import Results
from ldru.tasks import word_set


def make_folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").touch()


KINDS: dict[str, Callable[[Path], None]] = {
    "nothing": lambda path: None,
    "empty": Path.touch,
    "a folder": make_folder,
    "a pipe": os.mkfifo,
    "a link to nowhere": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to zeros without end": lambda path: path.symlink_to("/dev/zero"),
    "a link to its folder": lambda path: path.symlink_to("."),
    "zeros, a gigabyte": lambda path: _sparse(path, 2**30),
    "nobody's": lambda path: path.touch(mode=0),
}


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


class Replaced(NamedTuple):
    """A file, or a folder of files, and what is there instead."""

    place: str
    kind: str


WORD_SET = ("words", *(f"words/{part}.npy" for part in word_set.PARTS), f"words/{word_set.ABOUT}")
RUN = tuple(f"run/{part}" for part in PARTS)
UNFINISHED = ("unfinished", "unfinished/checkpoint.safetensors", "unfinished/lock")
PLACES = (*RUN, *UNFINISHED, *WORD_SET, "pack", "results/runs", "results/packed", "run")


def make(number: int, random: Random, material: Material) -> Replaced:
    place, kind = divmod(number, len(KINDS))
    return Replaced(PLACES[place], list(KINDS)[kind])


def attempt(replaced: Replaced, material: Material, box: Path) -> None:
    """Use what holds the file."""
    whole, _, part = replaced.place.partition("/")
    if whole == "run":
        shutil.copytree(material.run, box / "run")
        instead(box / "run" / part, replaced.kind)
        use_run(box / "run")
    elif whole == "unfinished":
        shutil.copytree(material.unfinished, box / "runs")
        folder = box / "runs" / material.checkpoint.parent.name
        instead(folder / part, replaced.kind)
        take_up(box / "runs")
    elif whole == "words":
        shutil.copytree(material.words, box / "words")
        instead(box / "words" / part, replaced.kind)
        use_set(box / "words", material)
    else:
        (box / "results" / "runs").mkdir(parents=True)
        shutil.copy(material.pack, box / "pack")
        instead(box / replaced.place, replaced.kind)
        unpack(box / "pack", Results(box / "results"))


def instead(path: Path, kind: str) -> Path:
    """Put something else at a place."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    return path


ATTACKS = (
    Attack(
        name="kind",
        about="files that are folders, pipes, links, endless, huge or somebody else's",
        cases=len(PLACES) * len(KINDS),
        make=make,
        attempt=attempt,
    ),
)
