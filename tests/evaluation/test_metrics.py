"""Metrics from counts against scikit-learn on the answers themselves."""

import pytest
import torch

from ldru.base.errors import LdruError
from ldru.evaluation.accuracy import count_answers
from ldru.evaluation.metrics import METRICS

CASES = ([0.3, 0.7], [0.5, 0.1], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0])


@pytest.mark.parametrize("shares", CASES, ids=str)
@pytest.mark.parametrize("labels", ["mixed", "ones", "zeros"])
def test_metrics_are_those_of_scikit_learn(shares, labels):
    """shares: of the answers to either class that are 1."""
    metrics = pytest.importorskip("sklearn.metrics")
    random = torch.Generator().manual_seed(0)
    kinds = {"mixed": torch.randint(2, (99,), generator=random), "ones": torch.ones(99)}
    right = kinds.get(labels, torch.zeros(99)).long()
    answers = (torch.rand(99, generator=random) < torch.tensor(shares)[right]).long()
    result = count_answers(answers, right, 2)
    options = {"labels": [0, 1], "zero_division": 0.0}
    want = {
        "accuracy": metrics.accuracy_score(right, answers),
        "f1": metrics.f1_score(right, answers, zero_division=0.0),
        "macro_f1": metrics.f1_score(right, answers, average="macro", **options),
        "matthews": 0.0
        if len({*right.tolist()}) == 1 or len({*answers.tolist()}) == 1
        else metrics.matthews_corrcoef(right, answers),
    }
    assert {name: metric(result) for name, metric in METRICS.items()} == pytest.approx(want)


def test_metrics_of_two_classes_say_so():
    result = count_answers(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 2]), 3)
    assert METRICS["accuracy"](result) == 1
    with pytest.raises(LdruError, match="two classes, got"):
        METRICS["matthews"](result)
