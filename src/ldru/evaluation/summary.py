"""An evaluation in a few rows: ranges of lengths, even and odd apart where chance differs."""

from collections.abc import Sequence
from dataclasses import dataclass

from ldru.evaluation.accuracy import Evaluation

WIDE = 100


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """Means over some lengths; `worst` is the least accurate of them."""

    name: str
    accuracy: float
    majority_share: float
    worst_length: int
    worst_accuracy: float


def summarise(evaluation: Evaluation, *, max_length: int) -> list[SummaryRow]:
    """Rows for ranges of lengths, then for all trained and all longer lengths."""
    ranges = ranges_of(evaluation, max_length=max_length)
    return [_row(evaluation, name, lengths) for name, lengths in ranges.items()]


def ranges_of(evaluation: Evaluation, *, max_length: int) -> dict[str, list[int]]:
    """The lengths of every row, by its name."""
    lengths = evaluation.lengths
    ranges = {
        f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]): part
        for part in _parts(lengths, max_length)
    }
    groups = {
        f"trained, up to {max_length}": evaluation.within(1, max_length),
        f"longer than {max_length}": evaluation.within(max_length + 1, lengths[-1]),
    }
    for name, chosen in groups.items():
        if chosen:
            ranges |= {name: chosen, **_by_parity(evaluation, name, chosen)}
    return ranges


def _parts(lengths: Sequence[int], max_length: int) -> list[list[int]]:
    """Trained lengths, then hundreds."""

    def bucket(length: int) -> int:
        return 0 if length <= max_length else 1 + (length - 1) // WIDE

    parts: dict[int, list[int]] = {}
    for length in lengths:
        parts.setdefault(bucket(length), []).append(length)
    return list(parts.values())


def _by_parity(evaluation: Evaluation, name: str, lengths: list[int]) -> dict[str, list[int]]:
    """Even and odd lengths apart, when guessing is easier on one of them."""
    even = [length for length in lengths if length % 2 == 0]
    odd = [length for length in lengths if length % 2]
    if not even or not odd:
        return {}
    difference = evaluation.mean_majority_share(even) - evaluation.mean_majority_share(odd)
    if abs(difference) < 0.05:
        return {}
    return {f"{name}, even": even, f"{name}, odd": odd}


def _row(evaluation: Evaluation, name: str, lengths: Sequence[int]) -> SummaryRow:
    worst = min(lengths, key=lambda length: evaluation.by_part[length].accuracy)
    return SummaryRow(
        name=name,
        accuracy=evaluation.mean_accuracy(lengths),
        majority_share=evaluation.mean_majority_share(lengths),
        worst_length=worst,
        worst_accuracy=evaluation.by_part[worst].accuracy,
    )
