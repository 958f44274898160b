"""What the project shows of its results: tables, figures, the README, and the shipped models.

`make results` writes all of it from the records; a test fails when any of it is stale.
"""

import copy
import json
import re
import shutil
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from ldru.base.files import whole_folder, write_text
from ldru.base.json import digest, to_json
from ldru.drawing.style import save_figure
from ldru.figures.studies import panels_figure, write_study_figure
from ldru.models.settings import LDRUSpec
from ldru.paper.settings import study_of
from ldru.paper.table import Table
from ldru.paper.tables import TABLES
from ldru.reproduce.render import CellResult, as_markdown, cell_results, cell_text, write_table
from ldru.reproduce.table_runs import table_runs
from ldru.runs.folder import RECORD, SETTINGS, WEIGHTS, RunFiles, RunFolder
from ldru.runs.packed import write_pack
from ldru.runs.record import evaluation_json
from ldru.runs.results import Results
from ldru.runs.run import Run
from ldru.runs.shipped import CARD, SHIPPED, SUMS, checksum
from tools.steps import FILE as STEPS
from tools.steps import steps_markdown
from tools.verdicts import all_verdicts, verdicts, verdicts_markdown

BEGIN, END = "<!-- results -->", "<!-- /results -->"
FIGURE = "docs/regular.png"
SHIPPED_LENGTHS = tuple(range(10, 501, 10))
"""At which rounded weights are evaluated again."""


RECIPES = TABLES["recipes"]
"""What the README shows: our LDRUs beside those of the paper's settings."""

OURS = RECIPES.restricted(columns=["random_trees"])
"""Of which one for every task is shipped."""

SHORTENED = {
    "l2": 0.1,
    "listops_associativity": 0.05,
    "listops_associativity_full": 0.05,
    "text_subset": 0.1,
}
"""Tables that were run at a share of their steps."""

PUBLISHED = {
    table.name: table
    for table in (
        *TABLES.values(),
        *(TABLES[name].scaled(share) for name, share in SHORTENED.items()),
    )
}
"""What is written under results/tables, where there are runs."""


def shown(table: Table, results: Results) -> Table:
    """A table without the columns that have no run yet."""
    cells = cell_results(table, results)
    ran = {label for (_, label), cell in cells.items() if cell.seeds}
    return replace(table, columns={k: v for k, v in table.columns.items() if k in ran})


def with_block(readme: str, results: Results) -> str:
    """The README with its tables as the records have them."""
    text = as_markdown(RECIPES, cell_results(RECIPES, results))
    block = f"{BEGIN}\n{text}\n{budgets_markdown(results)}{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: block, readme, flags=re.DOTALL)


def budgets_markdown(results: Results) -> str:
    """The table of equal budgets in a few lines, as means over its tasks."""
    table = TABLES["equal_budget"]
    longer = cell_results(table, results)
    trained = cell_results(TABLES["equal_budget_id"], results)

    def line(name: str, number: Callable[[str], str]) -> str:
        cells = (
            number(label) if all(longer[task, label].seeds for task in table.tasks) else "-"
            for label in table.columns
        )
        return f"| {name} | " + " | ".join(cells) + " |"

    def mean(cells: Mapping[tuple[str, str], CellResult]) -> Callable[[str], str]:
        return lambda label: f"{fmean(cells[task, label].mean for task in table.tasks):.1f}"

    def counted(is_counted: Callable[[CellResult], bool]) -> Callable[[str], str]:
        return lambda label: str(sum(is_counted(longer[task, label]) for task in table.tasks))

    def papers(label: str) -> str:
        cells = [table.reported.get((task, label)) for task in table.tasks]
        means = [cell.mean for cell in cells if cell is not None and cell.mean is not None]
        return f"{fmean(means):.1f}" if len(means) == len(cells) else ""

    lines = [
        f"| {len(table.tasks)} tasks, 20,000 steps | " + " | ".join(table.columns) + " |",
        "| --- |" + " ---: |" * len(table.columns),
        line("lengths 41 to 500", mean(longer)),
        line("tasks at 100.0", counted(lambda cell: f"{cell.mean:.1f}" == "100.0")),
        line(f"tasks below {table.reference} ↓", counted(lambda cell: cell.mark == "down")),
        line("lengths 1 to 40", mean(trained)),
        "| the paper's, 41 to 500 | " + " | ".join(map(papers, table.columns)) + " |",
    ]
    is_whole = "-" not in lines[2].split(" | ")
    return (
        f"**Equal budgets.** Every model after the same 20,000 steps (the paper's took 100,000 to "
        f"1,000,000), three seeds: [all cells](results/tables/{table.name}.md)."
        f"{'' if is_whole else ' A dash is still to be run.'}\n\n" + "\n".join(lines) + "\n"
    )


def figure_digest(table: Table, results: Results) -> str:
    """Names what a figure of accuracies was drawn from."""
    found = {
        spec.name: results.recorded_evaluation(spec, table.lengths) for spec in table_runs(table)
    }
    return digest({name: evaluation_json(e) for name, e in found.items() if e})


def gather(results: Results) -> None:
    """Pack the records of all evaluated runs, a file for each study."""
    runs: dict[str, dict[str, RunFiles]] = {}
    folders = {path.name: RunFolder(path) for path in sorted(results.runs.glob("[!.]*"))}
    for name, files in {**results.packed, **folders}.items():
        if files.record().evaluation is not None:
            runs.setdefault(study_of(files.spec().task) or "other", {})[name] = files
    for study, some in runs.items():
        write_pack(results.packs / f"{study}.zip", some, has_weights=False)


