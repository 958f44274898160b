"""From files of the repository to pages of the site: where each goes, and how links follow.

Pages are written so that their links work in a plain clone or on a code host. On the site the
files lie elsewhere, so links are rewritten on the way; those to other files lead to a page that
shows the file.
"""

import posixpath
import re
from collections.abc import Callable
from pathlib import PurePosixPath

LINK = re.compile(r"(?P<before>\]\()(?P<target>[^)\s#]+)(?P<rest>(?:#[^)\s]*)?\))")
FENCE = re.compile(r"^(```|~~~).*?^\1", flags=re.MULTILINE | re.DOTALL)
ASSETS = (".png", ".svg", ".zip")
"""Files that the site has as they are."""


def page_of(path: str) -> str:
    """The place on the site of a file of the repository."""
    if path == "README.md":
        return "index.md"
    if path in ("CONTRIBUTING.md", "CHANGELOG.md"):
        return path.lower()
    if path in ("results", "benchmarks"):
        return f"{path}/index.md"
    place = PurePosixPath(path)
    if path.startswith("docs/learn/") and place.suffix == ".py":
        return str(place.relative_to("docs").with_suffix(".md"))
    if path.startswith("docs/"):
        return str(place.relative_to("docs"))
    if path.startswith(("results/", "benchmarks/")) and place.suffix in (".md", *ASSETS):
        return str(place.with_name("index.md")) if place.name == "README.md" else path
    return f"source/{path}.md"


def is_page(path: str) -> bool:
    """Whether a file is on the site itself, and not on a page that shows it."""
    return not page_of(path).startswith("source/")


def resolve(target: str, *, source: str) -> str | None:
    """The file that a link of a file means; None for addresses of the web."""
    if re.match(r"[a-z]+:", target):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), target))


def links_of(text: str, *, source: str) -> list[tuple[str, str]]:
    """The files that a text links to, each with its anchor or an empty text."""
    found = []
    for match in LINK.finditer(FENCE.sub("", text)):
        path = resolve(match["target"], source=source)
        if path is not None:
            found.append((path, match["rest"].strip("#)")))
    return found


def on_site(text: str, *, source: str, page: str, on_file: Callable[[str], None]) -> str:
    """A page's text with its links as the site needs them.

    source: the file of the repository that the text is from; page: its place on the site.
    on_file: called with every file that is linked to and is no page.
    """

    def moved(match: re.Match[str]) -> str:
        path = resolve(match["target"], source=source)
        if path is None:
            return match[0]
        if not is_page(path):
            on_file(path)
        target = posixpath.relpath(page_of(path), posixpath.dirname(page) or ".")
        return f"{match['before']}{target}{match['rest']}"

    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(moved, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, LINK.sub(moved, text[end:])])
