"""Spoiled sets of words: arrays in .npy files, and the about.json beside them."""

import ast
import io
import json
import shutil
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np

from attack.attack import Attack
from attack.material import Material
from attack.mutation import NUMBERS, as_json, spoil_bytes, spoil_json_text
from ldru.tasks.word_set import ABOUT, PARTS, WordSet

START = 10
"""Where the header of an .npy file begins: behind magic bytes, version and size."""


def make(number: int, random: Random, material: Material) -> dict[str, bytes]:
    if random.random() < 0.3:
        about = json.loads((material.words / ABOUT).read_bytes())
        return {ABOUT: spoil_json_text(random, about)}
    name = f"{random.choice(PARTS)}.npy"
    content = (material.words / name).read_bytes()
    kind = random.randrange(3)
    if kind == 0:
        return {name: spoil_bytes(random, content)}
    return {name: spoil_header(random, content)} if kind == 1 else forged(random, material)


def spoil_header(random: Random, content: bytes) -> bytes:
    """An array whose header names other types, shapes or orders."""
    end = content.index(b"\n")
    header = ast.literal_eval(content[START:end].decode())
    kind = random.randrange(4)
    if kind == 0:
        header["shape"] = tuple(random.choice(NUMBERS) for _ in range(random.randrange(4)))
    elif kind == 1:
        header["descr"] = random.choice(
            ("|O", "<f8", "|V8", "|S1000", "<U9", "<i8", ">i8", "|b1", "x", [("a", "<i8")], 5)
        )
    elif kind == 2:
        header["fortran_order"] = random.choice((True, "x", None))
    else:
        header[random.choice(("shape", "descr", "new"))] = random.choice((None, "", (-1,), 10**30))
    text = repr(header).encode()
    if random.random() < 0.1:
        text = b"(" * random.choice((10, 90, 200, 5000)) + text
    length = random.choice((len(text) + 1,) * 9 + (65535,))
    return content[: START - 2] + length.to_bytes(2, "little") + text + b"\n" + content[end + 1 :]


def forged(random: Random, material: Material) -> dict[str, bytes]:
    """Other numbers in one array, and the checksum that belongs to them."""
    whole = WordSet.open(material.words)
    arrays = {part: np.array(getattr(whole, part)) for part in PARTS}
    part = random.choice(PARTS)
    array = arrays[part]
    place = random.randrange(len(array))
    kind = random.randrange(4)
    if kind == 0:
        array[place] = random.choice((0, 1, 255, array[place] // 2))
    elif kind == 1:
        arrays[part] = array[: random.randrange(len(array))]
    elif kind == 2:
        arrays[part] = array.astype(random.choice(("<i8", "<f8", "<u8", "|b1", "<i2", "|i1")))
    else:
        arrays[part] = random.choice((array[:, None], np.append(array, array), array[::-1]))
    about = {**whole.about, "checksum": WordSet.checksum.fget(SimpleNamespace(**arrays))}  # type: ignore[attr-defined]
    file = io.BytesIO()
    np.save(file, arrays[part])
    return {f"{part}.npy": file.getvalue(), ABOUT: as_json(about)}


def open_set(parts: dict[str, bytes], material: Material, box: Path) -> None:
    """A set with some parts that are spoiled; what opens has the words that were written."""
    shutil.copytree(material.words, box / "words")
    for part, content in parts.items():
        (box / "words" / part).write_bytes(content)
    use_set(box / "words", material, is_forged=len(parts) == 2)


def use_set(folder: Path, material: Material, *, is_forged: bool = False) -> None:
    """Open a set; is_forged: its checksum may be another."""
    found = WordSet.open(folder)
    whole = WordSet.open(material.words)
    if found.checksum != whole.checksum:
        assert is_forged, "other words were opened"
        for place in range(len(found)):
            assert len(found[place]) == found.lengths[place] > 0
        return
    assert len(found) == len(whole), "more or fewer words"
    for place in range(len(whole)):
        assert found[place].tolist() == whole[place].tolist(), "other words"
        assert found.labels[place] == whole.labels[place], "other labels"


ATTACKS = (
    Attack(
        name="word_set",
        about="spoiled .npy files and about.json of a set of words",
        cases=12_000,
        make=make,
        attempt=open_set,
    ),
)
