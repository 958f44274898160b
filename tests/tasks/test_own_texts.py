import json

import numpy as np
import pytest

import ldru

ROWS = [("good", "yes"), ("not, good", "no"), ("gut, größer", "yes"), ("bad", "no")]


def csv_file(path, rows=ROWS, header="text,label"):
    lines = [header, *(f'"{text}",{label}' for text, label in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def json_file(path, rows=ROWS, names=("text", "label")):
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    path.write_text("\n\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("write", [csv_file, json_file])
def test_texts_become_words_of_bytes(write, tmp_path):
    path = write(tmp_path / ("a.csv" if write is csv_file else "a.jsonl"))
    task = ldru.text.own_texts("mine", {"train": path, "validation": path, "later": path})
    assert task.labels == ("no", "yes")
    assert task.test_parts == ("later",)
    words = task.training_set
    assert [bytes(words[n].astype(np.uint8)).decode() for n in range(4)] == [t for t, _ in ROWS]
    assert words.labels.tolist() == [1, 0, 1, 0]


def test_a_model_learns_and_answers_them(tmp_path):
    path = json_file(tmp_path / "a.jsonl", names=("review", "stars"))
    task = ldru.text.own_texts(
        "mine", {"train": path, "validation": path, "test": path}, text="review", label="stars"
    )
    settings = ldru.TrainSpec(batch_size=4, learning_rate=0.01, l2=0.0, validate_every=1000)
    run = ldru.train(task, model=ldru.LDRUSpec(dim=16), steps=100, settings=settings)[0]
    assert run.evaluate() == {"test": 1.0}
    assert [answer.name for answer in run.predict(["good", "bad"])] == ["yes", "no"]


def test_long_texts_are_cut_and_it_is_said(tmp_path):
    path = csv_file(tmp_path / "a.csv")
    task = ldru.text.own_texts("mine", {"train": path, "validation": path}, max_tokens=4)
    assert max(len(task.training_set[n]) for n in range(4)) == 4
    assert [encoded.is_cut for encoded in task.encode_all(["good", "better"])] == [False, True]


@pytest.mark.parametrize(
    ("write", "options", "message"),
    [
        (lambda p: csv_file(p / "a.csv", header="words,label"), {}, "no column 'text'; .* words"),
        (lambda p: csv_file(p / "a.csv"), {"label": "stars"}, "a.csv:2 has no column 'stars'"),
        (lambda p: csv_file(p / "a.csv", [("good", "yes")]), {}, "the label yes alone"),
        (lambda p: csv_file(p / "a.csv", [*ROWS, (" ", "no")]), {}, "a.csv:6: the text is empty"),
        (lambda p: csv_file(p / "a.txt"), {}, "from .csv or .jsonl files"),
        (lambda p: p / "none.csv", {}, "there is no file"),
        (lambda p: json_file(p / "a.jsonl"), {"max_tokens": 0}, "at least 1, got 0"),
    ],
)
def test_misuse_is_one_clear_error(write, options, message, tmp_path):
    path = write(tmp_path)
    with pytest.raises(ldru.LdruError, match=message):
        ldru.text.own_texts("mine", {"train": path, "validation": path}, **options)


def test_broken_lines_are_named(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "label": 1}\n[1]\n')
    with pytest.raises(ldru.LdruError, match=r"a.jsonl:2 is no object"):
        ldru.text.own_texts("mine", {"train": path, "validation": path})
    path.write_text('{"text": "a", "label": 1}\n{text\n')
    with pytest.raises(ldru.LdruError, match=r"a.jsonl:2 is no JSON"):
        ldru.text.own_texts("mine", {"train": path, "validation": path})


def test_labels_that_training_does_not_have_are_named(tmp_path):
    train, other = csv_file(tmp_path / "a.csv"), csv_file(tmp_path / "b.csv", [("so so", "maybe")])
    with pytest.raises(
        ldru.LdruError, match=r"b.csv:2 has the label 'maybe', .* known are no, yes"
    ):
        ldru.text.own_texts("mine", {"train": train, "validation": other})
    with pytest.raises(ldru.LdruError, match="needs a set 'validation'"):
        ldru.text.own_texts("mine", {"train": train})
