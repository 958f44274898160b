"""The study of texts: the table of all data sets, the same on subsets, and the sweep.

Subsets have tables of their own, without the paper's numbers: they are not comparable.
"""

from dataclasses import replace

from ldru.models.settings import LDRUSpec, TransformerAlibiSpec
from ldru.paper import reported
from ldru.paper.recipe import RECIPES
from ldru.paper.settings import (
    MODEL_SETTINGS,
    TEXT,
    TEXT_ASSOCIATIVITY,
    TEXT_TASKS,
    default_model,
)
from ldru.paper.table import Column, Row, Table
from ldru.tasks.spec import TaskSpec
from ldru.tasks.text.sets import TEXT_SETS, TextSet

COMPARED = ("transformer_alibi", "transformer_sinusoidal", "transformer_nope", "ldru")
SEEDS = (0, 1, 2, 3, 4)
SWEEP_SEEDS = (0,)
LDRU = LDRUSpec(**MODEL_SETTINGS["text"]["ldru"])  # type: ignore[arg-type]
TRANSFORMER = TransformerAlibiSpec(**MODEL_SETTINGS["text"]["transformer_alibi"])  # type: ignore[arg-type]
SHORT = {"dev_matched": "m", "dev_mismatched": "mm"}


def _rows(*, is_subset: bool) -> dict[str, Row]:
    """A row for each data set, test set and metric."""
    rows = {}
    for text_set in TEXT_SETS.values():
        if bool(text_set.subset_of) == is_subset:
            rows.update(_set_rows(text_set))
    return rows


def _set_rows(text_set: TextSet) -> dict[str, Row]:
    rows = {}
    for part in text_set.tests:
        for metric in text_set.metrics:
            if text_set.name == "cola" and metric == "accuracy":
                continue  # which GLUE does not ask for
            words = [text_set.name]
            if part in SHORT:
                words.append(SHORT[part])
            if len(text_set.metrics) > 1:
                words.append(metric)
            rows["_".join(words)] = Row(task=text_set.name, parts=(part,), metric=metric)
    return rows


def _columns() -> dict[str, Column]:
    return {name: Column(model=default_model(TaskSpec(name="sst2"), name)) for name in COMPARED}


_WITH_LEAF_BLOCK = replace(LDRU, leaf_block=True)
_BY_RECIPE = Column(model=RECIPES["open_gates"].model, recipe="open_gates")
_ROWS, _SUBSET_ROWS = _rows(is_subset=False), _rows(is_subset=True)
MAIN = Table(
    name="text",
    caption="Texts, five seeds: accuracy, F1 (of the positive class, and the mean of both) and "
    "Matthews' correlation in hundredths. The paper's F1 fits the mean alone.",
    tasks=tuple(_ROWS),
    rows=_ROWS,
    columns=_columns(),
    seeds=SEEDS,
    reported=reported.text_cells(),
)

SUBSETS = Table(
    name="text_subset",
    caption="SUBSETS of the training texts, five seeds: not comparable with the paper's numbers, "
    "which are therefore not shown; columns are comparable with each other.",
    tasks=tuple(_SUBSET_ROWS),
    rows=_SUBSET_ROWS,
    columns={
        **_columns(),
        "leaf_block": Column(model=_WITH_LEAF_BLOCK),
        "open_gates": _BY_RECIPE,
    },
    seeds=SEEDS,
)

LEAF_BLOCK = replace(
    MAIN,
    name="text_leaf_block",
    caption="Texts, five seeds, with one more residual block on the leaves.",
    columns={
        "ldru": Column(model=LDRU),
        "leaf_block": Column(model=_WITH_LEAF_BLOCK),
    },
    reported=reported.ldru_cells(MAIN.reported, "ldru", "leaf_block"),
)
"""Not the paper's, whose sizes fit a model with such a block."""

RECIPE = replace(
    MAIN,
    name="text_recipes",
    caption="Texts, five seeds, of LDRUs by recipe: the paper's settings, and open_gates, ours.",
    columns={"ldru": Column(model=LDRU), "open_gates": _BY_RECIPE},
    reported=reported.ldru_cells(MAIN.reported, "ldru", "open_gates"),
)
"""Not the paper's: gates that start around one, and what goes with them."""


def _sweep() -> dict[str, Column]:
    """Every setting that the paper tried; its transformer is the one with ALiBi."""
    columns: dict[str, Column] = {}

    def add(
        model: LDRUSpec | TransformerAlibiSpec,
        dim: int,
        dropout: float,
        rate: float,
        decay: float,
        weight: float = 0.0,
    ) -> None:
        train = replace(
            TEXT,
            batch_size=TEXT_TASKS["ag_news"].batch_size or TEXT.batch_size,
            learning_rate=rate,
            weight_decay=decay,
            associativity=weight,
        )
        name = "ldru" if isinstance(model, LDRUSpec) else "transformer_alibi"
        words = [name, *(f"{value:g}" for value in (dim, dropout, rate, decay))]
        if name == "ldru":
            words.append(f"{weight:g}")
        columns["-".join(words)] = Column(
            model=replace(model, dim=dim, dropout=dropout), train=train
        )

    rates, decays = (1e-5, 5e-5, 1e-4), (0.0, 1e-4, 1e-5)
    transformer, ldru = TRANSFORMER, LDRU
    for rate in rates:
        for decay in decays:
            for dim in (64, 128):
                for dropout in (0.0, 0.1):
                    add(transformer, dim, dropout, rate, decay)
            for dim in (64, 128, 256):
                for dropout in (0.0, 0.01, 0.025, 0.05):
                    for weight in (0.0, TEXT_ASSOCIATIVITY, 1.0):
                        add(ldru, dim, dropout, rate, decay, weight)
    add(transformer, 256, 0.1, 1e-5, 1e-5)
    for rate in rates[:2]:
        for decay in decays:
            add(ldru, 256, 0.01, rate, decay, 0.5)
    return columns


SWEEP = Table(
    name="text_sweep",
    caption="AG's News by width, dropout, learning rate, weight decay and, for the LDRU, weight of "
    "the associativity loss; one seed. The paper prints what it chose, no accuracies.",
    tasks=("ag_news",),
    rows={"ag_news": _ROWS["ag_news"]},
    columns=_sweep(),
    seeds=SWEEP_SEEDS,
)

SUBSET_SWEEP = replace(
    SWEEP,
    name="text_sweep_subset",
    caption=f"A SUBSET of the training texts. {SWEEP.caption}",
    tasks=("ag_news_subset",),
    rows={"ag_news_subset": _SUBSET_ROWS["ag_news_subset"]},
)

TABLES: dict[str, Table] = {
    table.name: table for table in (MAIN, LEAF_BLOCK, RECIPE, SUBSETS, SWEEP, SUBSET_SWEEP)
}
