"""The playground on the site: its static edition, in a folder of its own."""

import importlib.util
from pathlib import Path
from urllib.parse import urlencode

FOLDER = "playground"

PLACEHOLDER = """<!doctype html>
<meta charset="utf-8">
<title>Playground</title>
<p style="font: 1rem system-ui; margin: 2rem">This build has no playground:
run <code>ldru play</code> instead.</p>
"""


def write_playground(folder: Path) -> None:
    """Write the static edition: a folder with index.html that needs no server."""
    folder.mkdir(parents=True, exist_ok=True)
    if importlib.util.find_spec("ldru.web.export") is None:
        (folder / "index.html").write_text(PLACEHOLDER)
        return
    export = importlib.import_module("ldru.web.export")
    export.export(folder)


def view(name: str, **options: str) -> str:
    """The address of a view, from the site's root."""
    return f"{FOLDER}/index.html#{name}?{urlencode(options)}"


def frame(address: str, *, title: str, height: int) -> str:
    """The playground inside a page."""
    return (
        f'<iframe class="playground" src="{address}" title="{title}" loading="lazy" '
        f'style="height: {height}px"></iframe>'
    )
