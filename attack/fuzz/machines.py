"""Spoiled files of machines: JSON, permutations, AT&T text, Graphviz."""

import json
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch

import ldru
from attack.attack import Attack
from attack.material import Material
from attack.mutation import spoil_bytes, spoil_json_text
from ldru.automata.formats import to_att
from ldru.automata.monoid import monoid
from ldru.tasks import regular

ACCEPTORS = ("parity_check", "dyck_3", "tomita_5", "even_pairs")
LANGUAGES = (*ACCEPTORS, "cycle_navigation", "modular_arithmetic")
PERMUTATIONS = {"permutations": {"a": [1, 2, 0], "b": [1, 0, 2]}, "labels": "product"}


class MachineFile(NamedTuple):
    """A file by the ending of its name."""

    ending: str
    content: bytes


def make(number: int, random: Random, material: Material) -> MachineFile:
    machine = regular.TASKS[random.choice(LANGUAGES)].machine
    ending = random.choice((".json", ".json", ".att", ".txt", ".dot", ".gv"))
    if ending == ".json":
        data = random.choice((json.loads(machine.to_json()), PERMUTATIONS))
        return MachineFile(ending, spoil_json_text(random, data))
    if ending in (".att", ".txt"):
        acceptor = regular.TASKS[random.choice(ACCEPTORS)].machine
        return MachineFile(ending, spoil_lines(random, to_att(acceptor)))
    return MachineFile(ending, spoil_lines(random, machine.to_dot()))


def spoil_lines(random: Random, text: str) -> bytes:
    """Text with lines or words of it doubled, swapped, cut or grown, or with spoiled bytes."""
    lines = text.splitlines()
    for _ in range(random.choice((1, 1, 2, 4))):
        kind, place = random.randrange(7), random.randrange(len(lines))
        words = lines[place].split(" ") if "->" in lines[place] else lines[place].split("\t")
        if kind == 0:
            lines.insert(place, random.choice(lines))
        elif kind == 1 and len(lines) > 1:
            del lines[place]
        elif kind == 2:
            words[random.randrange(len(words))] = random.choice(
                ("", "-1", "9" * 5000, "1e999", "<eps>", '"', "\\", "a" * 10_000, "[" * 999, "\0")
            )
            lines[place] = "\t".join(words)
        elif kind == 3:
            lines[place] = '"' * random.choice((1, 2, 999)) + lines[place]
        elif kind == 4:
            lines += [
                f"{n}\t{n + 1}\t{random.choice('01')}" for n in range(random.choice((9, 999)))
            ]
        elif kind == 5:
            return spoil_bytes(random, "\n".join(lines).encode())
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def read(file: MachineFile, material: Material, box: Path) -> None:
    """Read it, and use what was read as a language."""
    path = box / f"machine{file.ending}"
    path.write_bytes(file.content)
    machine = ldru.read_machine(path, complete=len(file.content) % 2 == 0)
    repr(machine), machine.to_dot(), machine.to_json(), machine.minimal()
    task = regular.task(path=path) if file.ending == ".json" else regular.task(machine=machine)
    task.sample(batch_size=2, length=5, generator=torch.Generator().manual_seed(0))
    monoid(machine)


ATTACKS = (
    Attack(
        name="machine",
        about="spoiled machines (JSON, AT&T, Graphviz); read, drawn from, their monoid",
        cases=15_000,
        make=make,
        attempt=read,
    ),
)
