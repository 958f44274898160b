"""The paper's tables as data."""

import pytest

import ldru
from ldru.paper.tables import TABLES
from ldru.reproduce.engines import make_engine
from ldru.reproduce.render import as_csv, as_latex, as_markdown, cell_results
from ldru.reproduce.table_runs import cell_runs, table_runs
from ldru.runs.results import Results
from tests.reproduce.tables import small_table


@pytest.mark.parametrize("name", TABLES)
def test_presets_have_the_papers_numbers_beside_every_cell(name):
    table = TABLES[name]
    cells = {(task, label) for task in table.tasks for label in table.columns}
    is_sweep = "sweep" in name and name != "regular_gpt_sweep"
    own = ("subset", "state_tracking", "labels", "classes")
    if is_sweep or any(word in name for word in own):
        # The paper prints what it chose, no accuracies; subsets differ; groups, labels are ours.
        assert not table.reported
    else:
        # But for what the paper has not tried, or not printed (GLUE's F1).
        ours = {
            *("leaf_block", "paper", "ldru_recipe"),
            *(label for label in TABLES["l2"].columns if label != "0.0005"),
        }
        holes = cells - set(table.reported)
        assert all(label in ours or row in {"mrpc_f1", "qqp_f1"} for row, label in holes)
    tasks = {table.row(row).task for row in table.tasks}
    runs = table_runs(table)
    assert len(set(runs)) == len(runs) == len(tasks) * len(table.columns) * len(table.seeds)
    assert all(spec.train.steps and spec.train.learning_rate for spec in table_runs(table))


def test_the_central_table_is_the_papers():
    table = TABLES["central"]
    assert (len(table.tasks), len(table.columns)) == (21, 11)
    ldru_runs = table_runs(table.restricted(columns=["ldru"]))
    assert sum(spec.train.steps for spec in ldru_runs) == 19_800_000
    rates = {spec.train.learning_rate for spec in table_runs(table.restricted(columns=["sd_ssm"]))}
    assert rates == {1e-4}
    assert table.reported["dyck_6", "ldru"].mean == 98.5
    assert set(table_runs(table)) == set(table_runs(TABLES["central_id"]))


def test_the_listops_tables_are_the_papers():
    full = TABLES["listops_1m"]
    assert (len(full.tasks), len(full.columns)) == (22, 7)
    assert set(table_runs(full)) == set(table_runs(TABLES["listops"]))
    assert set(full.reported) == {(row, label) for row in full.tasks for label in full.columns}
    # The paper's summary is the mean of its full table, to a digit.
    for (row, label), cell in TABLES["listops"].reported.items():
        parts = TABLES["listops"].row(row).parts
        mean = sum(full.reported[part, label].mean for part in parts) / len(parts)
        assert cell.mean == pytest.approx(mean, abs=0.11), (row, label)
    by_model = {label: cell_runs(full, "3,9 5-20", label)[0].train for label in full.columns}
    assert {train.steps for train in by_model.values()} == {200_000}
    assert {train.l2 for train in by_model.values()} == {0.0}
    assert {label: train.learning_rate for label, train in by_model.items()} == {
        **{"rir_grc": 1e-3, "bbt_grc": 1e-3, "ldru": 2.5e-4, "lstm": 1e-4},
        **{f"transformer_{kind}": 5e-5 for kind in ("alibi", "nope", "sinusoidal")},
    }
    assert {label for label, train in by_model.items() if train.associativity} == {"ldru"}
    assert {label for label, train in by_model.items() if train.weight_decay} == {
        "rir_grc",
        "bbt_grc",
    }
    ablation = TABLES["listops_associativity"]
    assert [spec.train.associativity for spec in table_runs(ablation)] == [
        0,
        0.1,
        0.25,
        0.5,
        1,
        2,
        5,
    ]
    assert {spec.seed for spec in table_runs(ablation)} == {1}
    assert len(table_runs(TABLES["listops_sweep"])) == 119  # one setting is in both of its parts


def test_scaled_runs_are_other_runs_and_say_so(tmp_path):
    table = small_table().scaled(0.5)
    assert {spec.train.steps for spec in table_runs(table)} == {2}
    assert not set(table_runs(table)) & set(table_runs(small_table()))
    cells = cell_results(table, Results(tmp_path))
    assert "small-scaled-0.5" in as_markdown(table, cells)
    assert "SCALED to 0.5" in as_markdown(table, cells)
    assert "SCALED to 0.5" in as_latex(table, cells)
    assert ",0.5," in as_csv(table, cells)
    with pytest.raises(ldru.LdruError, match="share in"):
        small_table().scaled(2)


def test_unknown_cells_list_the_known():
    with pytest.raises(ldru.LdruError, match=r"unknown task of small 'parity'.*dyck_2"):
        small_table().restricted(tasks=["parity"])
    with pytest.raises(ldru.LdruError, match=r"unknown model of small 'lstm'.*rnn"):
        small_table().restricted(columns=["lstm"])
    with pytest.raises(ldru.LdruError, match=r"unknown engine 'dask'.*submitit"):
        make_engine("dask")
