"""Runs evaluated together against each alone."""

import ldru
from ldru.experiments import evaluating
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
    assert evaluating.together(runs) == [[0], [1], [2], [3], [4]]
    alone = evaluating.evaluate_runs(runs, [3, 4], words=20, seed=1)
    monkeypatch.setattr(evaluating, "together", lambda runs: [[0, 3, 2], [1], [4]])
    done = []
    shared = evaluating.evaluate_runs(runs, [4, 3], words=20, seed=1, on_length=done.append)
    assert done == [3, 4] * 3
    assert shared == alone
    assert alone[0].by_length.keys() == {3, 4}


def test_runs_of_one_architecture_share_a_group():
    first, second, other = (
        *trained("parity_check", [0, 1]),
        *trained("parity_check", [0], operator="grc"),
    )
    assert evaluating.are_alike(first.spec, second.spec)
    assert not evaluating.are_alike(first.spec, other.spec)
