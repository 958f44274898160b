"""An attack as data: how its cases are made, and what is done with one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from attack.material import Material

SECONDS = 10.0
"""How long a case may take."""


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Cases of one kind.

    about: what a case is, for the table.
    cases: how many a full run has.
    make: number, random numbers of the case's own, material -> the case, whose `repr` is shown.
    attempt: case, material, an empty folder -> None. It may raise `LdruError`; any other exception
        is a finding, and so is a file that is touched outside the folder.
    seconds: how long one may take.
    is_sealed: whether such a file is looked for; not where processes of its own do the work.
    """

    name: str
    about: str
    cases: int | Callable[[Material], int]
    make: Callable[[int, Random, Material], Any]
    attempt: Callable[[Any, Material, Path], None]
    seconds: float = SECONDS
    is_sealed: bool = True

    def count(self, material: Material) -> int:
        """How many cases a full run has."""
        return self.cases if isinstance(self.cases, int) else self.cases(material)

    def case(self, number: int, *, seed: int, material: Material) -> Any:
        """One case; the same for the same number and seed."""
        return self.make(number, Random(f"{seed} {self.name} {number}"), material)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A case that ended as none may; `python -m attack --replay ATTACK:SEED:NUMBER` runs it."""

    attack: str
    seed: int
    number: int
    what: str
    case: str

    @property
    def address(self) -> str:
        """How to call it again."""
        return f"{self.attack}:{self.seed}:{self.number}"


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What came of an attack.

    slowest: seconds of the case that took longest.
    memory: the most bytes that a worker took beyond those it began with.
    """

    attack: str
    about: str
    cases: int
    succeeded: int
    refused: int
    findings: tuple[Finding, ...]
    slowest: float
    memory: int
    seconds: float
