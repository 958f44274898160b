"""`ldru train`."""

import json
import sys
import types

import pytest

from tests.cli.calling import SHORT, TINY, call


def test_from_a_regex_to_a_plot(capsys, tmp_path):
    code, out, err = call(
        capsys, "train", "--regex", "(01)*", "--out", tmp_path, *TINY, *SHORT, "--json"
    )
    assert code == 0, err
    (result,) = json.loads(out)
    assert set(result["by_class"]) == {"0", "1"}
    assert set(result["accuracy"]) == {str(n) for n in range(1, 13)}
    (folder,) = tmp_path.glob("01_star-ldru-seed0-*")
    files = {path.name for path in folder.iterdir()}
    assert files == {
        *("settings.json", "record.json", "weights.safetensors", "log.jsonl", "accuracy.png")
    }
    assert (folder / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = call(capsys, "predict", folder, "0101", "010", "--json")
    assert [answer["expected"] for answer in json.loads(out)] == [1, 0]


def test_empty_classes_are_said(capsys, tmp_path):
    code, out, _ = call(capsys, "train", "--regex", "(01)*", "--out", tmp_path, *TINY, *SHORT)
    assert code == 0
    assert "label 1 has no words at 6 of the 12 lengths" in out


def test_the_model_decides_which_options_exist(capsys, tmp_path):
    code, _, err = call(capsys, "train", "parity_check", "--heads", "4", "--out", tmp_path)
    assert code == 2
    assert "--heads" in err


def test_trackers_write(capsys, tmp_path):
    pytest.importorskip("tensorboard")
    code, _, err = call(
        capsys, "train", "parity_check", "--out", tmp_path, "--track", "tensorboard", *TINY, *SHORT
    )
    assert code == 0, err
    assert list((tmp_path / "tensorboard").rglob("events*"))


def test_weights_and_biases_gets_every_log_line(capsys, tmp_path, monkeypatch):
    """The package is not needed for the test: a stand-in records what it would be sent."""
    sent = []

    class FakeRun:
        def log(self, metrics, step):
            sent.append((step, metrics))

    fake = types.SimpleNamespace(init=lambda project: FakeRun())
    monkeypatch.setitem(sys.modules, "wandb", fake)
    code, _, err = call(
        capsys, "train", "parity_check", "--out", tmp_path, "--track", "wandb", *TINY, *SHORT
    )
    assert code == 0, err
    ((step, metrics),) = sent
    assert step == 20
    assert any(name.endswith("/validation_accuracy") for name in metrics)


def test_a_missing_extra_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    code, _, err = call(
        capsys, "train", "parity_check", "--out", tmp_path, "--track", "wandb", *TINY, *SHORT
    )
    assert code == 1
    assert "pip install 'ldru[track]'" in err


def test_listops_from_training_to_predictions(capsys, tmp_path, small_listops):
    tiny = ["--dim", "4", "--steps", "4", "--batch-size", "4", "--out", tmp_path / "runs"]
    code, out, err = call(capsys, "train", "listops_40", *tiny, "--json")
    assert code == 0, err
    (result,) = json.loads(out)
    assert len(result["accuracy"]) == 22
    (folder,) = (tmp_path / "runs").glob("listops_40-ldru-seed0-*")
    settings = json.loads((folder / "settings.json").read_text())
    # What was not given is the paper's for ListOps.
    assert settings["model"]["activation"] == "silu"
    assert settings["model"]["dropout"] == 0.05
    train = settings["train"]
    assert (train["optimizer"], train["associativity"], train["learning_rate"], train["l2"]) == (
        *("adam", 1.0, 2.5e-4),
        0.0,
    )
    record = json.loads((folder / "record.json").read_text())
    assert record["data"]

    for command in (("eval", folder), ("train", "listops_40", *tiny)):
        code, _, err = call(capsys, *command, "--lengths", "1:5")
        assert code == 2
        assert "--lengths is for tasks that draw their words" in err
    code, out, _ = call(capsys, "eval", folder, "--sets", "validation", "3,9 5-20")
    assert code == 0
    assert "validation" in out
    code, _, err = call(capsys, "eval", folder, "--sets", "3,9")
    assert code == 2
    assert "unknown set of words of listops_40 '3,9'" in err

    expression = "[MAX 2 9 [MIN 4 7 ] 0 ]"
    code, out, _ = call(capsys, "predict", folder, expression, "[SM 9 9]", "--json")
    assert [answer["expected"] for answer in json.loads(out)] == [9, 8]
    code, out, err = call(capsys, "predict", folder, expression, "[MAX 2 9 [MUN 4 7 ] 0 ]")
    assert code == 2
    assert expression in out
    assert "word 2: token 4, '[MUN', is none of" in err
    assert "\n           ^^^^\n" in err


def test_data_sets_with_other_settings_are_not_trained_by_one_command(capsys, small_listops):
    code, _, err = call(capsys, "train", "listops_30", "sst2", "--steps", 2, "--dim", 4)
    assert code == 2
    assert "'listops_30' and 'sst2' have other settings or test sets" in err


@pytest.mark.parametrize(
    "order",
    [
        ["listops_40", "--steps", 2, "--seeds", 0, "--dim", 4],
        ["--steps", 2, "listops_40", "--dim", 4],
        ["--steps=2", "--dim", 4, "--resume", "listops_40"],
        ["--seeds", 0, "--dim", 4, "--steps", 2, "listops_40", "--json"],
    ],
)
def test_a_data_set_may_stand_anywhere_on_the_line(capsys, tmp_path, small_listops, order):
    code, _, err = call(capsys, "train", *order, "--batch-size", 4, "--out", tmp_path)
    assert code == 0, err
    (folder,) = tmp_path.glob("listops_40-ldru-seed0-*")
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["model"]["activation"] == "silu"  # the paper's for ListOps
    assert settings["train"]["optimizer"] == "adam"


def test_the_settings_of_listops_are_those_of_the_model(capsys, small_listops):
    code, out, _ = call(capsys, "train", "listops_100k", "--model", "bbt_grc", "--help")
    assert code == 0
    assert "0.001" in out
    code, _, err = call(capsys, "monoid", "listops_40")
    assert code == 2
    assert "no regular language" in err


def test_a_recipe_changes_the_defaults_and_options_change_the_recipe(capsys, tmp_path):
    small = ["--dim", 4, "--batch-size", 8, "--steps", 4, "--validation-length", 10, *SHORT]
    arguments = ["parity_check", "--merge-share", 0.4]
    code, _, err = call(capsys, "train", *arguments, *small, "--out", tmp_path)
    assert code == 0, err
    (folder,) = tmp_path.glob("parity_check-ldru-*")
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["model"]["leaf_block"]
    assert settings["model"]["dropout"] == 0.15
    train = settings["train"]
    assert (train["random_trees"], train["merge_share"], train["l2"]) == (0.5, 0.4, 0.0)
    assert (train["decay"], train["steps"]) == ("cosine", 4)
    for wrong in (["--model", "rnn"], ["listops_40"]):
        code, _, err = call(capsys, "train", *wrong, "--recipe", "random_trees")
        assert code == 2
        assert "is for an LDRU on a regular language" in err


def test_the_papers_settings_are_a_recipe(capsys, tmp_path):
    small = ["--dim", 4, "--batch-size", 8, "--steps", 4, "--validation-length", 10, *SHORT]
    code, _, err = call(capsys, "train", "dyck_2", "--recipe", "paper", *small, "--out", tmp_path)
    assert code == 0, err
    (folder,) = tmp_path.glob("dyck_2-ldru-*")
    settings = json.loads((folder / "settings.json").read_text())
    assert (settings["model"]["leaf_block"], settings["model"]["dropout"]) == (False, 0.25)
    train = settings["train"]
    assert "random_trees" not in train
    assert (train["l2"], train["learning_rate"]) == (5e-4, 1e-4)


def test_an_expression_gets_a_name(capsys, tmp_path):
    given = ["--regex", "(0|1)*1", "--name", "ends_in_one", *TINY, *SHORT]
    code, _, err = call(capsys, "train", *given, "--out", tmp_path)
    assert code == 0, err
    (folder,) = tmp_path.glob("ends_in_one-ldru-*")
    code, _, err = call(capsys, "predict", folder, "01")
    assert code == 0, err
    code, _, err = call(capsys, "train", "dyck_2", "--name", "mine")
    assert code == 2
    assert "--name is for the language of --regex or --machine" in err
