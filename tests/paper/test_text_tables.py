"""The tables of texts: the paper's numbers where they belong, and nowhere else."""

from dataclasses import replace

import pytest

import ldru
from ldru.evaluation.metrics import METRICS
from ldru.models.registry import model_name
from ldru.paper.reported import _data, values
from ldru.paper.tables import TABLES
from ldru.reproduce.plan import make_plan
from ldru.reproduce.render import as_markdown, cell_results
from ldru.reproduce.table_runs import cell_runs, table_runs
from ldru.reproduce.work import work_on
from ldru.runs.folder import RunFolder
from ldru.runs.pack import pack, unpack
from ldru.runs.packed import write_pack
from ldru.runs.results import Results
from ldru.tasks.text import TEXT_SETS, prepare


def test_every_number_of_the_paper_has_its_cell():
    table = TABLES["text"]
    assert set(table.reported) <= {(row, label) for row in table.tasks for label in table.columns}
    assert len(table.reported) == sum(len(row) for row in values("nlp").values()) == 44
    assert set(table.tasks) - {row for row, _ in table.reported} == {"mrpc_f1", "qqp_f1"}
    assert table.reported["cola_matthews", "ldru"].mean == pytest.approx(8.5)
    assert table.reported["mrpc_macro_f1", "ldru"].mean == 57.0
    assert len(table_runs(table)) == 8 * 4 * 5
    assert len(table.seeds) == 5


def test_a_column_by_recipe_leaves_to_the_task_what_the_recipe_does():
    found = {
        task: TABLES["text_recipes"].setup(task, "open_gates") for task in ("sst2", "cola", "mrpc")
    }
    chosen = ldru.recipe("open_gates")
    assert all(setup.model == chosen.model for setup in found.values())
    trained = [(each.train.batch_size, each.train.learning_rate) for each in found.values()]
    assert trained == [(128, 1e-4), (128, 1e-5), (32, 1e-5)]
    assert {each.train.decay for each in found.values()} == {"cosine"}
    paper = TABLES["text_recipes"].setup("sst2", "ldru").train
    assert (paper.decay, paper.associativity) == ("none", 0.1)


def test_the_papers_f1_cannot_be_that_of_the_positive_class():
    """With so few wrong answers among 279 paraphrases and 129 others, GLUE's F1 is higher."""
    for model, cell in values("nlp")["mrpc_f1"].items():
        wrong = 408 * (1 - values("nlp")["mrpc_accuracy"][model]["mean"] / 100)
        right = 279 - wrong  # at least
        assert cell["mean"] < 100 * 2 * right / (2 * right + wrong) - 3


def test_subsets_are_marked_and_have_no_numbers_of_the_paper():
    for table in TABLES.values():
        tasks = {table.row(name).task for name in table.tasks}
        subsets = {name for name in tasks if name in TEXT_SETS and TEXT_SETS[name].subset_of}
        if subsets:
            assert subsets == tasks
            assert not table.reported
            assert "SUBSET" in table.caption
            assert all("subset" in row for row in table.tasks)
            assert all("_subset-" in spec.name for spec in table_runs(table))


def test_the_sweep_has_every_choice_of_the_paper():
    want = set()
    for name, row in _data()["hyperparameters"]["values"]["nlp_sweep"]["values"].items():
        grid = [{}]
        for key, choice in row.items():
            options = choice["choices"] if choice else [0.0]
            grid = [{**some, key: option} for some in grid for option in options]
        kind = "ldru" if name.startswith("ldru") else "transformer_alibi"
        want |= {(kind, *map(float, some.values())) for some in grid}
    found = {
        (
            model_name(spec.model),
            *(float(value) for value in (spec.model.dim, spec.model.dropout)),
            *(spec.train.learning_rate, spec.train.weight_decay, spec.train.associativity),
        )
        for spec in table_runs(TABLES["text_sweep"])
    }
    assert found == want
    assert len(want) == 37 + 330


def test_a_table_of_texts_is_made_from_its_records(small_texts, tmp_path):
    prepare("cola", data=small_texts)
    prepare("mrpc", data=small_texts)
    whole = TABLES["text"].restricted(tasks=["cola_matthews", "mrpc_f1", "mrpc_accuracy"])
    columns = {
        name: replace(whole.columns[name], model=replace(whole.columns[name].model, dim=8))
        for name in ("ldru", "transformer_nope")
    }
    table = replace(whole, columns=columns, seeds=(0, 1)).scaled(0.0005)
    results = Results(tmp_path / "results")
    plan = make_plan([table], results)
    assert len(plan.jobs) == 4  # a fleet of two seeds for each data set and model
    for job in plan.jobs:
        work_on(job)
    cells = cell_results(table, results)
    for spec in cell_runs(table, "mrpc_f1", "ldru").values():
        run = ldru.Run.open(results.runs / spec.name)
        want = 100 * METRICS["f1"](run.compute_evaluation().by_part["dev"])
        assert cells["mrpc_f1", "ldru"].seeds[spec.seed] == pytest.approx(want)
    assert "cola_matthews" in as_markdown(table, cells)
    assert not make_plan([table], results).jobs
    # Ten million weights a run are too many to carry around; the table needs none of them.
    names = pack(results, table_runs(table), tmp_path / "runs.zip", has_weights=False)
    elsewhere = Results(tmp_path / "elsewhere")
    assert unpack(tmp_path / "runs.zip", elsewhere) == (names, [])
    assert not list(elsewhere.folder.rglob("weights*"))
    assert cell_results(table, elsewhere) == cells
    (elsewhere.runs / names[0] / "settings.json").replace(results.runs / names[1] / "settings.json")
    with pytest.raises(ldru.LdruError, match="different runs"):
        pack(results, table_runs(table), tmp_path / "mixed.zip", has_weights=False)
    mixed = {names[1]: RunFolder(results.runs / names[1])}
    write_pack(tmp_path / "mixed.zip", mixed, has_weights=False)
    with pytest.raises(ldru.LdruError, match="different runs"):
        unpack(tmp_path / "mixed.zip", Results(tmp_path / "third"))


def test_a_part_is_chosen_by_row_or_by_task():
    assert TABLES["text"].restricted(tasks=["mrpc", "sst2"]).tasks == (
        "sst2",
        "mrpc_f1",
        "mrpc_macro_f1",
        "mrpc_accuracy",
    )
    assert TABLES["text"].restricted(tasks=["mrpc_f1"]).tasks == ("mrpc_f1",)
    with pytest.raises(ldru.LdruError, match="unknown task of text 'mprc'"):
        TABLES["text"].restricted(tasks=["mprc"])
