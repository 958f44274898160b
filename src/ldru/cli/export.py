"""`ldru export`."""

import json
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from ldru.runs.shipped import find_run


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a run of an LDRU for Hugging Face's transformers, with tokeniser and model card.

    Args:
        run: a run folder, or the name of a shipped model such as parity_check.
        folder: a new folder.
        json: print JSON.
    """

    run: Positional[Path]
    folder: Positional[Path]
    json: bool = False

    def __call__(self) -> None:
        find_run(self.run)  # says so at once where there is none
        from ldru import huggingface  # needs an extra
        from ldru.runs.run import Run

        huggingface.export(Run.open(self.run), self.folder)
        print(json.dumps({"folder": str(self.folder)}) if self.json else f"model: {self.folder}")


def command(arguments: list[str]) -> type[Export]:
    return Export
