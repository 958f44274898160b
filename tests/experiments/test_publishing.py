"""What the project shows of its results is what the records say."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from PIL import Image

import ldru
from ldru.experiments import shipped
from ldru.experiments.output import WRITERS
from ldru.experiments.presets import TABLES
from ldru.experiments.publishing import (
    FIGURE,
    PUBLISHED,
    READINGS,
    chosen_run,
    figure_digest,
    model_card,
    overview,
    with_block,
)
from ldru.experiments.rendering import cell_results
from ldru.experiments.results import Results
from ldru.experiments.run import PARTS
from ldru.experiments.shipped import SHIPPED, checksum, find_run, shipped_names
from ldru.experiments.verdicts import verdicts, verdicts_markdown

ROOT = Path(__file__).parents[2]
RESULTS = Results(ROOT / "results")


def test_the_readme_shows_what_the_records_say():
    readme = (ROOT / "README.md").read_text()
    assert with_block(readme, RESULTS) == readme, "run `make results`"
    assert "| even_pairs | 100.0" in readme


def test_the_readmes_figure_was_drawn_from_these_records():
    with Image.open(ROOT / FIGURE) as image:
        drawn_from = image.info["Description"]
    assert drawn_from == figure_digest(overview(RESULTS), RESULTS), "run `make results`"


WRITTEN = {path.name for path in (ROOT / "results/tables").iterdir()} - {"verdicts.md"}


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_written_tables_say_what_the_records_say(name):
    path = ROOT / "results/tables" / name
    table = PUBLISHED[path.stem]
    written = WRITERS[path.suffix[1:]](table, cell_results(table, RESULTS))
    assert path.read_text() == written, "run `make results`"


def test_the_written_verdicts_are_those_that_were_kept():
    kept = verdicts(READINGS, RESULTS)
    written = (ROOT / "results/tables/verdicts.md").read_text()
    assert written == verdicts_markdown(kept), "run `make results`"


def test_a_changed_record_makes_both_stale(tmp_path):
    table = TABLES["central"].restricted(tasks=["parity_check"], columns=["ldru"])
    for spec in table.runs():
        shutil.copytree(RESULTS.runs / spec.name, tmp_path / "runs" / spec.name)
    copy = Results(tmp_path)
    before = with_block("<!-- results --><!-- /results -->", copy), figure_digest(table, copy)
    path = tmp_path / "runs" / table.runs()[0].name / "record.json"
    record = json.loads(path.read_text())
    for length in range(41, 90):
        record["evaluation"][str(length)]["wrong"]["0"] = 20
    path.write_text(json.dumps(record))
    after = with_block("<!-- results --><!-- /results -->", copy), figure_digest(table, copy)
    assert all(one != other for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize("task", TABLES["central"].tasks)
def test_shipped_models_are_the_chosen_runs(task):
    label, run = chosen_run(task, RESULTS)
    for part in PARTS:
        assert checksum(SHIPPED / task / part) == checksum(run.folder / part), "run `make results`"
    assert (SHIPPED / task / "README.md").read_text() == model_card(label, run, RESULTS)
    kept = [
        path.parent.name for path in RESULTS.runs.glob(f"{task}-ldru-seed*/weights.safetensors")
    ]
    records = {name: json.loads((RESULTS.runs / name / "record.json").read_text()) for name in kept}
    best = max(record["final"]["accuracy"] for record in records.values())
    assert run.record.final.accuracy == best
    judged = [
        json.loads((RESULTS.folder / "verdicts" / f"{name}.json").read_text())
        for name in kept
        if records[name]["final"]["accuracy"] == best
    ]
    correct = {verdict["run"] for verdict in judged if verdict["is_correct"]}
    assert not correct or run.spec.name in correct


def test_a_shipped_model_answers_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert set(shipped_names()) == set(ldru.TASKS)
    model = ldru.load("parity_check")
    words = torch.randint(2, (64, 333), generator=torch.Generator().manual_seed(0))
    assert torch.equal(model(words).argmax(dim=-1), (words.sum(dim=1) % 2 == 0).long())
    run = ldru.Run.open("parity_check")
    assert run.folder is None  # so that nothing is written beside the library
    Path("parity_check").mkdir()
    with pytest.raises(ldru.LdruError, match="not a whole run folder"):
        ldru.load("parity_check")  # a folder of that name comes first


def test_what_is_not_as_it_was_shipped_is_refused(tmp_path, monkeypatch):
    (tmp_path / "tomita_4").mkdir()
    for part in PARTS:
        shutil.copyfile(SHIPPED / "tomita_4" / part, tmp_path / "tomita_4" / part)
    shutil.copyfile(SHIPPED / "SHA256SUMS", tmp_path / "SHA256SUMS")
    monkeypatch.setattr(shipped, "SHIPPED", tmp_path)
    assert find_run("tomita_4") == tmp_path / "tomita_4"
    weights = bytearray((tmp_path / "tomita_4" / "weights.safetensors").read_bytes())
    weights[-1] ^= 1
    (tmp_path / "tomita_4" / "weights.safetensors").write_bytes(weights)
    with pytest.raises(ldru.LdruError, match=r"weights.safetensors' is not the file .* shipped"):
        find_run("tomita_4")
    (tmp_path / "tomita_4" / "weights.safetensors").unlink()
    with pytest.raises(ldru.LdruError, match="missing; install"):
        find_run("tomita_4")
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(ldru.LdruError, match="is not the file that was shipped"):
        find_run("tomita_4")
    with pytest.raises(
        ldru.LdruError, match=r"no run folder 'tomita_9', nor .* shipped are tomita_4"
    ):
        find_run("tomita_9")
