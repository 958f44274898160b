"""The kept machines of the shipped models are what they say."""

from pathlib import Path

import pytest
from tools.machines import MOST_STATES, read_machines, record_of

import ldru
from ldru.analysis.verdict import decide
from ldru.runs.run import Run

KEPT = read_machines(Path(__file__).parents[2] / "results/machines.json")


def test_there_is_one_of_every_shipped_model():
    assert set(KEPT) == set(ldru.TASKS)
    for task, record in KEPT.items():
        assert record.run == Run.open(task).spec.name, "run `make machines`"
        has_tables = record.states is not None and record.states <= MOST_STATES
        assert (record.algebra is not None) == has_tables


@pytest.mark.parametrize("task", [task for task, record in KEPT.items() if record.algebra])
def test_its_verdict_is_decided_anew(task):
    record, monoid = KEPT[task], ldru.monoid(task)
    verdict = decide(record.algebra, monoid)
    assert verdict.is_correct == record.is_correct
    if record.wrong is not None and not record.is_correct:
        word = monoid.machine.encode(record.wrong)
        assert int(record.algebra.run(word)) != int(monoid.machine.run(word))
        assert len(record.wrong) == verdict.wrong_length


def test_a_record_is_made_of_a_run():
    record = record_of(Run.open("prefix_1_2"))
    assert record == KEPT["prefix_1_2"]
