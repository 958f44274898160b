"""Sudden ends and full disks at every operation on files; then the work is done again."""

from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from attack.attack import Attack
from attack.children import Ended
from attack.material import Material
from attack.operations import fill
from attack.scenarios import SCENARIOS, Scenario, check_whole, state
from ldru.base.errors import LdruError

TWICE = 200
"""Cases of a second end, while the work is being done again."""


class Point(NamedTuple):
    """An operation of a scenario, and maybe another one of its repetition."""

    scenario: str
    operation: int
    again: int | None = None


class Undisturbed(NamedTuple):
    """What a scenario comes to when nothing happens: how many operations, and what is there."""

    operations: int
    state: dict[str, object]


@cache
def undisturbed(name: str, material: Material) -> Undisturbed:
    scenario, folder = SCENARIOS[name], material.folder / f"undisturbed {name}"
    folder.mkdir()
    scenario.prepare(material, folder)
    ended = scenario.run(folder)
    check_ended(ended)
    assert ended.operations is not None
    return Undisturbed(ended.operations, state(folder))


@cache
def points(material: Material) -> list[Point]:
    return [
        Point(name, operation)
        for name in SCENARIOS
        for operation in range(undisturbed(name, material).operations)
    ]


def make_crash(number: int, random: Random, material: Material) -> Point:
    """Every operation in turn; then pairs."""
    known = points(material)
    if number < len(known):
        return known[number]
    first = random.choice(known)
    return first._replace(again=random.randrange(undisturbed(first.scenario, material).operations))


def make_full(number: int, random: Random, material: Material) -> Point:
    return points(material)[number]


def crash(point: Point, material: Material, box: Path) -> None:
    """Kill the work at an operation; then do it again, to the same bits."""
    scenario = SCENARIOS[point.scenario]
    scenario.prepare(material, box)
    for at in (point.operation, point.again):
        if at is not None:
            check_ended(scenario.run(box, at=at))
            check_whole(box)
    finish(scenario, material, box)


def fill_disk(point: Point, material: Material, box: Path) -> None:
    """Fill the disk from an operation on: the work says so. With room again, it is done."""
    scenario = SCENARIOS[point.scenario]
    scenario.prepare(material, box)
    ended = scenario.run(box, at=point.operation, action=fill, is_lasting=True)
    if not isinstance(ended.problem, LdruError):
        check_ended(ended)
    check_whole(box)
    finish(scenario, material, box)


def check_ended(ended: Ended) -> None:
    """Raise if a process did not do its work; here an `LdruError` is no excuse."""
    if ended.problem is not None:
        raise AssertionError(f"it raised {ended.problem!r}") from ended.problem


def finish(scenario: Scenario, material: Material, box: Path) -> None:
    """Do the work to its end, and compare."""
    check_ended(scenario.run(box))
    found, wanted = state(box), undisturbed(scenario.name, material).state
    assert not found.keys() - wanted.keys(), f"left behind: {sorted(found.keys() - wanted.keys())}"
    assert not wanted.keys() - found.keys(), f"missing: {sorted(wanted.keys() - found.keys())}"
    others = [name for name in wanted if found[name] != wanted[name]]
    assert not others, f"other content: {others}"


ATTACKS = (
    Attack(
        name="crash",
        about="killed before an operation on files, or amid a write; done again, the same bits",
        cases=lambda material: len(points(material)) + TWICE,
        make=make_crash,
        attempt=crash,
        seconds=60,
        is_sealed=False,
    ),
    Attack(
        name="full_disk",
        about="no room on the disk from an operation on; done again, the same bits",
        cases=lambda material: len(points(material)),
        make=make_full,
        attempt=fill_disk,
        seconds=60,
        is_sealed=False,
    ),
)
