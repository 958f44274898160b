import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

import ldru
from ldru.base.safetensors import save_tensors
from ldru.runs.record import make_record
from ldru.runs.run import Run
from ldru.training.checkpoint import Checkpoint
from ldru.training.log import LogEntry

SMALL = ldru.TrainSpec(batch_size=8, validate_every=20, validation_words=16, validation_length=10)

ONE_STEP = replace(SMALL, steps=1)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    return ldru.train(
        ldru.task(regex="(01)*"),
        model=ldru.LDRUSpec(dim=4),
        seeds=(3, 1),
        steps=20,
        settings=SMALL,
        out=out,
    )


def test_training_gives_a_run_per_seed(runs):
    assert set(runs) == {1, 3}
    assert runs[1].folder != runs[3].folder
    names = {path.name for path in runs[1].folder.iterdir()}
    assert names == {"settings.json", "record.json", "weights.safetensors", "log.jsonl"}


def test_a_run_comes_back_from_its_folder(runs):
    again = Run.open(runs[1].folder)
    assert again.spec == runs[1].spec
    assert again.record == runs[1].record
    assert again.log == runs[1].log
    assert again.task.machine.is_equivalent(runs[1].task.machine)
    assert again.evaluate([5, 9], words=32) == runs[1].evaluate([5, 9], words=32)
    tokens = torch.tensor([[0, 1, 0, 1]])
    torch.testing.assert_close(ldru.load(runs[1].folder)(tokens), runs[1].model(tokens))


def test_the_record_keeps_the_evaluation(runs, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(runs[3].folder, folder)
    run = Run.open(folder)
    evaluation = run.compute_evaluation([4, 5], words=10)
    run.with_evaluation(evaluation)
    again = Run.open(folder)
    assert again.record.evaluation == evaluation
    more = again.with_evaluation(again.compute_evaluation([5, 8], words=20)).record.evaluation
    assert {length: result.words for length, result in more.by_part.items()} == {
        4: 10,
        5: 20,
        8: 20,
    }
    run.with_evaluation(
        run.compute_evaluation([9], words=10)
    )  # opened before the others were added
    assert set(Run.open(folder).record.evaluation.by_part) == {4, 5, 8, 9}
    record = json.loads((folder / "record.json").read_text())
    assert record["final"]["step"] == 20
    assert record["digest"] == run.spec.digest
    assert {"torch", "numpy", "ldru", "python"} <= set(record["versions"])


def test_predictions_stand_beside_the_machines_answer(runs):
    short, long = runs[1].predict(["0", "01" * 20])
    assert (short.expected, long.expected) == (0, 1)
    # Padded together or alone, a word gets the same answer.
    assert runs[1].predict(["0"])[0].probability == pytest.approx(short.probability, abs=1e-6)
    assert 0.5 <= long.probability <= 1
    with pytest.raises(ldru.LdruError, match="'' is empty"):
        runs[1].predict(["01", ""])


def test_outside_the_domain_nothing_is_expected():
    run = ldru.train("modular_arithmetic", model=ldru.LDRUSpec(dim=4), steps=2, settings=SMALL)[0]
    answers = run.predict(["3+4", "3+"])
    assert [answer.expected for answer in answers] == [2, None]
    assert set(run.evaluate([40, 41], words=4)) == {40, 41}


def test_nothing_is_overwritten(runs):
    arguments = {
        "model": ldru.LDRUSpec(dim=4),
        "steps": 20,
        "settings": SMALL,
        "out": runs[1].folder.parent,
    }
    task = ldru.task(regex="(01)*")
    with pytest.raises(ldru.LdruError, match="is already there; go on with --resume"):
        ldru.train(task, seeds=(1,), **arguments)
    before = (runs[1].folder / "record.json").stat().st_mtime_ns
    resumed = ldru.train(task, seeds=(1, 2), resume=True, **arguments)
    assert set(resumed) == {1, 2}
    assert (runs[1].folder / "record.json").stat().st_mtime_ns == before
    with pytest.raises(ldru.LdruError, match="already there"):
        runs[1].save(runs[1].folder)


def test_bad_folders_are_one_clear_error(runs, tmp_path):
    def broken(name, change):
        folder = tmp_path / name
        shutil.copytree(runs[1].folder, folder)
        change(folder)
        return folder

    def edit(folder, **changes):
        path = folder / "settings.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    def other_weights(folder):
        save_tensors(folder / "weights.safetensors", {"a": torch.zeros(1)}, {})

    cases = [
        (tmp_path / "none", "no run folder"),
        (broken("half", lambda f: (f / "record.json").unlink()), "not a whole run folder: record"),
        (broken("new", lambda f: edit(f, format=99)), "format 99, this version reads format 1"),
        (broken("text", lambda f: (f / "settings.json").write_text("{")), "cannot read"),
        (broken("cut", lambda f: (f / "weights.safetensors").write_bytes(b"1234")), "cannot read"),
        (broken("other", other_weights), "not those of"),
        (broken("model", lambda f: edit(f, model={"name": "gru"})), "unknown model 'gru'"),
        (broken("key", lambda f: edit(f, model={"name": "ldru", "depth": 8})), "know depth"),
        (broken("kind", lambda f: edit(f, model={"name": "ldru", "dim": "x"})), "int, got 'x'"),
        (broken("seed", lambda f: edit(f, seed=99)), "of different runs"),
        (
            broken("log", lambda f: (f / "log.jsonl").write_text('{"step": 1')),
            "cannot read .*log.jsonl",
        ),
    ]
    for folder, message in cases:
        with pytest.raises(ldru.LdruError, match=message):
            Run.open(folder)


def test_settings_name_the_run(runs):
    spec = runs[1].spec
    assert type(spec).from_json(json.loads(json.dumps(spec.to_json()))) == spec
    assert spec.digest != runs[3].spec.digest
    assert spec.train.learning_rate == 1e-3  # what the task recommends, written down
    assert spec.model.dropout == 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seeds": ()}, "nothing to train"),
        ({"seeds": (1.5,)}, "whole number"),
        ({"seeds": (True,)}, "whole number"),
        ({"seeds": (2**63,)}, "between 0 and"),
        ({"device": "gpu"}, "no device 'gpu'"),
    ],
)
def test_bad_training_is_one_clear_error(arguments, message):
    with pytest.raises(ldru.LdruError, match=message):
        ldru.train("parity_check", steps=1, settings=SMALL, **arguments)


