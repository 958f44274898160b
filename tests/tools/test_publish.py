"""What the project shows of its results is what the records say."""

import functools
import json
import shutil
from pathlib import Path

import pytest
import torch
from PIL import Image
from tools.publish import (
    FIGURE,
    PUBLISHED,
    RECIPES,
    SHIPPED_LENGTHS,
    chosen_run,
    figure_digest,
    gather,
    model_card,
    with_block,
)
from tools.steps import FILE as STEPS
from tools.steps import steps_markdown
from tools.verdicts import all_verdicts, verdicts_markdown

import ldru
from ldru.base.json import digest
from ldru.base.safetensors import load_tensors
from ldru.paper.tables import TABLES
from ldru.reproduce.known_accuracy import known_accuracy
from ldru.reproduce.render import WRITERS, cell_results
from ldru.reproduce.table_runs import table_runs
from ldru.runs import shipped
from ldru.runs.folder import RECORD, SETTINGS, WEIGHTS
from ldru.runs.packed import write_pack
from ldru.runs.results import Results
from ldru.runs.shipped import SHIPPED, find_run, shipped_names
from tools import certificates, taught

ROOT = Path(__file__).parents[2]
RESULTS = Results(ROOT / "results")
for files in RESULTS.packed.values():
    files.record = functools.cache(files.record)  # tables share runs, and each is read once


def test_every_committed_run_keeps_its_name():
    assert len(RESULTS.packed) >= 353
    for name, files in RESULTS.packed.items():
        spec = files.spec()
        assert spec.name == name
        # The digest that was written once is that of what is written now.
        assert digest(json.loads(files.read(SETTINGS))) == spec.digest == files.record().digest
        assert files.log()[-1].step == spec.train.steps


def test_the_readme_shows_what_the_records_say():
    readme = (ROOT / "README.md").read_text()
    assert with_block(readme, RESULTS) == readme, "run `make results`"
    assert "| even_pairs | 100.0" in readme


def test_the_readmes_figure_was_drawn_from_these_records():
    with Image.open(ROOT / FIGURE) as image:
        drawn_from = image.info["Description"]
    assert drawn_from == figure_digest(RECIPES, RESULTS), "run `make results`"


def test_written_tables_say_what_the_records_say():
    cells = functools.cache(lambda name: cell_results(PUBLISHED[name], RESULTS))
    for path in sorted((ROOT / "results/tables").iterdir()):
        if path.name not in ("verdicts.md", "hard_tests.md", "certificates.md", "taught.md", STEPS):
            now = WRITERS[path.suffix[1:]](PUBLISHED[path.stem], cells(path.stem))
            assert path.read_text() == now, f"{path.name} is stale: run `make results`"
    kept = verdicts_markdown(all_verdicts(RESULTS))
    assert (ROOT / "results/tables/verdicts.md").read_text() == kept, "run `make results`"
    kept = steps_markdown(TABLES["labels_by_step"], RESULTS)
    assert (ROOT / "results/tables" / STEPS).read_text() == kept, "run `make results`"
    kept = certificates.table(json.loads((ROOT / "results/certificates.json").read_text()))
    assert (ROOT / "results/tables/certificates.md").read_text() == kept, "run `make certificates`"
    kept = taught.table(json.loads((ROOT / "results/taught.json").read_text()))
    assert (ROOT / "results/tables/taught.md").read_text() == kept, "run `make taught`"


def test_accuracies_beside_coverage_are_those_of_the_records():
    for task in ("dyck_4", "dyck_6", "dyck_8", "dyck_12"):
        written = json.loads((ROOT / f"results/analysis/{task}-coverage.json").read_text())
        row = written["by_training_length"][0]
        known = known_accuracy(task, row["train_length"], RESULTS)
        assert {name: row[name] for name in known} == known, "run `make analysis`"
        assert known["its_settings"] < known["our_recipe"]


