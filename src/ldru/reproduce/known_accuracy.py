"""Known accuracies of the LDRU on a language, to stand beside its coverage."""

from ldru.paper.tables import TABLES
from ldru.reproduce.render import cell_results
from ldru.runs.results import Results


def known_accuracy(task: str, train_length: int, results: Results) -> dict[str, float | None]:
    """The LDRU's mean accuracy on longer words, in percent: the paper's, and ours if it was run."""
    for table, label in (("training_length", f"ldru-{train_length}"), ("central", "ldru")):
        preset = TABLES[table]
        if label not in preset.columns or task not in preset.tasks:
            continue
        settings = preset.columns[label].train
        if settings is not None and settings.max_length == train_length:
            part = preset.restricted(tasks=[task], columns=[label])
            (cell,) = cell_results(part, results).values()
            paper = cell.reported.mean if cell.reported else None
            return {"paper": paper, "ours": cell.mean if cell.seeds else None}
    return {"paper": None, "ours": None}
