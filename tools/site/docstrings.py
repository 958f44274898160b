"""Docstrings in the house style as Markdown, for mkdocstrings.

The style has arguments as plain lines (`name: meaning`) and examples as they look in Python's own
prompt. Markdown would run the first together and quote the second.
"""

import re

ARGUMENT = re.compile(r"^(?P<names>[a-z_]\w*(, [a-z_]\w*)*): (?P<meaning>.*)$")


def to_markdown(text: str) -> str:
    """A docstring with its arguments as a list and its examples as blocks of code."""
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n\s*\n", text))


def _paragraph(text: str) -> str:
    lines = text.split("\n")
    if lines[0].startswith(">>> "):
        return f"```pycon\n{text}\n```"
    items = [ARGUMENT.match(line) for line in lines if not line.startswith(" ")]
    if not items or not all(items):
        return text
    return "\n".join(_item(line) for line in lines)


def _item(line: str) -> str:
    found = ARGUMENT.match(line)
    if found is None:
        return f"    {line.strip()}"
    names = ", ".join(f"`{name}`" for name in found["names"].split(", "))
    return f"- {names}: {found['meaning']}"
