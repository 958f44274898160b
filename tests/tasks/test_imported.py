"""Words of other benchmarks, in small files of their formats."""

import pytest

import ldru


def test_flare_there_and_back(tmp_path):
    task = ldru.task("repeat_01")
    sets = {"train": ([2, 3, 4], 8), "validation-short": ([4], 8), "test": ([6, 8], 4)}
    ldru.write_flare(task, tmp_path / "repeat-01", sets, seed=0)
    assert (tmp_path / "repeat-01/datasets/test/main.tok").read_text().splitlines()[0].count(" ")
    found = ldru.flare_task(tmp_path / "repeat-01")
    assert (found.name, found.vocab_size, found.num_classes) == ("flare_repeat_01", 2, 2)
    assert found.tests == ("test",)
    assert len(found.words("train")) == 24
    for part in ("train", "validation", "test"):
        words = found.words(part)
        for index in range(len(words)):
            assert task.machine.run(words[index].astype(int)) == words.labels[index]
    assert found.encode("0 1 1").tolist() == found.encode("011").tolist() == [0, 1, 1]
    with pytest.raises(ldru.LdruError, match="already there"):
        ldru.write_flare(task, tmp_path / "repeat-01", sets, seed=0)
    with pytest.raises(ldru.LdruError, match="has other labels"):
        ldru.write_flare(ldru.task("counter_3"), tmp_path / "other", sets, seed=0)


def test_a_data_set_of_flare_trains(tmp_path):
    sets = {"train": (range(1, 8), 8), "validation-short": ([4], 8), "test": ([6, 8], 4)}
    ldru.write_flare(ldru.task("first"), tmp_path / "first", sets, seed=0)
    task = ldru.flare_task(tmp_path / "first")
    spec = ldru.LDRUSpec(dim=8)
    run = ldru.train(task, model=spec, steps=30, batch_size=8, seeds=(0,), learning_rate=1e-2)[0]
    assert set(run.evaluate()) == {"test"}


def test_mlregtest(tmp_path):
    rows = {
        "Train": ["ab\tTRUE", "\tFALSE", "ba\tFALSE"],
        "Dev": ["aab\tTRUE"],
        "TestSA": ["b\tFALSE"],
    }
    for part, lines in rows.items():
        (tmp_path / f"04.04.SL.2.1.0_{part}.txt").write_text("\n".join(lines) + "\n")
    task = ldru.mlregtest_task(tmp_path, "04.04.SL.2.1.0")
    assert task.tests == ("TestSA",)
    train = task.words("train")
    assert [train[i].tolist() for i in range(len(train))] == [[0, 1], [1, 0]]
    assert train.labels.tolist() == [1, 0]
    assert task.encode("ba").tolist() == [1, 0]
    with pytest.raises(ldru.LdruError, match="'c' at place 2 of 'ac' is not in the alphabet a b"):
        task.encode("ac")
    with pytest.raises(ldru.LdruError, match="there is no file other"):
        ldru.mlregtest_task(tmp_path, "other")


@pytest.mark.parametrize(
    ("words", "labels", "message"),
    [
        ("0 1\n1 0\n", "1\n", "2 words in main.tok and 1 labels"),
        ("0 1\n", "maybe\n", "labels.txt:1: a label is 1 or 0, TRUE or FALSE, got 'maybe'"),
        ("\n", "1\n", "has no words"),
        ("0 1\n", "1\n", "needs a set 'validation'"),
    ],
)
def test_files_that_do_not_fit(tmp_path, words, labels, message):
    (tmp_path / "main.tok").write_text(words)
    (tmp_path / "labels.txt").write_text(labels)
    with pytest.raises(ldru.LdruError, match=message):
        ldru.flare_task(tmp_path)


def test_a_folder_without_words(tmp_path):
    with pytest.raises(ldru.LdruError, match="cannot read"):
        ldru.flare_task(tmp_path)
