"""Every architecture learns a language that the paper shows it to learn."""

import pytest

import ldru
from ldru.training.spec import TrainSpec

# The paper has all of them at 99 % or more in distribution on Tomita 7.
SETTINGS = TrainSpec(
    steps=1000,
    learning_rate=1e-3,
    batch_size=32,
    max_length=10,
    validate_every=1000,
    validation_words=64,
    validation_length=10,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ldru.MODELS)
def test_it_learns_tomita_7_in_distribution(name):
    run = ldru.train("tomita_7", model=name, settings=SETTINGS)[0]
    evaluation = run.evaluation(range(1, 11), words=64)
    assert evaluation.mean_accuracy() >= 0.99
    assert evaluation.mean_majority_share() < 0.8
