"""Verdicts of the runs of a table, kept one by one."""

from dataclasses import replace

from tools.verdicts import judge_missing, verdicts, verdicts_markdown

from ldru.reproduce.board import Board
from ldru.reproduce.engines import make_engine
from ldru.reproduce.plan import make_plan
from ldru.runs.results import Results
from tests.reproduce.tables import small_table


def test_every_run_is_judged_once_and_what_differs_by_seed_is_listed(tmp_path):
    table = small_table(tasks=("parity_check",)).restricted(columns=["ldru"])
    folder = Results(tmp_path)
    jobs = make_plan([table], folder).jobs
    with Board(jobs) as board:
        make_engine("local").run(jobs, board)
    lines: list[str] = []
    judge_missing(table, folder, lines.append)
    found = verdicts(table, folder)
    records = found["parity_check", "ldru"]
    assert set(records) == {0, 1}
    assert all(not r.is_correct and r.monoid == 2 for r in records.values())  # hardly trained
    judge_missing(table, folder, lines.append)
    assert len(lines) == 2  # nothing is judged again
    assert all(line.startswith("parity_check-ldru-seed") for line in lines)
    solved = replace(
        records[0],
        is_correct=True,
        states=3,
        wrong_length=None,
        network_wrong_length=8193,
        seconds=2.4,
    )
    unclear = replace(
        solved, states=None, is_correct=False, network_wrong_length=None, first_wrong_height=7
    )
    rows = verdicts_markdown({("parity_check", "ldru"): {0: solved, 1: unclear}}).splitlines()
    assert rows[-1] == (
        "| parity_check | ldru | 2 | 3, none | correct, no finite one | "
        "errs at 8,193, errs by 2^7 | 2 |"
    )
