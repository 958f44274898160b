"""Spoiled settings.json, record.json and log.jsonl of a run."""

import json
import shutil
from pathlib import Path
from random import Random

from attack.attack import Attack
from attack.material import Material
from attack.mutation import as_json, spoil_bytes, spoil_json_text
from ldru.base.errors import LdruError
from ldru.base.json import digest
from ldru.runs.check import WHOLE, check_runs
from ldru.runs.folder import LOG, RECORD, SETTINGS, RunFolder
from ldru.runs.listing import list_runs
from ldru.runs.run import Run


def make_settings(number: int, random: Random, material: Material) -> dict[str, bytes]:
    """Spoiled settings; often with the record that belongs to them, so that they are read on."""
    settings = json.loads((material.run / SETTINGS).read_bytes())
    text = spoil_json_text(random, settings)
    if random.random() < 0.3:
        return {SETTINGS: text}
    try:
        name = digest(json.loads(text))
    except (ValueError, RecursionError):
        return {SETTINGS: text}
    record = json.loads((material.run / RECORD).read_bytes())
    return {SETTINGS: text, RECORD: as_json({**record, "digest": name})}


def make_record(number: int, random: Random, material: Material) -> dict[str, bytes]:
    record = json.loads((material.run / RECORD).read_bytes())
    return {RECORD: spoil_json_text(random, record)}


def make_log(number: int, random: Random, material: Material) -> dict[str, bytes]:
    lines = (material.run / LOG).read_bytes().splitlines()
    if random.random() < 0.2:
        return {LOG: spoil_bytes(random, b"\n".join(lines))}
    place = random.randrange(len(lines))
    lines[place] = spoil_json_text(random, json.loads(lines[place]))
    return {LOG: b"\n".join(lines * random.choice((1, 1, 1, 50)))}


def open_run(parts: dict[str, bytes], material: Material, box: Path) -> None:
    """A run with some parts that are spoiled."""
    folder = box / material.run.name
    shutil.copytree(material.run, folder)
    for part, content in parts.items():
        (folder / part).write_bytes(content)
    use_run(folder)


def use_run(folder: Path) -> None:
    """Open a run, use it as a whole, and list it."""
    is_whole = check(folder)
    try:
        run, _ = Run.open(folder), RunFolder(folder).log()
    except LdruError as problem:
        if is_whole:
            raise AssertionError(f"the check let pass: {problem}") from problem
        raise
    repr(run), run._repr_html_()
    run.predict(["0110", "1"])
    evaluation = run.compute_evaluation([3], words=2)
    run.with_evaluation(evaluation)
    assert Run.open(folder).record.digest == run.spec.digest
    list_runs(folder.parent).rows()


def check(folder: Path) -> bool:
    """Whether the check calls a run whole; it says something of any."""
    try:
        return any(
            run.name == folder.name and run.state == WHOLE for run in check_runs(folder.parent).runs
        )
    except LdruError as problem:
        raise AssertionError(f"the check gave up: {problem}") from problem


def read_log(parts: dict[str, bytes], material: Material, box: Path) -> None:
    (box / LOG).write_bytes(parts[LOG])
    for entry in RunFolder(box).log():
        float(entry.loss + entry.validation_accuracy), int(entry.step)


ATTACKS = (
    Attack(
        name="settings",
        about="spoiled settings.json; the run is opened, listed and asked",
        cases=10_000,
        make=make_settings,
        attempt=open_run,
    ),
    Attack(
        name="record",
        about="spoiled record.json; the run is opened, listed and evaluated",
        cases=8_000,
        make=make_record,
        attempt=open_run,
    ),
    Attack(name="log", about="spoiled log.jsonl", cases=10_000, make=make_log, attempt=read_log),
)
