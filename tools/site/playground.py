"""The playground on the site: its static edition, in a folder of its own."""

import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

from ldru.base.errors import RunError
from ldru.base.json import digest
from ldru.runs.shipped import SHIPPED, SUMS

FOLDER = "playground"

EXPORT = "import sys; from ldru.web.export import export; export(sys.argv[1])"


class Playground:
    """Writes the static edition in a process of its own, since that takes minutes.

    It is kept for the next build, and made again when the shipped models or the page have changed.
    """

    def __init__(self, root: Path, kept: Path) -> None:
        sources = sorted(path for path in (root / "src/ldru/web").rglob("*") if path.is_file())
        texts = [path.read_bytes().hex() for path in (SHIPPED / SUMS, *sources)]
        self.place = kept / digest(texts)
        self.process: subprocess.Popen[bytes] | None = None
        if not self.place.exists():
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir(parents=True)
            self.process = subprocess.Popen([sys.executable, "-c", EXPORT, str(self.place)])

    def write(self, folder: Path) -> None:
        """Wait for it, and put it where the site has it."""
        if self.process is not None and self.process.wait() != 0:
            raise RunError("the playground could not be written; see what it printed above")
        shutil.copytree(self.place, folder)


def view(name: str, **options: str) -> str:
    """The address of a view, from the site's root."""
    return f"{FOLDER}/index.html#{name}?{urlencode(options)}"


def frame(address: str, *, title: str, height: int) -> str:
    """The playground inside a page."""
    return (
        f'<iframe class="playground" src="{address}" title="{title}" loading="lazy" '
        f'style="height: {height}px"></iframe>'
    )
