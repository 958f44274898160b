"""Steps until networks are right, read off logs written by hand."""

import pytest
from tools.steps import reached, settled

from ldru.training.log import LogEntry


@pytest.mark.parametrize(
    ("accuracies", "first", "last"),
    [
        ([0.5, 1.0, 1.0], 20, 20),
        ([1.0, 0.999, 1.0], 10, 30),
        ([1.0, 0.9995, 0.9996], 10, 10),
        ([0.9, 1.0, 0.99], 20, None),
        ([0.9, 0.9, 0.9], None, None),
        ([], None, None),
    ],
)
def test_the_first_right_validation_and_the_one_from_which_all_are(accuracies, first, last):
    log = [
        LogEntry(
            step=10 * (number + 1),
            loss=0.1,
            validation_loss=0.1,
            validation_accuracy=accuracy,
            learning_rate=0.1,
            seconds=1.0,
        )
        for number, accuracy in enumerate(accuracies)
    ]
    assert (reached(log), settled(log)) == (first, last)
