"""What the project shows of its results: tables, figures, the README, and the shipped models.

`make results` writes all of it from the records; a test fails when any of it is stale.
"""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

from ldru.config import digest, to_json
from ldru.experiments.figures import save_figure
from ldru.experiments.output import write_table
from ldru.experiments.presets import TABLES
from ldru.experiments.records import evaluation_json
from ldru.experiments.rendering import as_markdown, cell_results, cell_text
from ldru.experiments.results import Results
from ldru.experiments.run import PARTS, Run
from ldru.experiments.shipped import CARD, SUMS, checksum
from ldru.experiments.study_figures import accuracy_figure
from ldru.experiments.table import Table
from ldru.experiments.verdicts import verdicts, verdicts_markdown
from ldru.files import whole_folder, write_text

BEGIN, END = "<!-- results -->", "<!-- /results -->"
FIGURE = "docs/central.png"


def shown(name: str, results: Results) -> Table:
    """A table without the columns that have no run yet."""
    table = TABLES[name]
    cells = cell_results(table, results)
    ran = {label for (_, label), cell in cells.items() if cell.seeds}
    return replace(table, columns={k: v for k, v in table.columns.items() if k in ran})


def with_block(readme: str, results: Results) -> str:
    """The README with its table as the records have it."""
    table = shown("central", results)
    text = as_markdown(table, cell_results(table, results))
    missing = [label for label in TABLES["central"].columns if label not in table.columns]
    holes = f"Not run yet: {', '.join(missing)}.\n\n" if missing else ""
    block = f"{BEGIN}\n{text}\n{holes}![Accuracy by length]({FIGURE})\n{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: block, readme, flags=re.DOTALL)


def figure_digest(table: Table, results: Results) -> str:
    """Names what a figure of accuracies was drawn from."""
    found = {spec.name: results.evaluation(spec, table.lengths) for spec in table.runs()}
    return digest({name: evaluation_json(e) for name, e in found.items() if e})


def chosen_run(task: str, results: Results) -> Run:
    """Of a task's runs of the LDRU, the one that was best in its last validation."""
    runs = [Run.open(results.runs / s.name) for s in TABLES["central"].cell(task, "ldru").values()]
    return max(runs, key=lambda run: run.record.final.accuracy)


def model_card(run: Run, results: Results) -> str:
    """What one should know of a shipped model before using it."""
    task, spec, record = run.language, run.spec, run.record
    seeds = len(TABLES["central"].seeds)
    numbers = {
        name: cell_results(TABLES[name].restricted(tasks=[task.name], columns=["ldru"]), results)[
            task.name, "ldru"
        ]
        for name in ("central", "central_id")
    }
    rows = [
        f"| {'41 to 500' if name == 'central' else '1 to 40'} | {cell.seeds[spec.seed]:.2f} | "
        f"{cell_text(cell)} |"
        for name, cell in numbers.items()
    ]
    settings = json.dumps({"model": to_json(spec.model), "train": to_json(spec.train)}, indent=2)
    return "\n".join(
        [
            f"# {task.name}",
            "",
            f"An MLP-LDRU trained on words of `{task.name}` ({task.num_classes} classes, alphabet "
            f"`{''.join(task.machine.alphabet)}`) up to length {spec.train.max_length}.",
            "",
            "```python",
            "import ldru",
            "",
            f'scores = ldru.load("{task.name}")(tokens)  # [batch, length] -> [batch, classes]',
            "```",
            "",
            "Mean accuracy over lengths, 512 test words each, in percent:",
            "",
            f"| lengths | this model | mean of {seeds} seeds (the paper's) |",
            "| --- | ---: | ---: |",
            *rows,
            "",
            f"Seed {spec.seed}: of {seeds} seeds the one with the best last validation "
            f"({100 * record.final.accuracy:.1f} % at length {spec.train.validation_length}). "
            f"Weights of the last step, {record.final.step:,}. Trained on one {record.device} with "
            f"PyTorch {record.versions['torch']}. Run `{spec.name}`; SHA-256 of its files in "
            f"`../{SUMS}`. Licence: that of ldru.",
            "",
            "```json",
            settings,
            "```",
            "",
        ]
    )


def ship(results: Results, folder: Path) -> None:
    """Write the shipped models anew: one run folder per task, with its card, and checksums."""
    chosen = {task: chosen_run(task, results) for task in sorted(TABLES["central"].tasks)}
    if folder.exists():
        shutil.rmtree(folder)
    with whole_folder(folder) as parts:
        lines = []
        for task, run in chosen.items():
            assert run.folder is not None
            (parts / task).mkdir()
            for name in PARTS:
                shutil.copyfile(run.folder / name, parts / task / name)
                lines.append(f"{checksum(parts / task / name)}  {task}/{name}\n")
            (parts / task / CARD).write_text(model_card(run, results))
        (parts / SUMS).write_text("".join(lines))


def publish(root: Path) -> None:
    """Write all that a source tree shows of its results."""
    results = Results(root / "results")
    ship(results, root / "src" / "ldru" / "shipped")
    readme = root / "README.md"
    write_text(readme, with_block(readme.read_text(), results))
    table = shown("central", results)
    save_figure(accuracy_figure(table, results), root / FIGURE, note=figure_digest(table, results))
    for name in TABLES:
        if shown(name, results).columns:
            write_table(TABLES[name], results)
    judged = verdicts(TABLES["central"], results, label="ldru")
    write_text(results.folder / "tables" / "verdicts.md", verdicts_markdown(judged))


if __name__ == "__main__":
    publish(Path.cwd())
