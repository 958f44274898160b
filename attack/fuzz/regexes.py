"""Regular expressions: grown by their grammar, repeated without measure, or spoiled."""

from pathlib import Path
from random import Random
from typing import NamedTuple

import torch

import ldru
from attack.attack import Attack
from attack.material import Material
from ldru.automata.monoid import monoid
from ldru.tasks import regular

COUNTS = (0, 1, 2, 3, 7, 30, 800, 20_000, 10**9, 10**40)
MARKS = "()[]{}|&~*+?.\\^$-,01ab¬ε \0\ud800"


class Expression(NamedTuple):
    """A regular expression and its alphabet."""

    text: str
    alphabet: str | None


def make(number: int, random: Random, material: Material) -> Expression:
    kind = random.randrange(10)
    if kind == 0:
        text = "".join(random.choice(MARKS) for _ in range(random.choice((1, 3, 10, 100))))
    elif kind == 1:
        text = deep(random)
    else:
        text = grow(random, random.choice((1, 2, 3, 4, 6)))
        if kind < 4:
            place = random.randrange(len(text) + 1)
            text = text[:place] + random.choice(MARKS) + text[place + random.randrange(2) :]
    usual = random.choice((None, None, "01", "01ab", "", "00", "abcdefgh", "🦉01"))
    return Expression(text, usual)


def grow(random: Random, depth: int) -> str:
    """An expression by its grammar."""
    if depth == 0:
        return random.choice(("0", "1", "a", "b", ".", "()", "[01]", "[^0]", "\\d", "[a-c]"))
    kind = random.randrange(7)
    inner = grow(random, depth - 1)
    if kind < 3:
        return f"{inner}{random.choice(('', '|', '&'))}{grow(random, random.randrange(depth))}"
    if kind == 3:
        return f"({inner})" + random.choice("*+?")
    if kind == 4:
        return f"~({inner})"
    least = random.choice(COUNTS)
    times = random.choice((f"{least}", f"{least},", f",{least}", f"2,{least}"))
    return f"({inner}){{{times}}}"


def deep(random: Random) -> str:
    """Long, or brackets in one another, or towers of counts."""
    size = random.choice((50, 99, 101, 1000, 100_000))
    kind = random.randrange(5)
    if kind == 0:
        return "(" * size + "a" + ")" * size
    if kind == 1:
        return "~" * size + "a"
    if kind == 2:
        return "a" + "*" * size
    if kind == 3:
        return "|".join(f"a{'b' * (n % 7)}" for n in range(size // 10))
    return "(.*1" + "." * (size % 40) + ")" + "{9}" * random.choice((1, 2, 3, 9))


def read(expression: Expression, material: Material, box: Path) -> None:
    """Its machine, words of its language, and its monoid."""
    machine = ldru.from_regex(expression.text, alphabet=expression.alphabet)
    machine.run(machine.decode([0, 0]))
    task = regular.task(regex=expression.text, alphabet=expression.alphabet)
    task.sample(batch_size=2, length=6, generator=torch.Generator().manual_seed(0))
    found = monoid(machine)
    repr(found), found.complexity


ATTACKS = (
    Attack(
        name="regex",
        about="regular expressions; their machine, words and monoid",
        cases=8_000,
        make=make,
        attempt=read,
    ),
)
