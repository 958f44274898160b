"""The board of a reproduction."""

from dataclasses import replace

from ldru.reproduce.board import Board
from ldru.reproduce.plan import Job, make_plan
from ldru.reproduce.table_runs import table_runs
from ldru.runs.results import Results, State
from tests.reproduce.tables import TRAIN, one_run, small_table, work


def test_the_board_says_what_is_done_running_and_left(tmp_path, capsys):
    plan = make_plan([small_table(seeds=(0, 1, 2))], Results(tmp_path), fleet_size=4)
    assert [len(job.specs) for job in plan.jobs] == [4, 2, 4, 2]
    board = work("local", plan.jobs)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("started 4 runs of ldru on dyck_2 and parity_check")
    assert [line.split("; ")[1] for line in lines[:3]] == [
        "runs: 0 done, 4 running, 8 left",
        "runs: 4 done, 0 running, 8 left",
        "runs: 4 done, 2 running, 6 left",
    ]
    assert board.summary == "runs: 12 done, 0 running, 0 left"


def test_the_board_counts_model_steps_of_members_that_end_early(tmp_path):
    table = small_table()
    short = replace(table_runs(table)[0], train=replace(TRAIN, steps=2, learning_rate=1e-3))
    job = Job(specs=(table_runs(table)[1], short), parts=(5,), out=str(tmp_path))
    board = Board([job])
    watcher = board.start(job)
    (total,) = board._progress.tasks
    watcher.on_steps(3, {"a": 1.0})
    assert (total.completed, total.total) == (3 + 2, 4 + 2)
    board.finish(job)
    assert total.completed == 6


def test_runs_of_another_process_are_named(tmp_path, capsys):
    folder, table = Results(tmp_path), one_run()
    with folder.claimed(table_runs(table)):
        work("local", make_plan([table], folder).jobs)
    said = capsys.readouterr().err
    assert "another process works on 1 of: 1 run of rnn on parity_check" in said
    assert folder.find(table_runs(table)[0], [5]).state is State.MISSING
