"""The study of ListOps: the summary, the full tables, and the ablation of associativity."""

from dataclasses import replace

from ldru.models.settings import LDRUSpec, LSTMSpec, TransformerAlibiSpec
from ldru.models.spec import ModelSpec
from ldru.paper import reported
from ldru.paper.settings import LISTOPS, LISTOPS_BY_MODEL, MODEL_SETTINGS, default_model
from ldru.paper.table import Column, Row, Table
from ldru.tasks.data_task import VALIDATION
from ldru.tasks.listops.data import TEST_SETS
from ldru.tasks.spec import TaskSpec

COMPARED = (
    "rir_grc",
    "bbt_grc",
    "ldru",
    "transformer_alibi",
    "lstm",
    "transformer_nope",
    "transformer_sinusoidal",
)
LIMITS = ("3,9", "3,14", "5,9", "5,14")
SEEDS = (0, 1, 2)
"""Three, as the caption of the full tables has it; the text says five."""

LDRU = LDRUSpec(**MODEL_SETTINGS["listops"]["ldru"])  # type: ignore[arg-type]
SWEEP_SEEDS = (1,)
STRENGTHS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)


def _sets(limits: str) -> tuple[str, ...]:
    """The test sets of a depth and number of arguments, short words first."""
    return tuple(name for name in TEST_SETS if name.split()[0] == limits)


def _summary_rows(name: str) -> dict[str, Row]:
    """The mean over lengths, and the longest words, of each depth and number of arguments."""
    means = {f"mean {limits}": Row(task=name, parts=_sets(limits)) for limits in LIMITS}
    longest = {f"longest {limits}": Row(task=name, parts=_sets(limits)[-1:]) for limits in LIMITS}
    return {**means, **longest}


def _full_rows(name: str) -> dict[str, Row]:
    return {words: Row(task=name, parts=(words,)) for words in TEST_SETS}


def _columns() -> dict[str, Column]:
    return {name: Column(model=default_model(TaskSpec(name="listops"), name)) for name in COMPARED}


def _full(size: str) -> Table:
    rows = _full_rows(f"listops_{size}")
    return Table(
        name=f"listops_{size}",
        caption=f"ListOps by depth, arguments and length, {size} training words.",
        tasks=tuple(rows),
        rows=rows,
        columns=_columns(),
        seeds=SEEDS,
        reported=reported.listops_cells(size),
        figure="listops",
    )


_SUMMARY_ROWS = _summary_rows("listops_1m")
SUMMARY = Table(
    name="listops",
    caption="ListOps, 1m training words: means over lengths, and words of the longest bin.",
    tasks=tuple(_SUMMARY_ROWS),
    rows=_SUMMARY_ROWS,
    columns=_columns(),
    seeds=SEEDS,
    reported=reported.listops_summary_cells(),
)

LEAF_BLOCK = replace(
    _full("1m"),
    name="listops_leaf_block",
    caption="ListOps, 1m training words, with one more residual block on the leaves.",
    columns={
        "ldru": Column(model=LDRU),
        "leaf_block": Column(model=replace(LDRU, leaf_block=True)),
    },
    reported=reported.ldru_cells(reported.listops_cells("1m"), "ldru", "leaf_block"),
)
"""Not the paper's, whose sizes fit a model with such a block."""

# "The same settings as the initial sweep" whose best dropout and rate the paper does not print; its
# second sweep looks around these.
_ABLATED = LDRUSpec(dim=256, dropout=0.1, activation="silu")
_ABLATION_COLUMNS = {
    str(strength): Column(
        model=_ABLATED, train=replace(LISTOPS, learning_rate=1e-4, associativity=strength)
    )
    for strength in STRENGTHS
}
_VALIDATION_ROW = {"validation": Row(task="listops_500k", parts=(VALIDATION,))}
_ABLATION_ROWS = {**_VALIDATION_ROW, **_summary_rows("listops_500k")}
ASSOCIATIVITY = Table(
    name="listops_associativity",
    caption="ListOps by the weight of the associativity loss, 500k training words, one seed.",
    tasks=tuple(_ABLATION_ROWS),
    rows=_ABLATION_ROWS,
    columns=_ABLATION_COLUMNS,
    seeds=SWEEP_SEEDS,
    reported=reported.associativity_summary_cells(),
)

ASSOCIATIVITY_FULL = replace(
    ASSOCIATIVITY,
    name="listops_associativity_full",
    caption="ListOps by the weight of the associativity loss and by test set, 500k training words, "
    "one seed.",
    tasks=TEST_SETS,
    rows=_full_rows("listops_500k"),
    reported=reported.associativity_cells(),
    figure="listops",
)


def _sweep() -> dict[str, Column]:
    """Every setting that the paper tried; of the transformers it does not say which."""
    columns: dict[str, Column] = {}

    def add(name: str, model: ModelSpec, rate: float, associativity: float = 0.0) -> None:
        train = replace(LISTOPS_BY_MODEL[name], learning_rate=rate, associativity=associativity)
        words = [name, *(f"{value:g}" for value in _swept(model)), f"{rate:g}"]
        if name == "ldru":
            words.append(f"{associativity:g}")
        columns["-".join(words)] = Column(model=model, train=train)

    for rate in (1e-5, 5e-5, 1e-4):
        for dim in (256, 512, 1024):
            add("lstm", LSTMSpec(dim=dim), rate)
        for dim in (64, 128):
            for dropout in (0.0, 0.1):
                add("transformer_alibi", TransformerAlibiSpec(dim=dim, dropout=dropout), rate)
    first = [
        (dim, dropout, rate, weight)
        for dim in (64, 128, 256)
        for dropout in (0.0, 0.1, 0.2)
        for rate in (1e-5, 5e-5, 1e-4)
        for weight in (0.0, 0.1, 1.0)
    ]
    second = [
        (dim, dropout, rate, 1.0)
        for dim in (256, 512)
        for dropout in (0.025, 0.05, 0.1)
        for rate in (1e-4, 2.5e-4, 5e-4)
    ]
    for dim, dropout, rate, weight in (*first, *second):
        add("ldru", LDRUSpec(dim=dim, dropout=dropout, activation="silu"), rate, weight)
    return columns


def _swept(model: ModelSpec) -> list[float]:
    """Width and dropout, where a model has it."""
    return [getattr(model, name) for name in ("dim", "dropout") if hasattr(model, name)]


SWEEP = Table(
    name="listops_sweep",
    caption="ListOps validation by width, dropout, learning rate and weight of the associativity "
    "loss, 500k training words, one seed; the paper prints what it chose, no accuracies.",
    tasks=("validation",),
    rows=_VALIDATION_ROW,
    columns=_sweep(),
    seeds=SWEEP_SEEDS,
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        SUMMARY,
        *(_full(size) for size in ("100k", "500k", "1m")),
        LEAF_BLOCK,
        ASSOCIATIVITY,
        ASSOCIATIVITY_FULL,
        SWEEP,
    )
}
