"""An evaluation in a few rows."""

import pytest

from ldru.evaluation.accuracy import Evaluation, PartResult
from ldru.evaluation.summary import summarise


def counts(right, wrong, *, other=0):
    """Of a hundred words: those of class 0 that were right and wrong, and class 1, all right."""
    return PartResult(
        words_by_class={0: right + wrong, 1: other}, correct_by_class={0: right, 1: other}
    )


def test_rows_are_ranges_of_lengths_with_the_worst_of_each():
    by_length = {
        4: counts(50, 0, other=50),
        5: counts(90, 10),
        6: counts(50, 0, other=50),
        7: counts(70, 30),
        150: counts(20, 30, other=50),
    }
    rows = {row.name: row for row in summarise(Evaluation(by_part=by_length), max_length=5)}
    assert list(rows) == ["4-5", "6-7", "150", *PARTS]
    assert (rows["6-7"].worst_length, rows["6-7"].worst_accuracy) == (7, 0.7)
    assert rows["6-7"].accuracy == pytest.approx(0.85)
    longer = rows["longer than 5"]
    assert (longer.worst_length, longer.accuracy) == (7, pytest.approx(2.4 / 3))
    assert longer.majority_share == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert rows["longer than 5, odd"].majority_share == 1
    assert rows["longer than 5, even"].worst_length == 150


PARTS = [
    f"{name}{parity}"
    for name in ("trained, up to 5", "longer than 5")
    for parity in ("", ", even", ", odd")
]
