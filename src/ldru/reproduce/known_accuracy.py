"""Known accuracies of the LDRU on a language, to stand beside its coverage."""

from ldru.paper.tables import TABLES
from ldru.reproduce.render import CellResult, cell_results
from ldru.runs.results import Results


def known_accuracy(task: str, train_length: int, results: Results) -> dict[str, float | None]:
    """The LDRU's mean accuracy on longer words, in percent, where it is known.

    paper: what it prints; its_settings, our_recipe: of our runs.
    """
    theirs = _cell("training_length", f"ldru-{train_length}", task, train_length, results)
    theirs = theirs or _cell("central", "ldru", task, train_length, results)
    ours = _cell("recipes", "random_trees", task, train_length, results)
    return {
        "paper": theirs.reported.mean if theirs and theirs.reported else None,
        "its_settings": theirs.mean if theirs and theirs.seeds else None,
        "our_recipe": ours.mean if ours and ours.seeds else None,
    }


def _cell(
    table: str, label: str, task: str, train_length: int, results: Results
) -> CellResult | None:
    """A cell, if the table has it and its runs were trained up to that length."""
    preset = TABLES[table]
    if label not in preset.columns or task not in preset.tasks:
        return None
    settings = preset.columns[label].train
    if settings is None or settings.max_length != train_length:
        return None
    (cell,) = cell_results(preset.restricted(tasks=[task], columns=[label]), results).values()
    return cell