def test_a_changed_record_makes_both_stale_and_is_gathered(tmp_path):
    table = TABLES["central"].restricted(tasks=["parity_check"], columns=["ldru"])
    names = [spec.name for spec in table_runs(table)]
    some = {name: RESULTS.packed[name] for name in names}
    write_pack(tmp_path / "packed" / "regular.zip", some, has_weights=False)
    bytes_before = (tmp_path / "packed" / "regular.zip").read_bytes()
    gather(Results(tmp_path))
    assert (tmp_path / "packed" / "regular.zip").read_bytes() == bytes_before

    def shown():
        copy = Results(tmp_path)
        return with_block("<!-- results --><!-- /results -->", copy), figure_digest(table, copy)

    before = shown()
    folder = tmp_path / "runs" / names[0]
    folder.mkdir(parents=True)
    for part in (SETTINGS, RECORD):
        (folder / part).write_bytes(some[names[0]].read(part))
    record = json.loads((folder / RECORD).read_text())
    for length in range(41, 90):
        record["evaluation"][str(length)]["wrong"]["0"] = 20
    (folder / RECORD).write_text(json.dumps(record))
    after = shown()  # a folder comes before a packed record
    assert all(one != other for one, other in zip(before, after, strict=True))
    gather(Results(tmp_path))
    shutil.rmtree(tmp_path / "runs")
    assert shown() == after


@pytest.mark.parametrize("task", TABLES["central"].tasks)
def test_shipped_models_are_the_chosen_runs(task):
    run = chosen_run(task, RESULTS)
    assert run.folder is None  # nothing better is at hand
    packed = RESULTS.packed[run.spec.name]
    assert run.record.final == packed.record().final
    assert (SHIPPED / task / "README.md").read_text() == model_card(run, RESULTS)
    weights, _ = load_tensors(SHIPPED / task / WEIGHTS)
    assert all(tensor.dtype == torch.float16 for tensor in weights.values())
    assert run.record.evaluation.lengths == list(SHIPPED_LENGTHS)
    again = run.compute_evaluation([50]).by_part[50]
    assert again == run.record.evaluation.by_part[50]


def test_a_shipped_model_answers_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert set(shipped_names()) == set(ldru.TASKS)
    model = ldru.load("parity_check")
    words = torch.randint(2, (64, 333), generator=torch.Generator().manual_seed(0))
    assert torch.equal(model(words).argmax(dim=-1), (words.sum(dim=1) % 2 == 0).long())
    run = ldru.Run.open("parity_check")
    assert run.folder is None  # so that nothing is written beside the library
    assert run.log == []
    Path("parity_check").mkdir()
    with pytest.raises(ldru.LdruError, match="not a whole run folder"):
        ldru.load("parity_check")  # a folder of that name comes first


def test_what_is_not_as_it_was_shipped_is_refused(tmp_path, monkeypatch):
    (tmp_path / "tomita_4").mkdir()
    for part in (SETTINGS, RECORD, WEIGHTS):
        shutil.copyfile(SHIPPED / "tomita_4" / part, tmp_path / "tomita_4" / part)
    shutil.copyfile(SHIPPED / "SHA256SUMS", tmp_path / "SHA256SUMS")
    monkeypatch.setattr(shipped, "SHIPPED", tmp_path)
    assert find_run("tomita_4") == tmp_path / "tomita_4"
    weights = bytearray((tmp_path / "tomita_4" / WEIGHTS).read_bytes())
    weights[-1] ^= 1
    (tmp_path / "tomita_4" / WEIGHTS).write_bytes(weights)
    with pytest.raises(ldru.LdruError, match=r"weights.safetensors' is not the file .* shipped"):
        find_run("tomita_4")
    (tmp_path / "tomita_4" / WEIGHTS).unlink()
    with pytest.raises(ldru.LdruError, match="missing; install"):
        find_run("tomita_4")
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(ldru.LdruError, match="is not the file that was shipped"):
        find_run("tomita_4")
    with pytest.raises(
        ldru.LdruError, match=r"no run folder 'tomita_9', nor .* shipped are tomita_4"
    ):
        find_run("tomita_9")
