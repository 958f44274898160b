"""One bit flipped at every byte of each small file: noticed, or without effect."""

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from attack.attack import Attack
from attack.fuzz.packs import unpack_it
from attack.fuzz.run_files import open_run
from attack.fuzz.tensors import go_on, open_weights
from attack.fuzz.word_sets import open_set
from attack.material import TRAINING, Material
from ldru.runs.folder import LOG, RECORD, SETTINGS, WEIGHTS, RunFolder
from ldru.tasks.word_set import ABOUT, PARTS

NPY_HEADER = 128
"""Bytes before the numbers of a small .npy file."""

BITS = 8


class Flip(NamedTuple):
    """A bit of a file."""

    file: str
    byte: int
    bit: int


def files(material: Material) -> Iterator[tuple[str, Path, int]]:
    """The files with how many of their bytes are tried: of tensors and arrays, the headers."""
    for part in (SETTINGS, RECORD, LOG):
        yield part, material.run / part, (material.run / part).stat().st_size
    for name, path in ((WEIGHTS, material.run / WEIGHTS), ("checkpoint", material.checkpoint)):
        yield name, path, 8 + int.from_bytes(path.read_bytes()[:8], "little")
    for part in PARTS:
        yield f"{part}.npy", material.words / f"{part}.npy", NPY_HEADER
    yield ABOUT, material.words / ABOUT, (material.words / ABOUT).stat().st_size
    yield "pack", material.pack, material.pack.stat().st_size


@cache
def all_bytes(material: Material) -> list[tuple[str, Path, int]]:
    return [(name, path, byte) for name, path, size in files(material) for byte in range(size)]


def make(number: int, random: Random, material: Material) -> Flip:
    """Every byte in turn; then every byte again with the next bit."""
    turn, place = divmod(number, len(all_bytes(material)))
    name, _, byte = all_bytes(material)[place]
    return Flip(name, byte, (byte + turn) % BITS)


def attempt(flip: Flip, material: Material, box: Path) -> None:
    """Read the file as the fuzzers do."""
    path = next(path for name, path, _ in files(material) if name == flip.file)
    content = bytearray(path.read_bytes())
    content[flip.byte] ^= 1 << flip.bit
    spoiled = bytes(content)
    if flip.file == "pack":
        unpack_it(spoiled, material, box)
    elif flip.file == "checkpoint":
        go_on(spoiled, material, box)
        (run,) = (box / "runs").glob("parity*")
        assert RunFolder(run).record().final.step == TRAINING["steps"], "other steps were taken"
    elif flip.file == WEIGHTS:
        open_weights(spoiled, material, box)
        shutil.copy(box / material.run.name / WEIGHTS, box)
        read, whole = RunFolder(box).weights(), RunFolder(material.run).weights()
        assert all(read[name].equal(whole[name]) for name in whole), "other weights were read"
    elif flip.file in (SETTINGS, RECORD, LOG):
        open_run({flip.file: spoiled}, material, box)
    else:
        open_set({flip.file: spoiled}, material, box)


ATTACKS = (
    Attack(
        name="flip",
        about="two of the bits of every byte of each small file, flipped one at a time",
        cases=lambda material: 2 * len(all_bytes(material)),
        make=make,
        attempt=attempt,
    ),
)
