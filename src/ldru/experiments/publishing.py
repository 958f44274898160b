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
from ldru.experiments.presets import TABLES, reported
from ldru.experiments.records import evaluation_json
from ldru.experiments.rendering import as_markdown, cell_results, cell_text
from ldru.experiments.results import Results
from ldru.experiments.run import PARTS, Run
from ldru.experiments.shipped import CARD, SUMS, checksum
from ldru.experiments.study_figures import accuracy_figure
from ldru.experiments.table import Table
from ldru.experiments.verdicts import verdicts, verdicts_markdown
from ldru.files import whole_folder, write_text
from ldru.models import LDRUSpec

BEGIN, END = "<!-- results -->", "<!-- /results -->"
FIGURE = "docs/regular.png"


READINGS = TABLES["leaf_block"]
"""The LDRU as the paper's text has it, as its sizes have it, and without L2."""

SHORTENED = {
    "l2": 0.1,
    "listops_1m": 0.1,
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


def overview(results: Results) -> Table:
    """The central table with every reading of the LDRU, as far as it was run."""
    central = TABLES["central"]
    caption = (
        f"{central.caption} leaf_block: with one more residual block on the leaves; "
        "leaf_block_no_l2: with that and no L2 term."
    )
    columns = {**READINGS.columns, **central.columns}
    return shown(replace(central, name="regular", caption=caption, columns=columns), results)


def with_block(readme: str, results: Results) -> str:
    """The README with its table as the records have it."""
    table = overview(results)
    text = as_markdown(table, cell_results(table, results))
    missing = [label for label in TABLES["central"].columns if label not in table.columns]
    holes = f"Not run yet: {', '.join(missing)}.\n\n" if missing else ""
    block = f"{BEGIN}\n{text}\n{holes}![Accuracy by length]({FIGURE})\n{END}"
    return re.sub(f"{BEGIN}.*{END}", lambda _: block, readme, flags=re.DOTALL)


def figure_digest(table: Table, results: Results) -> str:
    """Names what a figure of accuracies was drawn from."""
    found = {spec.name: results.evaluation(spec, table.lengths) for spec in table.runs()}
    return digest({name: evaluation_json(e) for name, e in found.items() if e})


def chosen_run(task: str, results: Results) -> tuple[str, Run]:
    """Of a task's LDRUs with weights the one that was best in its last validation, and its column.

    Of equals one whose exact machine is correct, then one whose network was caught at no error.
    """
    judged = verdicts(READINGS.restricted(tasks=[task]), results)
    runs = [
        (label, Run.open(results.runs / spec.name))
        for label in READINGS.columns
        for spec in READINGS.cell(task, label).values()
        if results.has_weights(spec)
    ]

    def merit(pair: tuple[str, Run]) -> tuple[float, bool, bool]:
        label, run = pair
        verdict = judged.get((task, label), {}).get(run.spec.seed)
        if verdict is None:
            return run.record.final.accuracy, False, False
        return run.record.final.accuracy, verdict.is_correct, not verdict.is_caught

    return max(runs, key=merit)


def model_card(label: str, run: Run, results: Results) -> str:
    """What one should know of a shipped model before using it; label: of its column."""
    task, spec, record = run.language, run.spec, run.record
    assert isinstance(spec.model, LDRUSpec)
    seeds = len(READINGS.seeds)
    rows = []
    for name in ("central", "central_id"):
        table = replace(
            READINGS,
            lengths=TABLES[name].lengths,
            reported=reported.ldru_cells(TABLES[name].reported, label),
        )
        cells = cell_results(table.restricted(tasks=[task.name], columns=[label]), results)
        cell = cells[task.name, label]
        lengths = f"{table.lengths[0]} to {table.lengths[-1]}"
        rows.append(f"| {lengths} | {cell.seeds[spec.seed]:.2f} | {cell_text(cell)} |")
    block = " with a residual block on its leaves" if spec.model.leaf_block else ""
    settings = json.dumps({"model": to_json(spec.model), "train": to_json(spec.train)}, indent=2)
    return "\n".join(
        [
            f"# {task.name}",
            "",
            f"An MLP-LDRU{block}, trained on words of `{task.name}` ({task.num_classes} classes, "
            f"alphabet `{''.join(task.machine.alphabet)}`) up to length {spec.train.max_length}.",
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
            f"Seed {spec.seed}: of the LDRUs for this task whose weights are kept, one with the "
            f"best last validation ({100 * record.final.accuracy:.1f} % at length "
            f"{spec.train.validation_length}); of equals one whose exact machine is correct. "
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
    new = folder.with_name(f"{folder.name}.new")
    with whole_folder(new) as parts:
        lines = []
        for task, (label, run) in chosen.items():
            assert run.folder is not None
            (parts / task).mkdir()
            for name in PARTS:
                shutil.copyfile(run.folder / name, parts / task / name)
                lines.append(f"{checksum(parts / task / name)}  {task}/{name}\n")
            (parts / task / CARD).write_text(model_card(label, run, results))
        (parts / SUMS).write_text("".join(lines))
    if folder.exists():
        shutil.rmtree(folder)
    new.rename(folder)


def publish(root: Path) -> None:
    """Write all that a source tree shows of its results."""
    results = Results(root / "results")
    ship(results, root / "src" / "ldru" / "shipped")
    readme = root / "README.md"
    write_text(readme, with_block(readme.read_text(), results))
    table = overview(results)
    save_figure(accuracy_figure(table, results), root / FIGURE, note=figure_digest(table, results))
    for table in PUBLISHED.values():
        if shown(table, results).columns:
            write_table(table, results)
    judged = verdicts(READINGS, results)
    write_text(results.folder / "tables" / "verdicts.md", verdicts_markdown(judged))


if __name__ == "__main__":
    publish(Path.cwd())