def chosen_run(task: str, results: Results) -> Run:
    """The LDRU of a task to ship.

    Of our recipe's with weights, the shipped one among them, the best in its last validation; of
    equals one whose exact machine is correct, then one whose network was caught at no error.
    """
    judged = verdicts(OURS.restricted(tasks=[task]), results).get((task, "random_trees"), {})
    candidates: list[Run] = []
    now = Run.open(SHIPPED / task) if (SHIPPED / task).exists() else None
    for spec in table_runs(OURS.restricted(tasks=[task])):
        if now is not None and spec == now.spec:
            candidates.append(now)
        elif results.has_weights(spec):
            candidates.append(Run.open(results.runs / spec.name))

    def merit(run: Run) -> tuple[float, bool, bool]:
        verdict = judged.get(run.spec.seed)
        if verdict is None:
            return run.record.final.accuracy, False, False
        return run.record.final.accuracy, verdict.is_correct, not verdict.is_caught

    return max(candidates, key=merit)


def model_card(run: Run, results: Results) -> str:
    """A model card: what a shipped model is and how it scores."""
    task, spec = run.language, run.spec
    assert isinstance(spec.model, LDRUSpec)
    files = results.files(spec.name)
    assert files is not None
    record = files.record()
    block = " with a residual block on its leaves" if spec.model.leaf_block else ""
    settings = json.dumps({"model": to_json(spec.model), "train": to_json(spec.train)}, indent=2)
    assert run.record.evaluation is not None
    again = 100 * run.record.evaluation.mean_accuracy(run.record.evaluation.within(41, 500))
    paragraphs = (
        f"An MLP-LDRU{block}, trained on words of `{task.name}` ({task.num_classes} classes, "
        f"alphabet `{''.join(task.machine.alphabet)}`) up to length {spec.train.max_length}.",
        f"The weights are those of the last step, {record.final.step:,}, rounded to half "
        "precision. The table is of the weights before rounding; evaluated again as shipped, at "
        f"every tenth length from 50 to 500, they give {again:.2f}.",
        f"Seed {spec.seed}: of the LDRUs that our recipe gave for this task, one with the "
        f"best last validation ({100 * record.final.accuracy:.1f} % at length "
        f"{spec.train.validation_length}); of equals one whose exact machine is correct. Trained "
        f"on one {record.device} with PyTorch {record.versions['torch']}, as run `{spec.name}`. "
        f"The SHA-256 sums of the files are in `../{SUMS}`. Licence: that of ldru.",
    )
    about, rounding, origin = (textwrap.fill(text, 100) for text in paragraphs)
    return f"""# {task.name}

{about}

```python
import ldru

scores = ldru.load("{task.name}")(tokens)  # [batch, length] -> [batch, classes]
```

Mean accuracy over lengths, 512 test words each, in percent:

| lengths | this run | mean of {len(OURS.seeds)} seeds (the paper's) |
| --- | ---: | ---: |
{_card_rows(task.name, spec.seed, results)}

{rounding}

{origin}

```json
{settings}
```
"""


def _card_rows(task: str, seed: int, results: Results) -> str:
    rows = []
    for name in ("recipes", "recipes_id"):
        table = TABLES[name].restricted(tasks=[task], columns=list(OURS.columns))
        (cell,) = cell_results(table, results).values()
        lengths = f"{table.lengths[0]} to {table.lengths[-1]}"
        rows.append(f"| {lengths} | {cell.seeds[seed]:.2f} | {cell_text(cell)} |")
    return "\n".join(rows)


def rounded(run: Run) -> Run:
    """A run to be shipped: weights in half precision, which is half the size, evaluated anew."""
    model = copy.deepcopy(run.model).half().float()
    changed = replace(run, model=model.eval(), folder=None)
    evaluation = changed.compute_evaluation(SHIPPED_LENGTHS)
    return replace(changed, record=replace(run.record, evaluation=evaluation))


def write_shipped(run: Run, folder: Path) -> None:
    """Write a rounded run without its log."""
    RunFolder(folder).write(run.spec, run.record, [], run.model.half().state_dict())


def ship(results: Results, folder: Path) -> None:
    """Write the shipped models anew: one run folder per task, with its card, and checksums."""
    chosen = {task: chosen_run(task, results) for task in sorted(TABLES["central"].tasks)}
    new = folder.with_name(f"{folder.name}.new")
    with whole_folder(new) as parts:
        lines = []
        for task, run in chosen.items():
            if run.folder is None:  # shipped already
                shutil.copytree(SHIPPED / task, parts / task)
            else:
                run = rounded(run)
                write_shipped(run, parts / task)
            (parts / task / CARD).write_text(model_card(run, results))
            for name in (SETTINGS, RECORD, WEIGHTS):
                lines.append(f"{checksum(parts / task / name)}  {task}/{name}\n")
        (parts / SUMS).write_text("".join(lines))
    if folder.exists():
        shutil.rmtree(folder)
    new.rename(folder)


def publish(root: Path) -> None:
    """Write all that a source tree shows of its results."""
    gather(Results(root / "results"))
    results = Results(root / "results")
    ship(results, root / "src" / "ldru" / "shipped")
    readme = root / "README.md"
    write_text(readme, with_block(readme.read_text(), results))
    note = figure_digest(RECIPES, results)
    save_figure(panels_figure(RECIPES, results), root / FIGURE, note=note)
    for table in PUBLISHED.values():
        if shown(table, results).columns:
            write_table(table, results)
            write_study_figure(table, results)
    tables = results.folder / "tables"
    write_text(tables / "verdicts.md", verdicts_markdown(all_verdicts(results)))
    write_text(tables / STEPS, steps_markdown(TABLES["labels_by_step"], results))


if __name__ == "__main__":
    publish(Path.cwd())
