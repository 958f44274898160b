"""What a request may ask for: sizes are checked before any work begins."""

import math
import re

from ldru.base.errors import LdruError

LONGEST_WORD = 64
"""Symbols of a word whose tree is shown."""

LONGEST_LENGTH = 10_000
"""Symbols of a word that is drawn at random and answered."""

LONGEST_REGEX = 200
MOST_COPIES = 1_000
"""How often `{n}` may repeat something, all of them multiplied."""

MOST_STATES = 60
"""Of a machine that is drawn."""

LARGEST_MONOID = 1_000
MOST_STEPS = 20_000
LARGEST_DIM = 64
LARGEST_BATCH = 256
LONGEST_TRAINING_WORD = 40


class RequestError(LdruError):
    """What was asked for cannot be answered; the page shows the message."""


def whole(text: str | None, *, name: str, low: int, high: int, default: int) -> int:
    """A whole number of a request, within its bounds."""
    if text is None or text == "":
        return default
    if not re.fullmatch(r"\d{1,9}", text) or not low <= int(text) <= high:
        raise RequestError(f"{name} is a whole number from {low:,} to {high:,}, got {text[:20]!r}")
    return int(text)


def check_regex(regex: str) -> str:
    """A regular expression that is small enough to be worked out at once."""
    if not 0 < len(regex) <= LONGEST_REGEX:
        raise RequestError(
            f"a regular expression here has 1 to {LONGEST_REGEX} characters, got {len(regex):,}"
        )
    counts = [int(number) for number in re.findall(r"\d{1,9}(?=\s*[,}])", regex)]
    if math.prod(max(1, count) for count in counts) > MOST_COPIES:
        raise RequestError(
            f"the repetitions of {regex[:40]!r} come to more than {MOST_COPIES:,} copies; the "
            "command line has no such limit"
        )
    return regex


def check_word(tokens: list[int]) -> list[int]:
    """A word that is short enough for a picture."""
    if not 1 <= len(tokens) <= LONGEST_WORD:
        raise RequestError(f"a tree is shown over 1 to {LONGEST_WORD} symbols, got {len(tokens):,}")
    return tokens
