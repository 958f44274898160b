"""The numbers that the paper prints, from the data file beside this one."""

import json
import statistics
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from ldru.paper.table import Reported

Cells = dict[tuple[str, str], Reported]


@lru_cache(maxsize=1)
def _data() -> dict:
    return json.loads(files("ldru.paper").joinpath("reported.json").read_text())


def values(name: str) -> dict:
    """The values of one of the paper's tables."""
    return _data()[name]["values"]


def cells(name: str, *, seeds: str | None = None) -> Cells:
    """Means and deviations by task and column; seeds: the table that lists single seeds."""
    singles = values(seeds) if seeds else {}
    return {
        (task, label): Reported(
            mean=cell["mean"],
            std=cell["std"],
            mark=cell.get("mark"),
            seeds=tuple(singles.get(task, {}).get(label, ())),
        )
        for task, row in values(name).items()
        for label, cell in row.items()
    }


def training_length_cells() -> Cells:
    """Seeds by task, training length and model; the column is `model-length`."""
    return {
        (task, f"{model}-{length}"): reported_seeds(seeds)
        for task, by_length in values("training_length").items()
        for length, by_model in by_length.items()
        for model, seeds in by_model.items()
    }


def optimizer_cells() -> Cells:
    """Ten seeds of modular arithmetic by `optimizer-dropout`."""
    return {
        ("modular_arithmetic", label.replace(",", "-")): Reported(
            mean=cell["mean"], std=cell["std"], seeds=tuple(cell["seeds"])
        )
        for label, cell in values("optimizer_ablation").items()
    }


def sweep_cells() -> Cells:
    """One seed of modular arithmetic by `optimizer-rate-dropout`."""
    return {
        ("modular_arithmetic", sweep_label(**_settings(row))): Reported(mean=row["accuracy"])
        for row in values("regular_gpt_sweep")
    }


def sweep_label(*, optimizer: str, learning_rate: float, dropout: float) -> str:
    """The name of a column of the sweep."""
    return f"{optimizer}-{learning_rate:g}-{dropout:g}"


def _settings(row: dict) -> dict:
    return {name: row[name] for name in ("optimizer", "learning_rate", "dropout")}


def listops_cells(size: str) -> Cells:
    """Means and deviations by test set and model, of one number of training words."""
    return {
        (f"{limits} {lengths}", model): Reported(mean=cell["mean"], std=cell["std"])
        for limits, by_model in values("listops_full")[size.replace("m", "M")].items()
        for model, by_lengths in by_model.items()
        for lengths, cell in by_lengths.items()
        if cell is not None
    }


def listops_summary_cells() -> Cells:
    """Means by `mean` or `longest` with depth and arguments, and model."""
    return _summary("listops_summary")


def associativity_summary_cells() -> Cells:
    """Means by the weight of the associativity loss, and the validation."""
    return _summary("listops_assoc_summary")


def associativity_cells() -> Cells:
    """Accuracies by test set and the weight of the associativity loss."""
    return {
        (f"{limits} {lengths}", weight): Reported(mean=accuracy)
        for limits, by_weight in values("listops_assoc_full").items()
        for weight, by_lengths in by_weight.items()
        for lengths, accuracy in by_lengths.items()
        if accuracy is not None
    }


def text_cells() -> Cells:
    """Means and deviations by task and model; Matthews' correlation in hundredths too.

    The paper's F1 is the mean of both classes' (see docs/text.md).
    """
    rows = {"cola": "cola_matthews", "mrpc_f1": "mrpc_macro_f1", "qqp_f1": "qqp_macro_f1"}
    scales = {"cola": 100}
    return {
        (rows.get(task, task), model): Reported(
            mean=cell["mean"] * scales.get(task, 1), std=cell["std"] * scales.get(task, 1)
        )
        for task, row in values("nlp").items()
        for model, cell in row.items()
    }


def ldru_cells(cells: Mapping[tuple[str, str], Reported], *labels: str) -> Cells:
    """The LDRU's cells for several readings of it: the paper's text and sizes disagree."""
    return {
        (row, label): cell
        for (row, model), cell in cells.items()
        if model == "ldru"
        for label in labels
    }


def _summary(name: str) -> Cells:
    blocks = {"validation": "validation", "mean": "mean {}", "longest_bin": "longest {}"}
    return {
        (blocks[block].format(limits), label): Reported(mean=accuracy)
        for block, by_limits in values(name).items()
        for limits, by_label in by_limits.items()
        for label, accuracy in by_label.items()
    }


def reported_seeds(seeds: list[float]) -> Reported:
    """A cell of which only the seeds are printed."""
    return Reported(mean=statistics.fmean(seeds), std=statistics.stdev(seeds), seeds=tuple(seeds))
