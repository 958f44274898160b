"""The static edition of the playground: the page with the server's answers beside it, as files.

Languages, the shipped models and their extractions are recorded; the page computes the rest as it
always does. Any host of files can serve the folder. It cannot train or read expressions.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from ldru.base.errors import LdruError
from ldru.base.files import whole_folder
from ldru.base.json import Json
from ldru.runs.shipped import shipped_names
from ldru.web import languages
from ldru.web.models import Models, describe_model
from ldru.web.proofs import prove
from ldru.web.server import STATIC, Playground

PROOF_SECONDS = 60
"""How long the extraction of one model may take."""

EDITION = ('<html lang="en">', '<html lang="en" data-edition="static">')
"""What tells the page where its answers are."""


def export(
    folder: str | Path,
    *,
    names: list[str] | None = None,
    on_model: Callable[[str], None] | None = None,
) -> None:
    """Write the static edition into a new folder, whole or not at all.

    names: of the shipped models; by default all of them.
    on_model: is told of each model that is written.
    """
    path = Path(folder)
    if path.exists():
        raise LdruError(f"{str(path)!r} is already there and is not overwritten")
    with whole_folder(path) as place:
        shutil.copytree(STATIC, place, dirs_exist_ok=True)
        index = place / "index.html"
        index.write_text(index.read_text().replace(*EDITION))
        _write_data(place / "data", names or shipped_names(), on_model or (lambda name: None))


def _write_data(data: Path, names: list[str], on_model: Callable[[str], None]) -> None:
    playground = Playground(data / "no runs")
    start = playground.start({})
    assert isinstance(start, dict)
    models: list[Json] = [{"name": name, "kind": "shipped"} for name in names]
    _write(data / "start" / "all.json", {**start, "models": models})
    for group in languages.names().values():
        assert isinstance(group, list)
        for name in map(str, group):
            _write(data / "machine" / f"{name}.json", playground.machine({"task": name}))
    for name in names:
        _write_model(data, playground.models, name)
        on_model(name)


def _write_model(data: Path, models: Models, name: str) -> None:
    run = models.open(name)
    _write(data / "model" / f"{name}.json", describe_model(run))
    weights = data / "weights" / f"{name}.safetensors"
    weights.parent.mkdir(exist_ok=True)
    weights.write_bytes(models.weights(name))
    events: list[Json] = []
    prove(run, lambda kind, row: events.append([kind, row]), seconds=PROOF_SECONDS)
    _write(data / "proof" / f"{name}.json", events)


def _write(path: Path, data: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, separators=(",", ":")))
