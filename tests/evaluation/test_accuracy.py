import numpy as np
import pytest
import torch
from scipy import stats

import ldru
from ldru.evaluation.accuracy import PartResult, evaluate
from ldru.evaluation.answers import TOKENS_AT_ONCE
from ldru.evaluation.lengths import parse_lengths


def machine_scorer(task):
    """A scorer that is always right."""

    def score(tokens):
        labels = torch.from_numpy(task.machine.run(tokens))
        return torch.nn.functional.one_hot(labels, task.num_classes).double()

    return score


@pytest.mark.parametrize("name", ["parity_check", "dyck_2", "prefix_2_2"])
def test_the_machine_itself_is_always_right(name):
    task = ldru.task(name)
    result = evaluate(machine_scorer(task), task, [1, 2, 40, 41], words=50)
    assert result.accuracy == {1: 1.0, 2: 1.0, 40: 1.0, 41: 1.0}
    assert all(r.words == 50 for r in result.by_part.values())


def test_a_constant_scorer_has_the_share_of_its_label():
    task = ldru.task("dyck_2")
    result = evaluate(
        lambda t: torch.tensor([[1.0, 0.0]]).expand(len(t), 2), task, [10, 11], words=400
    )
    assert result.by_part[11].accuracy == 1.0  # odd words are never balanced
    assert result.by_part[11].majority_share == 1.0
    ten = result.by_part[10]
    assert ten.accuracy == ten.words_by_class[0] / 400
    assert ten.accuracy_by_class == {0: 1.0, 1: 0.0}
    assert result.mean_accuracy() == pytest.approx((ten.accuracy + 1) / 2)
    assert result.mean_accuracy([11]) == 1.0
    assert result.accuracy_by_class() == {0: 1.0, 1: 0.0}


def test_every_model_sees_the_same_words_and_a_seed_changes_them():
    task = ldru.task("parity_check")
    seen = []

    def score(tokens):
        seen.append(tokens)
        return torch.zeros(len(tokens), 2)

    for seed in (0, 0, 1):
        evaluate(score, task, [30], words=20, seed=seed)
    assert torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[0], seen[2])


def test_memory_is_bounded():
    task = ldru.task("parity_check")
    sizes = []

    def score(tokens):
        sizes.append(tokens.numel())
        return torch.zeros(len(tokens), 2)

    evaluate(score, task, [5000], words=40)
    assert len(sizes) > 1
    assert max(sizes) <= TOKENS_AT_ONCE["cpu"]


@pytest.mark.parametrize(("correct", "words"), [(0, 10), (10, 10), (7, 10), (512, 512), (300, 512)])
def test_wilson_interval(correct, words):
    result = PartResult(words_by_class={0: words}, correct_by_class={0: correct})
    expected = stats.binomtest(correct, words).proportion_ci(method="wilson")
    assert result.interval() == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert 0 <= result.interval()[0] <= result.accuracy <= result.interval()[1] <= 1


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("41:44", [41, 42, 43, 44]),
        ("10:30:10", [10, 20, 30]),
        ("80,40", [40, 80]),
        ("1:2,7", [1, 2, 7]),
        ("5", [5]),
    ],
)
def test_lengths_from_text(text, lengths):
    assert parse_lengths(text) == lengths


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("50:41", "runs backwards; write 41:50"),
        ("0:5", "count from 1"),
        ("a", "cannot read"),
        ("", "cannot read"),
        ("1:2:3:4", "cannot read"),
        ("-5", "cannot read"),
        ("1:9:0", "count from 1"),
        ("5:0", "count from 1"),
        ("²", "cannot read"),
        ("1:99999999999", "beyond the limit of 1,000,000"),
    ],
)
def test_bad_lengths_are_one_clear_error(text, message):
    with pytest.raises(ldru.LdruError, match=message):
        parse_lengths(text)


def test_other_bad_input_is_one_clear_error():
    task = ldru.task("parity_check")
    with pytest.raises(ldru.LdruError, match="length 0"):
        evaluate(machine_scorer(task), task, [0])
    with pytest.raises(ldru.LdruError, match="at least one length"):
        evaluate(machine_scorer(task), task, [])
    with pytest.raises(ldru.LdruError, match="at least one word"):
        evaluate(machine_scorer(task), task, [3], words=0)


def test_lengths_may_be_any_whole_numbers():
    def guess(tokens):
        return torch.zeros(len(tokens), 2)

    task = ldru.task("parity_check")
    found = evaluate(guess, task, np.arange(3, 8, 2), words=4)
    assert list(found.by_part) == [3, 5, 7]
    for wrong in ([2.5], [True], ["3"], 5, "3"):
        with pytest.raises(ldru.LdruError, match="lengths"):
            evaluate(guess, task, wrong)
