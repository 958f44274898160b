"""Spoiled files of tensors: weights, and checkpoints that a training goes on from."""

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

from attack.attack import Attack
from attack.material import Material, train
from attack.mutation import NUMBERS, TEXTS, as_json, spoil_bytes, spoil_json, spoil_json_text
from ldru.base.safetensors import KINDS, METADATA, load_tensors
from ldru.runs.folder import WEIGHTS
from ldru.runs.run import Run


def make_weights(number: int, random: Random, material: Material) -> bytes:
    header, data = cut((material.run / WEIGHTS).read_bytes())
    return spoil_tensors(random, header, data)


def make_checkpoint(number: int, random: Random, material: Material) -> bytes:
    """Half of them have their metadata spoiled, where names of files are."""
    header, data = cut(material.checkpoint.read_bytes())
    if random.random() < 0.5:
        return spoil_tensors(random, header, data)
    header[METADATA].pop("checksum", None)
    field = random.choice([*header[METADATA], "step", "names", "logs", "data"])
    text = header[METADATA].get(field, "")
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    spoiled = spoil_json_text(random, value)
    if field == "logs" and random.random() < 0.5:
        name = random.choice((*TEXTS, "../outside", "x/y", "lock", "con", ".hidden"))
        spoiled = as_json({name: random.choice(([], next(iter(value.values()))))})
    header[METADATA][field] = spoiled.decode("utf-8", "replace")
    return joined(as_json(header), data)


def cut(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The header of a file of tensors, and its tensors."""
    size = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def joined(header: bytes, data: bytes, *, size: int | None = None) -> bytes:
    """A file of tensors; size: what it says of its header's."""
    return (len(header) if size is None else size).to_bytes(8, "little") + header + data


def spoil_tensors(random: Random, header: dict[str, Any], data: bytes) -> bytes:
    """A file of tensors whose header, entries, size or data are spoiled.

    Most have no checksum: who means harm leaves it out.
    """
    if random.random() < 0.7:
        header[METADATA].pop("checksum", None)
    kind = random.randrange(8)
    if kind == 0:
        size = random.choice((0, 7, 2**31, 2**40, 2**63, 2**64 - 1))
        return joined(as_json(header), data, size=size)
    if kind == 1:
        return joined(as_json(header), spoil_bytes(random, data))
    if kind == 2:
        return spoil_bytes(random, joined(as_json(header), data))
    if kind == 3:
        return joined(spoil_json_text(random, header), data)
    if kind == 4:
        return joined(as_json(spoil_json(random, header)), data)
    entry = header[random.choice([name for name in header if name != METADATA])]
    other = header[random.choice([name for name in header if name != METADATA])]
    if kind == 5:  # two tensors at one place
        entry["data_offsets"], entry["shape"] = other["data_offsets"], other["shape"]
    elif kind == 6:
        entry["dtype"] = random.choice([*KINDS, "F8_E4M3", "X"])
    else:
        shape = [random.choice((*NUMBERS, *entry["shape"])) for _ in range(random.randrange(5))]
        entry["shape"] = shape
        entry["data_offsets"] = [random.choice(NUMBERS) for _ in range(random.choice((2, 2, 3)))]
    return joined(as_json(header), data)


def open_weights(content: bytes, material: Material, box: Path) -> None:
    """Open a run with these weights; what opens is finite, and answers."""
    folder = box / material.run.name
    shutil.copytree(material.run, folder)
    (folder / WEIGHTS).write_bytes(content)
    load_tensors(folder / WEIGHTS)
    run = Run.open(folder)
    for weights in run.model.parameters():
        assert weights.isfinite().all(), "weights that are not finite were opened"
    run.predict(["0110"])


def go_on(content: bytes, material: Material, box: Path) -> None:
    """Go on from such a checkpoint."""
    shutil.copytree(material.unfinished, box / "runs")
    place = material.checkpoint.relative_to(material.unfinished)
    (box / "runs" / place).write_bytes(content)
    take_up(box / "runs")


def take_up(folder: Path) -> None:
    """Go on with a training; what ends well is a whole run, though who forged it may be wrong."""
    (run,) = train(folder).values()
    assert run.folder is not None
    assert Run.open(run.folder).spec == run.spec


ATTACKS = (
    Attack(
        name="weights",
        about="spoiled weights.safetensors; the run is opened and asked",
        cases=10_000,
        make=make_weights,
        attempt=open_weights,
    ),
    Attack(
        name="checkpoint",
        about="spoiled checkpoints; the training goes on from them",
        cases=4_000,
        make=make_checkpoint,
        attempt=go_on,
    ),
)