def test_a_task_is_what_it_was_given_as_whatever_its_name(tmp_path):
    words = ldru.WordSet.of([[0, 1, 2], [2, 1], [1]], [0, 1, 2])
    own = ldru.DataTask.of("own", {"train": words, "validation": words, "test": words})
    arguments = {"model": ldru.LDRUSpec(dim=4), "steps": 2, "out": tmp_path}
    run = ldru.train(own, **arguments)[0]
    assert run.record.data == words.checksum
    assert run.evaluate().keys() == {"test"}
    again = ldru.Run.open(run.folder, task=own)
    again.with_evaluation(again.compute_evaluation())
    fewer = ldru.DataTask.of("own", {"train": words, "validation": words})
    other = ldru.Run.open(run.folder, task=fewer)
    kept = other.with_evaluation(other.compute_evaluation(["validation"])).record.evaluation
    assert list(kept.by_part) == ["validation", "test"]
    assert [p.label for p in again.predict(["0 1 2"])] == [p.label for p in run.predict(["0 1 2"])]
    with pytest.raises(ldru.LdruError, match="tokens as numbers"):
        run.predict(["a b"])
    for text in ("3", "99999999999999999999999"):
        with pytest.raises(ldru.LdruError, match=f"tokens go from 0 to 2, got {text}"):
            run.predict([text])
    with pytest.raises(ldru.LdruError, match=r"unknown task 'own'.*Run\.open\(folder, task="):
        ldru.Run.open(run.folder)
    with pytest.raises(ldru.LdruError, match="needs a set 'validation'"):
        ldru.DataTask.of("own", {"train": words})
    sets = {"train": words, "validation": words}
    with pytest.raises(ldru.LdruError, match="'2023' would be taken for words of a length"):
        ldru.DataTask.of("own", {**sets, "2023": words})
    with pytest.raises(ldru.LdruError, match="3 classes need as many names, got a, b"):
        ldru.DataTask.of("own", sets, labels=["a", "b"])
    with pytest.raises(ldru.LdruError, match="'sst2' comes with ldru: rename yours"):
        ldru.train(ldru.DataTask.of("sst2", sets), steps=1)
    with pytest.raises(ldru.LdruError, match="'parity_check' comes with ldru: rename yours"):
        ldru.train(ldru.DataTask.of("parity_check", sets), steps=1)
    with pytest.raises(ldru.LdruError, match="other has no test sets"):
        ldru.train(ldru.DataTask.of("other", sets), **{**arguments, "out": None})[0].evaluate()

    regular = ldru.train(ldru.task(regex="cola"), **arguments)[0]
    assert isinstance(ldru.Run.open(regular.folder).task, ldru.Task)
    for wrong in (lambda: run.predict("012"), lambda: run.evaluate("test")):
        with pytest.raises(ldru.LdruError, match="give a list"):
            wrong()
    with pytest.raises(ldru.LdruError, match="'own' is a data set"):
        ldru.extract(run.model, own)


