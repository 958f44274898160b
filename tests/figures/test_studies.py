"""Figures of the paper's studies."""

from dataclasses import replace

import numpy as np
import pytest

import ldru
from ldru.figures.studies import STUDY_FIGURES
from ldru.models.settings import LDRUSpec
from ldru.paper.settings import LISTOPS
from ldru.paper.table import Column, Reported, Row
from ldru.reproduce.plan import make_plan
from ldru.reproduce.table_runs import table_runs
from ldru.runs.results import Results
from tests.reproduce.tables import TRAIN, small_table, work


@pytest.mark.parametrize("kind", ["accuracy", "training_length", "optimizers"])
def test_figures_are_drawn_from_what_is_there(kind, tmp_path):
    folder = Results(tmp_path)
    table = small_table(
        tasks=("parity_check",),
        columns={
            f"ldru-{length}": Column(
                model=LDRUSpec(dim=4), train=replace(TRAIN, max_length=length, steps=8)
            )
            for length in (4, 5, 6)
        },
        lengths=(5, 6, 7),
        figure=kind,
        reported={("parity_check", f"ldru-{n}"): Reported(mean=90.0 + n) for n in (4, 5, 6)},
    )
    work("local", make_plan([table], folder).jobs[:2])
    figure = STUDY_FIGURES[kind](table, folder)
    drawn = sum(len(axes.lines) for axes in figure.axes)
    assert drawn == {"accuracy": 4, "training_length": 4, "optimizers": 10}[kind]
    figure.savefig(tmp_path / "figure.png")


def test_the_figure_of_listops_has_each_test_set_where_it_belongs(tmp_path, small_listops):
    sets = ("3,9 5-20", "3,9 21-40", "5,14 21-40", "5,14 41-60")
    train = replace(LISTOPS, steps=3, batch_size=4, learning_rate=1e-3, validation_words=8)
    columns = {f"{dim}": Column(model=LDRUSpec(dim=dim), train=train) for dim in (4, 5)}
    table = small_table(
        tasks=sets,
        rows={name: Row(task="listops_40", parts=(name,)) for name in sets},
        columns=columns,
        reference=None,
        reported={
            (name, label): Reported(mean=10.0 * number + int(label))
            for number, name in enumerate(sets)
            for label in columns
        },
    )
    folder, only = Results(tmp_path), table.restricted(columns=["4"])
    work("local", make_plan([only], folder).jobs)
    runs = [ldru.Run.open(folder.runs / spec.name) for spec in table_runs(only)]
    means = {name: 100 * np.mean([run.evaluate([name])[name] for run in runs]) for name in sets}
    figure = STUDY_FIGURES["listops"](table, folder)
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ["5-20", "21-40", "41-60"]
    for axes, number in zip(figure.axes, (0, 2), strict=True):
        names, x = sets[number : number + 2], [number // 2, number // 2 + 1]
        ours, paper, _none, other_paper = (line for line in axes.lines if line.get_marker() != "_")
        np.testing.assert_allclose(ours.get_xydata(), [[a, means[n]] for a, n in zip(x, names)])
        assert paper.get_xydata().tolist() == [[a, 10 * (number + i) + 4] for i, a in enumerate(x)]
        assert other_paper.get_ydata().tolist() == [10 * number + 5, 10 * number + 15]
