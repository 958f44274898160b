"""Training on texts, from files to answers."""

import io
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

import ldru
from ldru.paper.settings import default_model, default_training
from ldru.runs.evaluate import are_alike, evaluate_runs
from ldru.runs.predict import predict_stream
from ldru.runs.train import run_spec
from ldru.tasks.text import TEXT_SETS, prepare
from tests.cli.calling import call

PAPERS = {
    "ldru": (10e6, 0.02),
    "transformer_alibi": (4.9e6, 0.01),
    "transformer_sinusoidal": (4.9e6, 0.01),
    "transformer_nope": (4.9e6, 0.01),
}
TINY = ["--dim", "4", "--batch-size", "4", "--steps", "6", "--device", "cpu"]


def small(task, name="ldru"):
    model = replace(default_model(task.spec, name), dim=8)
    return model, replace(default_training(task, model), batch_size=4, validate_every=4)


@pytest.fixture
def run(small_texts):
    prepare("sst2", data=small_texts)
    return trained_on_sst2(steps=3)


def trained_on_sst2(*, steps):
    task = ldru.task("sst2")
    model, settings = small(task)
    settings = replace(settings, learning_rate=1e-2, warmup=0.0, validate_every=1000)
    return ldru.train(task, model=model, steps=steps, settings=settings)[0]


@pytest.mark.parametrize("name", PAPERS)
def test_settings_are_the_papers(name):
    task = ldru.task("mnli")
    spec = run_spec(task, default_model(task.spec, name), None, seed=0)
    model = spec.model.build(vocab_size=task.vocab_size, num_classes=task.num_classes)
    size, tolerance = PAPERS[name]
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(size, rel=tolerance)
    train = spec.train
    assert (train.steps, train.learning_rate, train.batch_size) == (35_000, 1e-4, 32)
    assert (train.optimizer, train.weight_decay, train.l2) == ("adam", 1e-5, 0.0)
    assert (train.warmup, train.centralise) == (0.2, False)
    assert train.associativity == (0.1 if name == "ldru" else 0.0)
    assert spec.model.dropout == (0.01 if name == "ldru" else 0.1)


def test_fleets_hold_one_data_set_of_texts():
    specs = [
        run_spec(ldru.task(name), default_model(ldru.task(name).spec, "ldru"), None, seed=seed)
        for name, seed in (("qnli", 0), ("qnli", 1), ("mnli", 0))
    ]
    assert are_alike(specs[0], specs[1])
    assert not are_alike(specs[0], specs[2])


@pytest.mark.parametrize("name", PAPERS)
def test_seeds_train_as_one_fleet(name, small_texts):
    prepare("mrpc", data=small_texts)
    task = ldru.task("mrpc")
    model, settings = small(task, name)
    settings = replace(settings, precision="float64")
    together = ldru.train(task, model=model, steps=5, seeds=(0, 1), settings=settings)
    alone = ldru.train(task, model=model, steps=5, seeds=(1,), settings=settings)
    for key, weight in alone[1].model.state_dict().items():
        torch.testing.assert_close(together[1].model.state_dict()[key], weight)
    assert alone[1].record.cut == 0
    assert alone[1].record.data == task.words("train").checksum


def test_a_run_learns_texts_and_answers(small_texts):
    prepare("sst2", data=small_texts)
    run = trained_on_sst2(steps=150)
    assert run.evaluate() == {"dev": 1.0}
    texts = ["a gripping film", "dull", "a bad old play."]
    answers = run.predict(texts)
    assert [answer.name for answer in answers] == ["positive", "negative", "negative"]
    assert [answer.label for answer in answers] == [1, 0, 0]
    for text, answer in zip(texts, answers, strict=True):
        tokens = torch.from_numpy(run.task.encode(text))[None]
        share = run.model(tokens).detach().softmax(dim=-1)[0, answer.label]
        assert answer.probability == pytest.approx(float(share), abs=1e-6)
        assert answer.word == text


def test_a_text_that_is_too_long_is_cut_and_said(run):
    exact, longer = "film " * 62, "film " * 63  # 64 tokens with the marks, and 65
    answers = run.predict([exact, "dull", longer])
    assert [answer.is_cut for answer in answers] == [False, False, True]
    assert answers[0].probability == pytest.approx(answers[2].probability, abs=1e-6)