def test_every_task_gets_every_seed_and_names_are_unique():
    model = ldru.LDRUSpec(dim=4)
    runs = ldru.train_many(
        ["parity_check", "even_pairs"], model=model, seeds=iter((0, 1)), settings=ONE_STEP
    )
    assert {name: set(by_seed) for name, by_seed in runs.items()} == {
        "parity_check": {0, 1},
        "even_pairs": {0, 1},
    }
    twins = [ldru.task(regex="0*", alphabet="01"), ldru.task(regex="0*", alphabet="012")]
    with pytest.raises(ldru.LdruError, match="two different tasks are called"):
        ldru.train_many(twins, settings=ONE_STEP)


@pytest.mark.parametrize(("name", "made_current"), [("cuda", []), ("cuda:1", [1])])
def test_a_gpu_by_number_is_made_current_and_plain_cuda_is_the_current_one(
    name, made_current, monkeypatch
):
    from ldru.runs.train import find_device

    chosen, zeros = [], torch.zeros
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "zeros", lambda *sizes, device: zeros(*sizes))
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: chosen.append(device.index))
    assert find_device(name) == torch.device(name)
    assert chosen == made_current


@pytest.mark.parametrize(
    ("name", "message"),
    [("record.json", "Record lacks digest"), ("settings.json", "no 'format' in them")],
)
def test_a_file_of_a_run_that_says_nothing_is_named(name, message, tmp_path):
    run = ldru.train(
        "parity_check", model=ldru.LDRUSpec(dim=4), steps=1, settings=SMALL, out=tmp_path
    )[0]
    (run.folder / name).write_text("{}")
    with pytest.raises(ldru.LdruError, match=f"{name}': .*{message}"):
        ldru.Run.open(run.folder)


def test_a_misspelt_data_set_is_told_from_a_task():
    with pytest.raises(ldru.LdruError, match=r"unknown task 'sts2' \(did you mean 'sst2'\?\)"):
        ldru.task("sts2")


def test_the_record_has_the_last_and_the_best_validation():
    log = [
        LogEntry(
            step=step,
            loss=1.0,
            validation_loss=1.0,
            validation_accuracy=accuracy,
            learning_rate=1e-3,
            seconds=2.0,
        )
        for step, accuracy in ((10, 0.5), (20, 0.9), (30, 0.7))
    ]
    record = make_record(digest="0" * 12, log=log, backend="batched", device="cpu")
    assert (record.final.step, record.final.accuracy) == (30, 0.7)
    assert (record.best.step, record.best.accuracy) == (20, 0.9)
    assert record.seconds == 6.0


def test_a_training_that_could_not_begin_leaves_nothing(tmp_path, small_listops):
    out, mixed = tmp_path / "runs", ["listops_40", "parity_check"]
    settings = ldru.TrainSpec(steps=1)
    with pytest.raises(ldru.LdruError, match="several calls"):
        ldru.train_many(
            mixed, model=ldru.LDRUSpec(dim=4), settings=settings, execution=ldru.Execution(out=out)
        )
    assert not list(out.iterdir())


def test_a_damaged_checkpoint_has_a_way_out(tmp_path):
    folder = tmp_path / ".unfinished-0"
    folder.mkdir()
    (folder / "checkpoint.safetensors").write_bytes(b"broken")
    with pytest.raises(ldru.LdruError, match=r"remove '.*unfinished-0' to begin it again"):
        Checkpoint(folder).load()


@pytest.mark.parametrize(
    ("regex", "name"),
    [
        ("(01)*", "01_star"),
        ("01", "01"),
        ("(0|1)*11", "0_or_1_star_11"),
        ("(é|ж)+ж", "é_or_ж_plus_ж"),
    ],
)
def test_folders_tell_expressions_apart_and_keep_letters(regex, name):
    run = ldru.train(ldru.task(regex=regex), dim=4, steps=1, batch_size=2, max_length=4)[0]
    assert run.spec.name.split("-ldru-")[0] == name


def test_an_expression_may_have_a_name():
    task = ldru.task("ends_in_one", regex="(0|1)*1")
    assert task.name == "ends_in_one"
    assert task.answer_all(task.encode_all(["01", "10"])[i][0] for i in (0, 1)) == [1, 0]


def test_writers_of_one_record_keep_what_the_others_add(runs, tmp_path):
    folder = tmp_path / "run"
    runs[3].save(folder)
    result = ldru.PartResult(words_by_class={0: 1}, correct_by_class={0: 1})

    def add(first):
        run = Run.open(folder)
        for length in range(first, first + 40):
            run.with_evaluation(ldru.Evaluation(by_part={length: result}))

    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(add, (1000, 2000)))
    kept = set(Run.open(folder).record.evaluation.lengths)
    assert {*range(1000, 1040), *range(2000, 2040)} <= kept
