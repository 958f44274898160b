"""Runs side by side."""

import math
from dataclasses import replace

import pytest

import ldru
from ldru.runs.compare import names_of, side_by_side

SMALL = ldru.LDRUSpec(dim=4)
QUICK = ldru.TrainSpec(steps=2, batch_size=4, max_length=4, validation_length=8, validation_words=8)


def trained(task="parity_check", model=SMALL, seeds=(0,), **changes):
    return list(
        ldru.train(task, model=model, seeds=seeds, settings=replace(QUICK, **changes)).values()
    )


def test_columns_are_named_by_what_differs():
    base = trained()[0].spec
    wide = replace(base, model=replace(base.model, dim=8))
    assert names_of([base]) == [base.name]
    assert names_of([base, replace(base, seed=1)]) == ["seed 0", "seed 1"]
    assert names_of([base, wide, replace(wide, seed=1)]) == ["dim=4", "dim=8", "dim=8"]
    other = replace(wide, task=ldru.task("dyck_2").spec, train=replace(base.train, steps=3))
    assert names_of([base, other]) == [
        "parity_check, dim=4, steps=2",
        "dyck_2, dim=8, steps=3",
    ]


def test_settings_of_other_models_tell_no_runs_apart():
    ours, lstm = trained()[0].spec, trained(model="lstm")[0].spec
    assert names_of([ours, lstm]) == ["ldru", "lstm"]
    wide = replace(ours, model=replace(ours.model, dim=8))
    assert names_of([ours, lstm, wide]) == ["ldru, dim=4", "lstm, dim=256", "ldru, dim=8"]


def test_own_languages_of_one_name_are_told_apart():
    first, second = (
        trained(ldru.task("mine", machine=ldru.from_regex(regex)))[0].spec
        for regex in ("(01)*", "(10)*")
    )
    names = names_of([first, second])
    assert names[0] != names[1]
    assert all(name.startswith("machine=") for name in names)


def test_means_deviations_and_tests_over_seeds():
    narrow, wide = (trained(model=ldru.LDRUSpec(dim=d), seeds=(0, 1, 2)) for d in (4, 8))
    found = ldru.compare([*narrow, *wide], [3, 4, 5, 6], words=16)
    (last,) = (row for row in found.rows() if row["lengths"] == "longer than 4")
    own = [run.compute_evaluation([5, 6], words=16).mean_accuracy() for run in narrow]
    theirs = [run.compute_evaluation([5, 6], words=16).mean_accuracy() for run in wide]
    mean = sum(own) / 3
    assert last["dim=4"] == pytest.approx(mean)
    deviation = math.sqrt(sum((a - mean) ** 2 for a in own) / 2)
    assert last["dim=4, deviation"] == pytest.approx(deviation)
    (test,) = found.tests()
    assert (test["column"], test["against"], test["seeds"]) == ("dim=8", "dim=4", 3)
    assert test["difference"] == pytest.approx(sum(theirs) / 3 - mean)
    assert 0 <= test["p"] <= 1
    figure = found.plot()
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["dim=4", "dim=8", "majority share"]


def test_one_seed_or_other_tasks_give_no_test():
    runs = [*trained(seeds=(0, 1)), *trained("even_pairs", seeds=(0, 1))]
    (test,) = ldru.compare(runs, [5], words=8).tests()
    assert test["p"] is None
    (test,) = ldru.compare([*trained(), *trained(steps=3)], [5], words=8).tests()
    assert (test["seeds"], test["p"]) == (1, None)


def test_runs_trained_up_to_other_lengths_share_no_longer_ones():
    runs = [*trained(), *trained(max_length=6)]
    found = ldru.compare(runs, [5, 7], words=8)
    assert list(found.columns) == ["max_length=4", "max_length=6"]
    assert [row["lengths"] for row in found.rows()][:2] == ["5-7", "all"]


def test_what_records_have_is_not_evaluated_again(tmp_path):
    runs = ldru.train("parity_check", model=SMALL, settings=QUICK, seeds=(0, 1), out=tmp_path)
    paths = [run.folder for run in runs.values()]
    with pytest.raises(ldru.LdruError, match=r"no evaluated length .* in common"):
        ldru.compare(paths)
    first = ldru.compare(paths, [5, 6], words=8)
    assert ldru.compare(paths).rows() == first.rows()
    assert first.to_markdown().startswith("| lengths | seed 0 | seed 1 |")


def test_wrong_runs():
    (run,) = trained()
    with pytest.raises(ldru.LdruError, match="nothing to compare"):
        ldru.compare([])
    with pytest.raises(ldru.LdruError, match="is given twice"):
        ldru.compare([run, run], [5])
    with pytest.raises(ldru.LdruError, match="no run folder 'nowhere'"):
        ldru.compare(["nowhere"], [5])
    evaluation = run.compute_evaluation([5], words=8)
    assert side_by_side([run.spec], [evaluation]).tests() == []


def test_a_run_and_its_evaluation_are_drawn():
    (run,) = trained()
    with pytest.raises(ldru.LdruError, match="say which lengths to draw"):
        run.plot()
    (axes,) = run.plot([3, 5, 7], words=8).axes
    assert axes.lines[0].get_xdata().tolist() == [3, 5, 7]
    assert axes.get_title() == run.spec.name
    assert axes.get_xlabel() == "length of the word"
