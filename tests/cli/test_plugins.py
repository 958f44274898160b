"""Code of others: tasks, models, operators and tables without touching a file of ours."""

import importlib.metadata
import json
import sys

import pytest

import ldru
from ldru.base import imports
from ldru.cli import plugins
from ldru.tasks.registered import REGISTERED
from tests.cli.calling import call

THEIRS = """
from dataclasses import dataclass

import torch
from torch import nn

import ldru


@dataclass(frozen=True, kw_only=True)
class LastTokenSpec(ldru.ModelSpec):
    width: int = 4

    def build(self, *, vocab_size, num_classes):
        return LastToken(vocab_size, num_classes, self.width)


class LastToken(nn.Module):
    def __init__(self, vocab_size, num_classes, width):
        super().__init__()
        self.table, self.head = nn.Embedding(vocab_size, width), nn.Linear(width, num_classes)

    def forward(self, tokens, lengths=None):
        return self.head(self.table(tokens[:, -1]))


class Largest(nn.Module):
    def __init__(self, *, dim):
        super().__init__()

    def forward(self, left, right):
        return torch.maximum(left, right)


walks = ldru.task("parity_check")
ldru.register("last_token", LastTokenSpec)
ldru.register_operator("largest", Largest)
ldru.register_task(ldru.task("ends_in_one", machine=ldru.from_regex("(0|1)*1")))
ldru.register_task(
    ldru.RegularTask(
        spec=type(walks.spec)(name="own_words"),
        machine=ldru.from_regex("(0|1)*11", alphabet="01"),
        train=walks.train,
        test=walks.test,
    )
)
settings = ldru.TrainSpec(steps=2, batch_size=4, max_length=4, validation_length=8)
ldru.register_table(
    ldru.Table(
        name="theirs",
        caption="Their table.",
        tasks=("ends_in_one",),
        columns={"last": ldru.Column(model=LastTokenSpec(), train=settings)},
        lengths=(5, 6),
    )
)
"""
SMALL = [
    "--steps",
    2,
    "--batch-size",
    4,
    "--validation-length",
    8,
    "--lengths",
    "5:6",
    "--words",
    8,
]


@pytest.fixture
def their_module(tmp_path, monkeypatch):
    """A module in the current folder, and registries that are put back afterwards."""
    tables = (ldru.MODELS, ldru.OPERATORS, ldru.TABLES, REGISTERED)
    before = [dict(table) for table in tables]
    (tmp_path / "their_things.py").write_text(THEIRS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(imports, "_IMPORTED", {})
    yield "their_things"
    sys.modules.pop("their_things", None)
    for table, content in zip(tables, before, strict=True):
        table.clear()
        table.update(content)


def test_a_module_of_theirs_serves_every_command(capsys, their_module, tmp_path):
    asked = ["--import", their_module]
    code, out, err = call(capsys, "tasks", "--json", *asked)
    assert code == 0, err
    assert [row["task"] for row in json.loads(out)][-2:] == ["ends_in_one", "own_words"]
    tasks = ["ends_in_one", "own_words"]
    code, _, err = call(
        capsys, "train", *tasks, "--model", "last_token", "--width", 3, *SMALL, *asked
    )
    assert code == 0, err
    code, _, err = call(
        capsys,
        f"--import={their_module}",
        "train",
        "own_words",
        "--operator",
        "largest",
        "--dim",
        4,
        *SMALL,
    )
    assert code == 0, err
    code, out, err = call(capsys, "runs", "--json", *asked)
    assert code == 0, err
    found = {(row["task"], row["model"]) for row in json.loads(out)}
    assert found == {(t, "last_token") for t in tasks} | {("own_words", "ldru")}
    code, out, err = call(capsys, "reproduce", "plan", "theirs", *asked)
    assert code == 0, err
    assert "Their table. 0 of 3 runs." in out


def test_workers_in_other_processes_know_them_too(capsys, their_module):
    arguments = ["--at-once", 2, "--fleet-size", 2, "--device", "cpu", "--words", 8]
    code, out, err = call(
        capsys, "reproduce", "run", "theirs", *arguments, "--import", their_module
    )
    assert code == 0, err
    assert "3 of 3 runs" in out


def test_a_language_of_theirs_is_trained_by_our_recipe(their_module):
    plugins.load([their_module])
    run = ldru.train("own_words", dim=4, steps=2, batch_size=4)[0]
    assert run.spec.train.random_trees == ldru.recipe("random_trees").train.random_trees
    assert run.spec.model.leaf_block
    assert len(ldru.TASKS) == 21


def test_installed_plugins_are_loaded(their_module, monkeypatch):
    sys.path.insert(0, "")
    entry = importlib.metadata.EntryPoint("theirs", their_module, plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda *, group: [entry])
    plugins.load([])
    assert "own_words" in REGISTERED


def test_what_cannot_be_imported_or_registered(capsys, their_module, monkeypatch):
    for given, message in (
        (["tasks", "--import", "no_such_module"], "there is no module 'no_such_module'"),
        (["tasks", "--import"], "needs the name of a module"),
        (["train", "own_words"], "unknown task 'own_words'"),
    ):
        code, _, err = call(capsys, *given)
        assert code == 2
        assert message in err
    entry = importlib.metadata.EntryPoint("broken", "not_there:thing", plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda *, group: [entry])
    with pytest.raises(ldru.LdruError, match="the plugin 'broken': there is no module 'not_there'"):
        plugins.load([])
    machine = ldru.from_regex("(01)*")
    with pytest.raises(ldru.LdruError, match="'dyck_2' comes with ldru: rename yours"):
        ldru.register_task(ldru.task("dyck_2", machine=machine))
    ldru.register_task(ldru.task("mine", machine=machine))
    ldru.register_task(ldru.task("mine", machine=machine))  # again is no harm
    with pytest.raises(ldru.LdruError, match="already another task 'mine'"):
        ldru.register_task(ldru.task("mine", machine=ldru.from_regex("(10)*")))
    with pytest.raises(ldru.LdruError, match="letters, digits and underscores"):
        ldru.register_task(ldru.task(regex="(01)*"))
    with pytest.raises(ldru.LdruError, match="takes a task, got 'mine'"):
        ldru.register_task("mine")
    with pytest.raises(ldru.LdruError, match="already an operator 'mlp'"):
        ldru.register_operator("mlp", object)
    with pytest.raises(ldru.LdruError, match="already a table 'central'"):
        ldru.register_table(ldru.TABLES["central"].restricted(tasks=["dyck_2"]))
