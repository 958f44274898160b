"""Settings to JSON and back, and the digest that names a run.

Settings are frozen dataclasses of plain values, tuples and other such dataclasses.
"""

import dataclasses
import hashlib
import json
import reprlib
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


def from_json(kind: type[Settings], data: Json, *, name: str = "") -> Settings:
    """The settings of that class from JSON values; missing fields take their defaults.

    name: what errors call them, instead of the class.
    """
    name = name or kind.__name__
    if not isinstance(data, dict):
        raise LdruError(f"{name} expects a JSON object, got {reprlib.repr(data)}")
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(data) - set(fields))
    if unknown:
        raise LdruError(
            f"{name} does not know {', '.join(unknown)[:200]}; known: {', '.join(fields)}"
        )
    lacking = [key for key in _required(kind) if key not in data]
    if lacking:
        raise LdruError(f"{name} lacks {', '.join(lacking)}")
    hints = typing.get_type_hints(kind)
    older = {key: _before(field) for key, field in fields.items() if field.metadata}
    data = {**older, **data}  # type: ignore[dict-item]
    values = {}
    for field, value in data.items():
        try:
            values[field] = _value(hints[field], value)
        except (TypeError, LdruError) as problem:
            raise LdruError(f"{field} of {name}: {problem}") from problem
    return kind(**values)


def check_kinds(settings: object) -> None:
    """Raise on a field of a dataclass whose value is not of the field's type."""
    hints = typing.get_type_hints(type(settings))
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, field.name)
        try:
            _value(hints[field.name], list(value) if isinstance(value, tuple) else value)
        except TypeError as problem:
            wanted = kind_name(hints[field.name])
            raise LdruError(
                f"{field.name} must be {wanted}, got {reprlib.repr(value)}"
            ) from problem


def _required(kind: type) -> list[str]:
    missing = dataclasses.MISSING
    fields = dataclasses.fields(kind)
    return [f.name for f in fields if f.default is missing and f.default_factory is missing]


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
        if isinstance(value, dict) and typing.get_origin(option) is dict:
            inner = typing.get_args(option)[1]
            return {name: _value(inner, item) for name, item in value.items()}
        if _fits(option, value):
            return value
    raise TypeError(f"expected {kind_name(hint)}, got {reprlib.repr(value)}")


def kind_name(hint: object) -> str:
    """A type hint as people read it."""
    if typing.get_origin(hint) is typing.Literal:
        return f"one of {', '.join(map(str, typing.get_args(hint)))}"
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")


def _fits(option: object, value: Json) -> bool:
    """Whether a plain value is of a plain kind; a whole number is a fine float.

    Whole numbers have 64 bits, as wherever they end up.
    """
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return False
    if typing.get_origin(option) is typing.Literal:
        return value in typing.get_args(option)
    if option is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if option is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, option) if isinstance(option, type) else False
