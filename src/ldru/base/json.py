"""Settings to JSON and back, and the digest that names a run.

Settings are frozen dataclasses of plain values, tuples and other such dataclasses.
"""

import dataclasses
import hashlib
import json
import types
import typing
from typing import TypeVar

from ldru.base.errors import LdruError

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Settings = TypeVar("Settings")


LATER = {"later": True}
"""Marks a field that was added after runs had been named: it is in the JSON only where it is not at
its default, so that their settings keep their digests."""


def added(*, before: Json) -> dict[str, Json]:
    """Metadata of a field that was added later, and whose default is not what runs had before."""
    return {"before": before}


def to_json(settings: object) -> dict[str, Json]:
    """A settings dataclass as JSON values; tuples become lists."""
    data = json.loads(json.dumps(dataclasses.asdict(settings)))  # type: ignore[call-overload]
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        if field.metadata and getattr(settings, field.name) == _before(field):
            del data[field.name]
    return data


def from_json(kind: type[Settings], data: Json) -> Settings:
    """The settings of that class from JSON values; missing fields take their defaults."""
    if not isinstance(data, dict):
        raise LdruError(f"{kind.__name__} expects a JSON object, got {json.dumps(data)[:80]}")
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(data) - set(fields))
    if unknown:
        raise LdruError(
            f"{kind.__name__} does not know {', '.join(unknown)}; known: {', '.join(fields)}"
        )
    hints = typing.get_type_hints(kind)
    older = {name: _before(field) for name, field in fields.items() if field.metadata}
    data = {**older, **data}  # type: ignore[dict-item]
    try:
        return kind(**{name: _value(hints[name], value) for name, value in data.items()})
    except TypeError as problem:
        raise LdruError(f"{kind.__name__} cannot be read from its JSON: {problem}") from problem


def check_kinds(settings: object) -> None:
    """Raise on a field of a dataclass whose value is not of the field's type."""
    hints = typing.get_type_hints(type(settings))
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, field.name)
        try:
            _value(hints[field.name], list(value) if isinstance(value, tuple) else value)
        except TypeError as problem:
            hint = hints[field.name]
            wanted = hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
            raise LdruError(f"{field.name} must be {wanted}, got {value!r}") from problem


def _before(field: dataclasses.Field) -> object:
    """The value that settings had before this field was added."""
    return field.metadata.get("before", field.default)


def digest(data: object) -> str:
    """Twelve hexadecimal digits that name JSON values, whatever the order of their keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _value(hint: object, value: Json) -> object:
    """One field's value, by its type hint."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    for option in options:
        if isinstance(value, dict) and dataclasses.is_dataclass(option):
            return from_json(typing.cast(type, option), value)
        if isinstance(value, list) and typing.get_origin(option) is tuple:
            inner = typing.get_args(option)[0]
            return tuple(_value(inner, item) for item in value)
        if _fits(option, value):
            return value
    raise TypeError(f"{value!r} is not of the kind {hint}")


def _fits(option: object, value: Json) -> bool:
    """Whether a plain value is of a plain kind; a whole number is a fine float."""
    if typing.get_origin(option) is typing.Literal:
        return value in typing.get_args(option)
    if option is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if option is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, option) if isinstance(option, type) else False
