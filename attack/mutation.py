"""Spoil bytes and JSON values, by random numbers that are given."""

import copy
import json
from random import Random
from typing import Any

NUMBERS = (0, -1, 1, 2, 255, 2**15, 2**31 - 1, 2**31, 2**53, 2**63, -(2**63), 2**64, 10**30)
FLOATS = (0.5, -0.0, 1e-320, 1e308, -1e308, float("inf"), float("-inf"), float("nan"))
TEXTS = (
    "",
    " ",
    "..",
    "../../outside",
    "/tmp/outside",
    "a" * 300,
    "0" * 5000,
    "\0",
    "\n",
    "\ud800",
    "[/x]",
    "[b]a",
    "🦉",
    "nan",
    "parity_check",
    "[0,1]",
)


def odd_value(random: Random, depth: int = 0) -> Any:
    """A JSON value that nobody expects."""
    kind = random.randrange(8 if depth < 3 else 6)
    if kind == 0:
        return random.choice((None, True, False))
    if kind in (1, 2):
        return random.choice(NUMBERS)
    if kind == 3:
        return random.choice(FLOATS)
    if kind in (4, 5):
        return random.choice(TEXTS)
    inner = [odd_value(random, depth + 1) for _ in range(random.randrange(4))]
    return inner if kind == 6 else {random.choice(TEXTS): value for value in inner}


def spoil_json(random: Random, value: Any) -> Any:
    """A copy of a JSON value with one to three nodes replaced, removed, doubled or added."""
    spoiled = copy.deepcopy(value)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        places = list(_places(spoiled))
        if not places:
            return odd_value(random)
        holder, key = random.choice(places)
        action = random.randrange(6)
        if action == 0:
            del holder[key]
        elif action == 1 and isinstance(holder, dict):
            holder[random.choice(TEXTS)] = copy.deepcopy(holder[key])
        elif action == 1:
            holder.extend(copy.deepcopy(holder[key]) for _ in range(random.choice((1, 2, 1000))))
        elif action == 2:
            other, name = random.choice(places)
            if name in (other if isinstance(other, dict) else range(len(other))):
                holder[key] = copy.deepcopy(other[name])
        else:
            holder[key] = odd_value(random)
    return spoiled


def spoil_json_text(random: Random, value: Any) -> bytes:
    """A JSON value as text, spoiled as a value, as text, or both."""
    kind = random.randrange(20)
    if kind == 0:
        return _deep(random, value)
    if kind == 1:
        return _long_number(random, value)
    text = as_json(value if kind < 4 else spoil_json(random, value))
    return spoil_bytes(random, text) if kind < 8 else text


def spoil_bytes(random: Random, data: bytes) -> bytes:
    """Bytes with some flipped, cut out, doubled, replaced or moved."""
    spoiled = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        begin = random.randrange(len(spoiled) + 1)
        end = min(len(spoiled), begin + random.choice((1, 1, 2, 4, 8, 100)))
        action = random.randrange(7)
        if action < 2 and begin < len(spoiled):
            spoiled[begin] ^= 1 << random.randrange(8)
        elif action == 2:
            del spoiled[begin:end]
        elif action == 3:
            spoiled[begin:begin] = spoiled[begin:end] * random.choice((1, 2, 50))
        elif action == 4:
            spoiled[begin:end] = random.randbytes(end - begin)
        elif action == 5:
            spoiled[begin:end] = random.choice((b"\xff", b"\0")) * (end - begin)
        else:
            del spoiled[begin:]
    return bytes(spoiled)


def as_json(value: Any) -> bytes:
    """A value as JSON text, lone surrogates and all."""
    return json.dumps(value).encode()


def _deep(random: Random, value: Any) -> bytes:
    """A value nested so deep that a reader which calls itself runs out of stack."""
    depth = random.choice((100, 900, 5_000, 100_000))
    opening, closing = random.choice(((b"[", b"]"), (b'{"a":', b"}")))
    inner = opening * depth + b"1" + closing * depth
    if isinstance(value, dict) and value and random.random() < 0.7:
        key = random.choice(list(value))
        return as_json({**value, key: "@"}).replace(b'"@"', inner)
    return inner


def _long_number(random: Random, value: Any) -> bytes:
    """A number of more digits than Python converts, in the place of one value."""
    digits = random.choice(("9" * 5_000, "-" + "9" * 100_000, "1e400", "9" * 400))
    places = list(_places(value))
    if not places:
        return digits.encode()
    marked = copy.deepcopy(value)
    holder, key = random.choice(list(_places(marked)))
    holder[key] = "@"
    return as_json(marked).replace(b'"@"', digits.encode())


def _places(value: Any) -> Any:
    """Every (holder, key) of a nested value."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])
