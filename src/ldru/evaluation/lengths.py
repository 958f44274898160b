"""Lengths of test words as people write them, and how many words of each are drawn."""

from ldru.base.errors import LdruError
from ldru.base.limits import check_limit

WORDS = 512
"""Test words of each length, as in the paper."""


def parse_lengths(text: str) -> list[int]:
    """Lengths from text: `41:500` (both ends), `10:100:5` (a step), `40,80,160`, or a mix."""
    lengths: list[int] = []
    for part in text.split(","):
        pieces = part.strip().split(":")
        if not 1 <= len(pieces) <= 3 or not all(
            piece.isascii() and piece.isdigit() and len(piece) < 19 for piece in pieces
        ):
            raise LdruError(
                f"cannot read the lengths {text[:200]!r}; write 41:500, 10:100:5 or 40,80"
            )
        numbers = [int(piece) for piece in pieces]
        low, high = numbers[0], numbers[1] if len(numbers) > 1 else numbers[0]
        step = numbers[2] if len(numbers) == 3 else 1
        if low < 1 or high < 1 or step < 1:
            raise LdruError(f"lengths and steps count from 1, got {part.strip()!r}")
        check_limit("length", high, f"evaluating {part.strip()}")
        if high < low:
            raise LdruError(f"the range {part.strip()!r} runs backwards; write {high}:{low}")
        lengths.extend(range(low, high + 1, step))
    return sorted(set(lengths))
