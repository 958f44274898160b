"""Links of the finished site: every file and every anchor that a page names must be there.

The generator checks what is written in Markdown; pages also have links in HTML and pictures. And
nothing may be loaded from elsewhere: the site works without a network.
"""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ldru.base.errors import RunError


class _Page(HTMLParser):
    """The names that a page defines, and the addresses it uses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.addresses: list[str] = []
        self.loaded: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.names.add(value)
            elif name in ("href", "src") and value:
                self.addresses.append(value)
                if name == "src" or tag == "link":
                    self.loaded.add(value)


def broken_links(folder: Path) -> list[str]:
    """What is wrong with a site, a line for each link that leads nowhere or elsewhere."""
    pages = {path: _Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    problems = []
    for path, page in pages.items():
        for address in dict.fromkeys(page.addresses):
            is_web = bool(urlsplit(address).scheme or urlsplit(address).netloc)
            if is_web and address in page.loaded:
                problems.append(f"{path.relative_to(folder)}: {address}: loaded from elsewhere")
            elif not is_web and (problem := _problem(address, path, pages, folder)):
                problems.append(f"{path.relative_to(folder)}: {address}: {problem}")
    return problems


def _problem(address: str, path: Path, pages: dict[Path, _Page], folder: Path) -> str | None:
    parts = urlsplit(address)
    if parts.path.startswith("/"):
        return None if path.name == "404.html" else "begins at the host's root"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return "no such file"
    is_view = "playground" in target.relative_to(folder.resolve()).parts
    if parts.fragment and target.suffix == ".html" and not is_view:
        names = pages[target].names if target in pages else _Page(target.read_text()).names
        if unquote(parts.fragment) not in {*names, "__search", "__toc"}:
            return "no such anchor"
    return None


def check_site(folder: Path) -> None:
    """Raise unless every link of a site leads somewhere."""
    if problems := broken_links(folder):
        raise RunError("links that lead nowhere:\n  " + "\n  ".join(problems))
