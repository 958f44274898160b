"""Training that ends with a proof."""

import itertools
from dataclasses import replace

import pytest
import torch

import ldru
from ldru.analysis.counterexamples import verdict_words, weak_words
from ldru.training import observers
from ldru.training.hard_words import POOL_SIZE

pytestmark = pytest.mark.usefixtures("few_words")
MODEL = ldru.LDRUSpec(dim=8, leaf_block=True, dropout=0.0)
SETTINGS = ldru.TrainSpec(
    steps=100,
    learning_rate=1e-2,
    batch_size=64,
    max_length=7,
    l2=0.0,
    decay="cosine",
    random_trees=0.5,
    validate_every=100,
    validation_words=64,
)


@pytest.fixture(scope="module")
def rounds(few_words, tmp_path_factory):
    """Stopped early, a network is wrong on short words; rounds with these words mend it."""
    return ldru.train_until_proved(
        "parity_check",
        model=MODEL,
        settings=SETTINGS,
        rounds=20,
        execution=ldru.Execution(out=tmp_path_factory.mktemp("rounds")),
    )


def test_a_deliberately_wrong_model_becomes_right(rounds):
    first, last = rounds[0], rounds[-1]
    assert first.summary.startswith(f"wrong on {len(first.wrong)} short words, such as ")
    assert {answer.word for answer in first.run.predict(SHORT) if is_wrong(answer)} == set(
        first.wrong
    )
    assert not first.is_proved
    assert last.is_proved
    assert last.summary == "correct at every length"
    assert not any(map(is_wrong, last.run.predict([f"{number:012b}" for number in range(2**12)])))
    assert rounds[1].run.spec.counterexamples == first.wrong
    known = set()
    for before, after in itertools.pairwise(rounds):
        known |= {*before.wrong, *before.weak}
        assert set(after.run.spec.counterexamples) == known
    assert rounds[1].run.spec.init_from == first.run.spec.digest
    again = ldru.Run.open(rounds[1].run.folder)
    assert again.spec == rounds[1].run.spec  # counterexamples are part of a run's settings
    assert again.spec.digest != replace(again.spec, counterexamples=()).digest


def is_wrong(answer):
    return answer.label != answer.expected


SHORT = [f"{number:0{length}b}" for length in range(1, 8) for number in range(2**length)]


def test_the_words_of_verdicts_are_wrong_for_the_network_or_its_machine(rounds):
    run = rounds[0].run
    found = ldru.extract(run.model, run.task)
    words = verdict_words(found, max_length=1000)
    assert words
    for word, answer in zip(words, run.predict(words), strict=True):
        is_merged = found.chosen is not None and found.predict([word]) != [answer.expected]
        assert is_wrong(answer) or is_merged
    shortest = min(map(len, words))
    kept = verdict_words(found, max_length=shortest)
    assert set(kept) == {word for word in words if len(word) == shortest}


def test_weak_words_are_those_of_the_least_margin():
    """They are answered with less certainty than any of many short words."""
    run = ldru.Run.open("dyck_4")
    words = weak_words(run.model, run.language, max_length=40)
    assert len(words) == len(set(words)) == 150
    assert max(map(len, words)) <= 40
    answers = run.predict(words)
    sure = run.predict([f"{number:012b}" for number in range(0, 2**12, 7)])
    doubts = [1 - a.probability if is_wrong(a) else a.probability for a in answers]
    assert min(doubts) < min(a.probability for a in sure)


def test_counterexamples_are_in_the_pool_from_the_start():
    run = ldru.train("dyck_1", model=MODEL, settings=SETTINGS, steps=1)[0]
    from ldru.runs.train import _member
    from ldru.training.fleet import Fleet

    spec = replace(
        run.spec,
        train=replace(SETTINGS, hard_words=0.25),
        counterexamples=("0011", "1100", "01"),
    )
    pool = Fleet([_member(spec, run.task, None)]).hard_words
    assert pool.tokens[0, 3, :2, :4].tolist() == [[0, 0, 1, 1], [1, 1, 0, 0]]
    assert pool.labels[0, 3, :2].tolist() == [0, 0]
    assert pool.labels[0, 1, 0] == 1
    given = (pool.tokens[0, 3, :, :4] == torch.tensor([0, 0, 1, 1])).all(dim=1)
    assert given.sum() >= POOL_SIZE // 4  # half of the places belong to the two of this length
    with pytest.raises(ldru.LdruError, match="a counterexample has 12 symbols, training goes up"):
        Fleet([_member(replace(spec, counterexamples=("01" * 6,)), run.task, None)])


def big_machine():
    """Three generators of all maps of seven states: a monoid of 7^7 elements."""
    maps = [[1, 2, 3, 4, 5, 6, 0], [1, 0, 2, 3, 4, 5, 6], [0, 0, 2, 3, 4, 5, 6]]
    return ldru.MooreMachine(
        alphabet=["a", "b", "c"],
        delta=torch.tensor(maps).T.numpy(),
        output=torch.tensor([1, 0, 0, 0, 0, 0, 0]).numpy(),
    )


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        ("parity_check", "rnn", "a proof needs states that meet in a tree.*got RNNSpec"),
        ("sst2", "ldru", "'sst2' is a data set: only a regular language can be proved"),
        (big_machine, "ldru", "'big' has more than 10,000 elements.*train without a proof"),
    ],
)
def test_what_cannot_be_proved_is_one_clear_error_before_training(task, model, message):
    given = ldru.task("big", machine=task()) if callable(task) else task
    with pytest.raises(ldru.LdruError, match=message):
        ldru.train_until_proved(given, model=model)


def test_the_bar_counts_the_steps_of_each_round(capsys, monkeypatch):
    monkeypatch.setattr(observers, "SECONDS_BETWEEN_LINES", 0.0)
    with observers.ProgressBar(steps=20) as bar:
        ldru.train_until_proved(
            "dyck_1",
            model=MODEL,
            settings=replace(SETTINGS, steps=20),
            rounds=1,
            execution=ldru.Execution(observers=[bar]),
        )
    lines = capsys.readouterr().err.splitlines()
    assert any("step 20 of 20," in line for line in lines)
    assert any("step 4 of 4," in line for line in lines)
