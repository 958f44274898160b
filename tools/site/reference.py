"""The reference: a page of docstrings for each section of docs/reference.md."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import ldru

SECTION = re.compile(r"^## (?P<title>.+?)\n(?P<body>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
NAMES = re.compile(r"^\| (?P<names>`\w+`(?:, `\w+`)*) \|", flags=re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the reference and the public names it lists."""

    title: str
    names: tuple[str, ...]

    @property
    def page(self) -> str:
        """Where it stands on the site."""
        return f"reference/{self.title.lower().replace(' ', '_')}.md"


def sections(text: str) -> list[Section]:
    """The sections of docs/reference.md that list names."""
    found = [
        Section(title=part["title"], names=tuple(_names(part["body"])))
        for part in SECTION.finditer(text)
    ]
    return [section for section in found if section.names]


def _names(text: str) -> Iterator[str]:
    for row in NAMES.finditer(text):
        yield from re.findall(r"`(\w+)`", row["names"])


def home(name: str) -> str:
    """The full path of a public name, where its docstring stands."""
    place = ldru._HOMES[name]
    return place if name in ldru._MODULES else f"{place}.{name}"


def section_page(section: Section) -> str:
    """The docstrings of a section."""
    entries = "\n\n".join(_entry(name) for name in section.names)
    return (
        f"# {section.title}\n\n"
        f"Public names for {section.title.lower()}, from their docstrings. "
        "[All names](../reference.md) are on one page.\n\n"
        f"{entries}\n"
    )


def _entry(name: str) -> str:
    members = ""
    if name in ldru._MODULES:
        public = getattr(getattr(ldru, name), "__all__", None)
        members = f"\n      members: [{', '.join(public)}]" if public else ""
        members += "\n      show_root_members_full_path: false"
    return (
        f"::: {home(name)}\n    options:\n"
        f"      heading: ldru.{name}\n      toc_label: {name}{members}"
    )


def linked_overview(text: str) -> str:
    """docs/reference.md, each name linked to its docstring."""

    def linked(row: re.Match[str]) -> str:
        links = re.sub(r"`(\w+)`", lambda name: f"[`{name[1]}`][{home(name[1])}]", row["names"])
        return f"| {links} |"

    return NAMES.sub(linked, text)
