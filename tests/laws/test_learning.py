"""Every architecture learns, in distribution, a language that it can: `make test-slow`."""

import pytest

import ldru
from ldru.training.spec import TrainSpec

# The paper has all of them at 99 % or more on Tomita 7. Without positions an encoder sees a bag of
# symbols and cannot know 0*1*0*1*, so that one gets a language of bags: at least two ones.
TWO_ONES = "0*10*1(0|1)*"
STEPS = {"transformer_alibi": 6000, "transformer_rope": 3000}
LEARNING_RATES = {"regular_gpt": 3e-4}


@pytest.mark.slow
@pytest.mark.parametrize("name", ldru.MODELS)
def test_it_learns_in_distribution(name):
    is_bag = name == "transformer_nope"
    task = ldru.task(regex=TWO_ONES) if is_bag else ldru.task("tomita_7")
    settings = TrainSpec(
        steps=STEPS.get(name, 1500),
        learning_rate=LEARNING_RATES.get(name, 1e-3),
        batch_size=32,
        max_length=10,
        validate_every=10_000,
        validation_words=64,
        validation_length=10,
    )
    run = ldru.train(task, model=name, settings=settings)[0]
    evaluation = run.compute_evaluation(range(2, 11), words=64)
    assert evaluation.mean_accuracy() >= 0.99
    assert evaluation.mean_majority_share() < 0.8
