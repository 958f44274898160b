"""Which way the code may import, and what is public."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ldru

SOURCE = Path(ldru.__file__).parent
FOUNDATION = {"errors", "config", "files", "randomness", "layers", "tensors"}
MAY_IMPORT = {
    "automata": set(),
    "tree": set(),
    "operators": set(),
    "kernels": set(),
    "models": {"tree", "operators", "kernels"},
    "tasks": {"automata"},
    "training": {"tasks", "kernels"},  # the optimiser's kernels; never a model's
    "evaluation": {"tasks"},
    "analysis": {"automata", "tree"},
    "experiments": {"automata", "models", "tasks", "training", "evaluation", "analysis"},
    "huggingface": {"models", "tasks", "evaluation", "experiments"},
}


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE))
)
def test_code_imports_leftwards_only(path):
    folder = path.relative_to(SOURCE).parts[0]
    if folder in ("__init__.py", "__main__.py", "cli"):  # on top of everything
        return
    for module in imported_modules(path):
        parts = module.split(".")
        if parts[0] != "ldru" or len(parts) == 1:
            assert module != "ldru" or folder == "experiments", f"{path} imports the package itself"
            continue
        target = parts[1]
        if folder.removesuffix(".py") in FOUNDATION:
            assert target in FOUNDATION, f"{path} imports {module}"
        else:
            allowed = FOUNDATION | MAY_IMPORT[folder] | {folder}
            assert target in allowed, f"{path} imports {module}"


def test_automata_know_no_torch():
    for path in (SOURCE / "automata").glob("*.py"):
        assert not any(module.startswith("torch") for module in imported_modules(path)), path


def test_every_public_name_is_described():
    reference = (SOURCE.parents[1] / "docs" / "reference.md").read_text()
    for module in (ldru, ldru.listops, ldru.text):
        for name in module.__all__:
            assert f"`{name}`" in reference or f"`ldru.{name}`" in reference, name
            value = getattr(module, name)
            assert isinstance(value, dict) or value.__doc__, name


BLOCK = """
import sys

ALLOWED = {"torch", "numpy", "ldru"}
BLOCKED = {"scipy", "sklearn", "matplotlib", "rich", "tyro", "safetensors", "automata"}

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Finder())
import ldru
settings = ldru.TrainSpec(batch_size=4, validation_words=4, validation_length=8)
model = ldru.LDRUSpec(dim=4)
runs = ldru.train("parity_check", model=model, steps=3, settings=settings, out=sys.argv[1])
assert ldru.Run.open(runs[0].folder).spec == runs[0].spec
print(runs[0].evaluate([3, 4], words=4))
settings = ldru.TrainSpec(batch_size=4, validation_words=4, associativity=1.0)
(run,) = ldru.train("listops_50", model=model, steps=2, settings=settings).values()
print(run.evaluate(["validation"]), run.predict(["[MAX 2 9 ]"]))
try:
    ldru.task(regex="(01)*")
except ldru.LdruError as problem:
    print(problem)
"""


def test_training_and_evaluation_need_torch_and_numpy_alone(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BLOCK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LDRU_DATA": str(tmp_path / "data")},
    )
    assert done.returncode == 0, done.stderr
    assert "automata-lib" in done.stdout
