"""Runs evaluated together against each alone."""

import pytest
import torch

import ldru
from ldru.base.files import lock
from ldru.runs import evaluate
from ldru.training.spec import TrainSpec

SETTINGS = TrainSpec(batch_size=4, validation_words=4, validation_length=8, precision="float64")


def trained(task, seeds, **changes):
    spec = ldru.LDRUSpec(dim=4, **changes)
    runs = ldru.train(task, model=spec, steps=3, seeds=seeds, settings=SETTINGS)
    return list(runs.values())


def test_together_and_alone_give_the_same_counts(monkeypatch):
    """Several tasks, one with shorter words, several seeds, dropout rates and two widths."""
    runs = [
        *trained("parity_check", [0, 1]),
        *trained("modular_arithmetic", [0], dropout=0.3),
        *trained("dyck_2", [5]),
        *trained("parity_check", [0], operator="grc"),
    ]
    assert evaluate.together(runs) == [[0], [1], [2], [3], [4]]
    alone = evaluate.evaluate_runs(runs, [3, 4], words=20, seed=1)
    monkeypatch.setattr(evaluate, "together", lambda runs: [[0, 3, 2], [1], [4]])
    done = []
    shared = evaluate.evaluate_runs(runs, [4, 3], words=20, seed=1, on_part=done.append)
    assert done == [3, 4] * 3
    assert shared == alone
    assert alone[0].by_part.keys() == {3, 4}


def test_runs_of_a_data_set_give_the_same_counts_together_and_alone(monkeypatch, small_listops):
    runs = trained("listops_40", [0, 1])
    names = ["validation", "3,9 41-60", "5,14 5-20"]
    alone = evaluate.evaluate_runs(runs, names)
    monkeypatch.setattr(evaluate, "together", lambda runs: [[1, 0]])
    done = []
    shared = evaluate.evaluate_runs(runs, names, on_part=done.append)
    assert shared == alone
    assert done == names == list(alone[0].by_part)
    for run, evaluation in zip(runs, alone, strict=True):
        for name in names:
            words, result = run.task.words(name), evaluation.by_part[name]
            answers = [
                int(run.model(torch.tensor(words[i].tolist())[None]).argmax())
                for i in range(len(words))
            ]
            right = sum(a == b for a, b in zip(answers, words.labels.tolist(), strict=True))
            assert (result.correct, result.words) == (right, len(words))
    assert set(runs[0].evaluate()) == set(runs[0].task.tests)


def test_lengths_and_test_sets_are_not_mixed_up(small_listops):
    (run,) = trained("listops_40", [0])
    with pytest.raises(ldru.LdruError, match=r"evaluated by sets of words.*3,9 5-20.*got 41"):
        run.evaluate([41])
    with pytest.raises(ldru.LdruError, match=r"unknown set of words.*did you mean '3,9 41-60'"):
        run.evaluate(["3,9 41-61"])
    (other,) = trained("parity_check", [0])
    with pytest.raises(ldru.LdruError, match=r"evaluated by lengths, or kinds .*; got '3,9 5-20'"):
        other.evaluate(["3,9 5-20"])
    with pytest.raises(ldru.LdruError, match="evaluated by length; say which"):
        other.evaluate()


def test_runs_of_one_architecture_share_a_group():
    first, second, other = (
        *trained("parity_check", [0, 1]),
        *trained("parity_check", [0], operator="grc"),
    )
    assert evaluate.are_alike(first.spec, second.spec)
    assert not evaluate.are_alike(first.spec, other.spec)


def test_what_was_evaluated_before_an_end_on_the_way_is_kept(monkeypatch, tmp_path):
    """Stopped at length 47 of 100: the next call goes on after the last lengths that were kept."""
    run = ldru.train("parity_check", model=ldru.LDRUSpec(dim=4), steps=2, out=tmp_path)[0]
    lengths = list(range(1, 101))
    want = run.compute_evaluation(lengths, words=4)
    asked = []

    def stop(part):
        asked.append(part)
        if part == 47:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate.evaluate_missing([run], lengths, words=4, on_part=stop)
    again = ldru.Run.open(run.folder)
    assert list(again.record.evaluation.by_part) == lengths[:40]
    asked.clear()
    (found,) = evaluate.evaluate_missing([again], lengths, words=4, on_part=asked.append)
    assert asked == lengths[40:]
    assert found == want == ldru.Run.open(run.folder).record.evaluation
    (more,) = evaluate.evaluate_missing([ldru.Run.open(run.folder)], [3, 7], words=8)
    assert {part: result.words for part, result in more.by_part.items()} == {3: 8, 7: 8}


def test_what_a_killed_process_left_is_removed_also_where_nothing_is_missing(tmp_path):
    """Of two that evaluate one run, one may be killed when the other has written all."""
    run = ldru.train("parity_check", model=ldru.LDRUSpec(dim=4), steps=2, out=tmp_path)[0]
    evaluate.evaluate_missing([run], [3], words=4)
    left, held = (run.folder / f".record.json.{name}" for name in ("killed__", "writing_"))
    left.touch()
    with lock(held):
        evaluate.evaluate_missing([ldru.Run.open(run.folder)], [3], words=4)
    assert (left.exists(), held.exists()) == (False, True)