def test_without_a_vocabulary_the_way_out_is_said(run, monkeypatch, tmp_path):
    monkeypatch.setenv("LDRU_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(ldru.LdruError, match=r"ldru prepare sst2.*--vocabulary"):
        run.predict(["a film"])


def test_a_run_is_not_evaluated_on_other_texts(run, small_texts, monkeypatch, tmp_path):
    monkeypatch.setenv("LDRU_DATA", str(tmp_path / "elsewhere"))
    (small_texts / "SST-2" / "train.tsv").write_text("sentence\tlabel\nfine\t0\n")
    ldru.text.prepare("sst2", data=small_texts)
    other = replace(run, task=ldru.task("sst2"))
    for evaluate in (lambda: other.evaluate(), lambda: evaluate_runs([other], ["dev"])):
        with pytest.raises(ldru.LdruError, match=r"trained on other words of 'sst2'.*LDRU_DATA"):
            evaluate()
    assert other.predict(["dull"])[0].label == run.predict(["dull"])[0].label


def test_a_stream_is_answered_in_its_order_up_to_a_bad_text(run):
    texts = ["dull " * (n * 7 % 11 + 1) for n in range(10)]
    found = list(predict_stream(run, iter(texts), at_once=3))
    assert [answer.word for answer in found] == texts
    alone = [run.predict([text])[0] for text in texts]
    for one, other in zip(found, alone, strict=True):
        assert one.label == other.label
        assert one.probability == pytest.approx(other.probability, abs=1e-6)
    waited: list[str] = []
    live = predict_stream(run, (waited.append(text) or text for text in texts), at_once=1)
    for number, answer in enumerate(live, start=1):
        assert len(waited) == number
        assert answer.word == texts[number - 1]
    stream = predict_stream(run, [*texts[:4], " ", "film"], at_once=3)
    assert [next(stream).word for _ in range(4)] == texts[:4]
    with pytest.raises(ldru.LdruError, match="word 5: the text ' ' is empty"):
        next(stream)


def test_the_command_line_from_files_to_answers(capsys, small_texts, tmp_path, monkeypatch):
    out = tmp_path / "runs"
    code, printed, err = call(
        capsys, "train", "mrpc", "--data", small_texts, "--out", out, *TINY, "--json"
    )
    assert code == 0, err
    (result,) = json.loads(printed)
    assert set(result["metrics"]["dev"]) == {"f1", "macro_f1", "accuracy"}
    (folder,) = out.glob("mrpc-ldru-seed0-*")
    code, printed, _ = call(capsys, "eval", folder)
    assert code == 0
    assert "macro_f1" in printed
    code, printed, _ = call(capsys, "predict", folder, "a film\tthe play", "--json")
    assert code == 0
    (answer,) = json.loads(printed)
    assert answer["name"] in ("different", "paraphrase")
    path = tmp_path / "texts.tsv"
    path.write_text("a film\tthe play\nold film\tdull\n")
    code, printed, _ = call(capsys, "predict", folder, "--file", path)
    assert code == 0
    assert [line.split("\t", 2)[2] for line in printed.splitlines()[1:]] == [
        "a film\tthe play",
        "old film\tdull",
    ]
    monkeypatch.setenv("LDRU_DATA", str(tmp_path / "elsewhere"))
    vocabulary = small_texts / "bert_vocab" / "vocab.txt"
    code, printed, err = call(
        *(capsys, "predict", folder, "a film\tdull " + "play " * 200, "--vocabulary", vocabulary)
    )
    assert code == 0
    assert "1 texts were longer than the model takes, and cut" in err
    monkeypatch.setattr(sys, "stdin", io.StringIO("a film\n"))
    code, _, err = call(capsys, "predict", folder)
    assert code == 2
    assert "word 1: mrpc takes two texts with a tab between them" in err


def test_the_command_line_prepares(capsys, small_texts, tmp_path):
    code, printed, _ = call(capsys, "prepare", "sst2", "cola", "--data", small_texts, "--json")
    assert code == 0
    rows = json.loads(printed)
    assert [(row["name"], row["part"], row["texts"]) for row in rows] == [
        *(("sst2", "train", 40), ("sst2", "dev", 12)),
        *(("cola", "train", 9), ("cola", "dev", 2)),
    ]
    code, _, err = call(capsys, "train", "sst2", "--data", tmp_path / "no", "--out", tmp_path / "r")
    assert code == 2
    assert "SST-2/train.tsv" in err
    code, _, err = call(capsys, "train", "parity_check", "--data", small_texts)
    assert code == 2
    assert all(name in err for name in TEXT_SETS)


BLOCKED = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        blocked = ("tokenizers", "transformers", "pyarrow", "datasets", "sklearn", "scipy", "rich")
        if name.split(".")[0] in blocked:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Finder())
import ldru
settings = ldru.TrainSpec(batch_size=4, associativity=0.1)
(run,) = ldru.train("sst2", model=ldru.LDRUSpec(dim=4), steps=2, settings=settings).values()
print(run.evaluate())
try:
    run.predict(["a film"])
except ldru.LdruError as problem:
    print(problem)
"""


def test_a_store_is_all_that_training_needs(small_texts):
    prepare("sst2", data=small_texts)
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stderr
    assert "{'dev': " in done.stdout
    assert "ldru[text]" in done.stdout


def test_a_run_is_asked_with_its_own_vocabulary_alone(small_texts, tmp_path, monkeypatch, capsys):
    prepare("sst2", data=small_texts)
    task = ldru.task("sst2")
    model, settings = small(task)
    run = ldru.train(task, model=model, steps=2, settings=settings, out=tmp_path / "runs")[0]
    assert run.record.vocabulary == task.words("train").about["vocabulary"]
    assert run.predict(["a film"])
    other = tmp_path / "other.txt"
    words = (small_texts / "bert_vocab" / "vocab.txt").read_text().splitlines()
    words[2000], words[2001] = words[2001], words[2000]
    other.write_text("\n".join(words) + "\n")

    monkeypatch.setenv("LDRU_DATA", str(tmp_path / "elsewhere"))
    code, _, error = call(
        capsys, "predict", str(run.folder), "a film", "--vocabulary", str(other), "--device", "cpu"
    )
    assert code == 2
    assert "trained with another vocabulary" in error
    assert not (tmp_path / "elsewhere" / "text" / "vocab.txt").exists()

    prepare("sst2", data=small_texts, vocabulary=other)
    again = ldru.Run.open(run.folder)
    for ask in (lambda: again.predict(["a film"]), lambda: again.evaluate(["dev"])):
        with pytest.raises(ldru.LdruError, match="trained with another vocabulary"):
            ask()
