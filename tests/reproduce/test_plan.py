"""Plans: what is there, and the fleets that would make the rest."""

import json
from dataclasses import replace

import pytest

import ldru
from ldru.paper.tables import TABLES
from ldru.reproduce.plan import Job, make_plan
from ldru.reproduce.render import as_markdown, cell_results
from ldru.reproduce.table_runs import table_runs
from ldru.runs.results import Results, State
from tests.reproduce.tables import one_run, small_table, work


def test_a_plan_groups_what_could_train_together(tmp_path):
    plan = make_plan([small_table()], Results(tmp_path))
    assert plan.count(State.MISSING) == 8
    assert plan.model_steps == 32
    assert [len(job.specs) for job in plan.jobs] == [4, 4]
    assert plan.jobs[0].parts == (1, 2, 3, 4, 5, 6)
    parts = make_plan([small_table()], Results(tmp_path), fleet_size=3).jobs
    assert [len(job.specs) for job in parts] == [3, 1, 3, 1]
    assert Job.from_json(json.loads(json.dumps(plan.jobs[0].to_json()))) == plan.jobs[0]


def test_an_evaluation_on_fewer_words_does_not_fill_a_table(tmp_path):
    table, folder = one_run(), Results(tmp_path)
    (spec,) = table_runs(table)
    work("local", make_plan([replace(table, words=7)], folder).jobs)
    assert folder.recorded_evaluation(spec, table.lengths, words=7) is not None
    assert folder.recorded_evaluation(spec, table.lengths, words=8) is None
    assert make_plan([table], folder).count(State.NOT_EVALUATED) == 1
    work("local", make_plan([table], folder).jobs)
    assert folder.recorded_evaluation(spec, table.lengths, words=8) is not None
    run = ldru.Run.open(folder.runs / spec.name)
    fewer = run.compute_evaluation([5], words=7)
    assert run.with_evaluation(fewer).record.evaluation.by_part[5].words == 8  # nothing is lost


def test_estimates_know_data_sets_from_drawn_words(tmp_path):
    read = make_plan([TABLES["listops_1m"].restricted(columns=["ldru"])], Results(tmp_path))
    assert read.seconds("cpu") == pytest.approx(0.5 * read.model_steps)
    drawn = make_plan([TABLES["central"].restricted(columns=["ldru"])], Results(tmp_path))
    words = 63 * 500 * 512
    assert drawn.seconds("cpu") == pytest.approx(0.1 * drawn.model_steps + 2.5e-4 * words)


def test_what_lacks_an_evaluation_alone_is_in_the_estimate(tmp_path):
    table, folder = one_run(), Results(tmp_path)
    work("local", make_plan([table], folder).jobs)
    more = table.shortened([5, 6, 7], words=100)
    plan = make_plan([more], folder)
    assert (plan.model_steps, plan.count(State.NOT_EVALUATED)) == (0, 1)
    assert plan.seconds("cpu") == pytest.approx(0.6 * 2.5e-4 * 300)


def test_a_record_that_does_not_belong_is_left_alone(tmp_path):
    folder, table = Results(tmp_path), one_run()
    work("local", make_plan([table], folder).jobs)
    (spec,) = table_runs(table)
    path = folder.runs / spec.name / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "digest": "0" * 64}))
    kept = path.read_bytes()
    plan = make_plan([table], folder)
    assert plan.count(State.UNREADABLE) == 1
    assert "00000000" in next(iter(plan.found.values())).reason
    assert not plan.jobs
    assert path.read_bytes() == kept
    assert "| - |" in as_markdown(table, cell_results(table, folder))
