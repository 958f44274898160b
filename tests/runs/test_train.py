"""Training from Python, as a user types it."""

import pytest

import ldru
from ldru.training import observers

QUICK = {"steps": 2, "batch_size": 4, "max_length": 4, "validation_length": 8}


def test_settings_by_name_change_the_recipe():
    runs = ldru.train("dyck_2", dim=4, dropout=0.3, seeds=2, **QUICK)
    assert sorted(runs) == [0, 1]
    spec = runs[1].spec
    ours = ldru.recipe("random_trees")
    assert (spec.model.dim, spec.model.dropout, spec.model.leaf_block) == (4, 0.3, True)
    assert (spec.train.batch_size, spec.train.random_trees) == (4, ours.train.random_trees)
    paper = ldru.train("dyck_2", recipe="paper", dim=4, **QUICK)[0].spec
    assert (paper.model.leaf_block, paper.train.l2, paper.train.random_trees) == (False, 5e-4, 0.0)
    lstm = ldru.train("dyck_2", model="lstm", dim=4, **QUICK)[0].spec
    assert (lstm.model.dim, lstm.train.batch_size) == (4, 4)


def test_names_come_before_given_settings():
    given = ldru.TrainSpec(steps=9, batch_size=2, max_length=4, validation_length=8)
    run = ldru.train("parity_check", model=ldru.LDRUSpec(dim=4), settings=given, steps=3)[0]
    assert (run.spec.train.steps, run.spec.train.batch_size) == (3, 2)


def test_wrong_settings():
    with pytest.raises(ldru.LdruError, match=r"unknown setting 'batchsize' .*'batch_size'"):
        ldru.train("parity_check", batchsize=4)
    with pytest.raises(ldru.LdruError, match="unknown setting 'leaf_block'"):
        ldru.train("parity_check", model="rnn", leaf_block=True)
    with pytest.raises(ldru.LdruError, match="there is nothing to train"):
        ldru.train("parity_check", seeds=0)
    with pytest.raises(ldru.LdruError, match="seed is a whole number, got 'a'"):
        ldru.train("parity_check", seeds=["a"])


def test_progress_is_a_line_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    ldru.train("parity_check", dim=4, progress=True, **QUICK)
    assert capsys.readouterr().err == ""  # too short for a line
    monkeypatch.setattr(observers, "SECONDS_BETWEEN_LINES", 0.0)
    ldru.train("parity_check", dim=4, progress=True, **QUICK)
    assert "training: step 2 of 2, loss " in capsys.readouterr().err
