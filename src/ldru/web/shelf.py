"""The models that a page can open: the shipped ones, and the runs of one folder."""

from pathlib import Path

from ldru.base.json import Json
from ldru.runs.shipped import SHIPPED, shipped_names
from ldru.web.limits import RequestError

SETTINGS = "settings.json"
"""As `ldru.runs.folder` has it, which needs PyTorch; the list must come at once."""


class Shelf:
    """Names of models, and where each lies; no other name leads anywhere."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def rows(self) -> list[Json]:
        """The models with their kinds."""
        found = [("shipped", shipped_names()), ("run", self.runs())]
        return [{"name": name, "kind": kind} for kind, names in found for name in names]

    def runs(self) -> list[str]:
        """The names of the run folders, newest first."""
        if not self.folder.is_dir():
            return []
        found = [p for p in self.folder.iterdir() if (p / SETTINGS).is_file()]
        return [p.name for p in sorted(found, key=lambda p: -p.stat().st_mtime)]

    def path(self, name: str) -> Path:
        """The folder of a model by its name in the list."""
        if name in shipped_names():
            return SHIPPED / name
        if name not in self.runs():
            raise RequestError(
                f"there is no model {name[:60]!r} among the shipped ones and the runs here"
            )
        return self.folder / name

    def written_at(self, name: str) -> float:
        """When a model was written or evaluated, so that what is kept of it can be told stale."""
        return max(part.stat().st_mtime for part in self.path(name).iterdir())
