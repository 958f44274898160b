"""Public names carry examples that run, and docstrings open as the house style has it."""

import ast
import doctest
import inspect
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import ldru
from ldru.models.registry import MODELS

SOURCE = Path(ldru.__file__).parent

SETTINGS = {"LDRUSpec", "TrainSpec"}
"""Their docstrings are help texts of the command line."""

EXPLAINED = [
    name
    for name in ldru.__all__
    if inspect.isroutine(getattr(ldru, name)) or inspect.isclass(getattr(ldru, name))
]


@pytest.mark.usefixtures("few_words", "few_entries")
@pytest.mark.parametrize("name", [*EXPLAINED, "listops.evaluate"])
def test_the_example_of_a_public_name_runs(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LDRU_DATA", str(tmp_path / "data"))
    before = dict(MODELS)
    value = ldru
    for part in name.split("."):
        value = getattr(value, part)
    names = {"ldru": ldru, "torch": torch, "nn": nn, "np": np, "dataclass": dataclass}
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(value, name, globs=names)
    assert example.examples or name in SETTINGS, f"{name} has no example"
    printed = []
    done = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=printed.append)
    MODELS.clear()
    MODELS.update(before)
    assert not done.failed, "".join(printed)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: p.stem)
def test_docstrings_open_with_a_plain_sentence(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node) or ""
            assert not text.startswith(("What ", "The same")), text
