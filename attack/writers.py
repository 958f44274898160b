"""Two processes add evaluations to one record: none is lost."""

import shutil
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from attack.attack import Attack
from attack.children import Child
from attack.material import Material
from ldru.evaluation.accuracy import Evaluation, PartResult
from ldru.runs.folder import RunFolder
from ldru.runs.run import Run


class Hammer(NamedTuple):
    """How many lengths two processes add, one the even and one the odd ones, some at once."""

    lengths: int
    at_once: int


HAMMERS = (Hammer(1_000, at_once=1), Hammer(10_000, at_once=100))


def make(number: int, random: Random, material: Material) -> Hammer:
    return HAMMERS[number]


def attempt(hammer: Hammer, material: Material, box: Path) -> None:
    folder = box / material.run.name
    shutil.copytree(material.run, folder)

    children = [Child(partial(add, hammer, rest), folder) for rest in (0, 1)]
    for ended in [child.join() for child in children]:
        if ended.problem is not None:
            raise ended.problem
    evaluation = RunFolder(folder).record().evaluation
    kept = {} if evaluation is None else evaluation.by_part
    wanted = {length: counts(length) for length in range(1000, 1000 + hammer.lengths)}
    lost = [length for length, result in wanted.items() if kept.get(length) != result]
    assert not lost, f"{len(lost)} of {hammer.lengths} lengths were lost"


def add(hammer: Hammer, rest: int, folder: Path) -> None:
    """Add every second length to the record of a run."""
    run, lengths = Run.open(folder), range(1000 + rest, 1000 + hammer.lengths, 2)
    for begin in range(0, len(lengths), hammer.at_once):
        some = lengths[begin : begin + hammer.at_once]
        run.with_evaluation(Evaluation(by_part={n: counts(n) for n in some}))


def counts(length: int) -> PartResult:
    """Counts that belong to one length alone."""
    words = {0: length, 1: length + 1}
    return PartResult(words_by_class=words, correct_by_class={0: length // 2, 1: length // 3})


ATTACKS = (
    Attack(
        name="two_writers",
        about="two processes add up to 10,000 lengths to one record; all are kept",
        cases=len(HAMMERS),
        make=make,
        attempt=attempt,
        seconds=240,
        is_sealed=False,
    ),
)
