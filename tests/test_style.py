"""Which way the code may import, how fast it starts, and what is public."""

import ast
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import ldru

SOURCE = Path(ldru.__file__).parent
ROOT = SOURCE.parents[1]

MAY_IMPORT = {
    "base": set(),
    "automata": set(),
    "tree": set(),
    "kernels": set(),
    "drawing": set(),
    "layers": {"kernels"},
    "operators": {"kernels", "layers"},
    "models": {"tree", "kernels", "layers", "operators"},
    "tasks": {"automata"},
    "evaluation": {"drawing", "tasks"},
    "training": {"tree", "kernels", "layers", "tasks", "evaluation"},
    "analysis": {"automata", "tree", "layers", "operators", "models", "tasks", "training"},
    "paper": {"automata", "evaluation", "models", "tasks", "training"},
    "runs": {"drawing", "models", "tasks", "evaluation", "training", "analysis", "paper"},
    "reproduce": {"models", "tasks", "evaluation", "training", "paper", "runs"},
    "figures": {"drawing", "automata", "evaluation", "analysis", "paper", "runs", "reproduce"},
    "bench": {"tree", "kernels", "models", "tasks", "training", "paper"},
    "huggingface": {"layers", "models", "tasks", "evaluation", "runs"},
    "web": {"automata", "models", "tasks", "training", "analysis", "paper", "runs"},
}
MAY_IMPORT["cli"] = {*MAY_IMPORT}
"""Every room, and the rooms left of it that it may import; all may import `base`."""

LONGEST_CHAIN = 22
TABLES = "ldru.paper.tables"


def name_of(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imports(tree, *, at_start):
    """Modules that code imports: when it is imported itself, or at all."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif not (at_start and is_later(node)):
            yield from imports(node, at_start=at_start)


def is_later(node):
    """Whether code runs after the import of its module, or is for type checkers alone."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


@cache
def imported_by(name, *, at_start):
    tree = ast.parse(MODULES[name].read_text())
    return tuple(dict.fromkeys(imports(tree, at_start=at_start)))


def test_every_room_is_known():
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(MAY_IMPORT)
    for room, allowed in MAY_IMPORT.items():
        for other in allowed - {room}:
            assert room not in MAY_IMPORT[other], f"{room} and {other} import each other"


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_code_imports_leftwards_only(room):
    """Type hints and imports inside functions count too."""
    allowed = {"base", room, *MAY_IMPORT[room]}
    for name in MODULES:
        if name.split(".")[1:2] == [room]:
            for module in imported_by(name, at_start=False):
                assert module != "ldru", f"{name} imports the package itself"
                if module.startswith("ldru."):
                    assert module.split(".")[1] in allowed, f"{name} imports {module}"


def test_tables_are_imported_by_reproduce_and_the_command_line_alone():
    for name in MODULES:
        users = ("ldru.reproduce", "ldru.cli", TABLES)
        for module in imported_by(name, at_start=False):
            is_user = name == "ldru" or name.startswith(users)
            assert is_user or not module.startswith(TABLES), name


def test_nothing_is_imported_in_a_circle():
    """A module's start needs no module that waits for it; also no chain is long."""

    @cache
    def depth(name):
        assert name not in waiting, f"a circle: {' -> '.join(waiting)} -> {name}"
        waiting.append(name)
        others = [m for m in imported_by(name, at_start=True) if m in MODULES and m != name]
        found = 1 + max(map(depth, others), default=0)
        waiting.pop()
        return found

    waiting = []
    chains = {name: depth(name) for name in MODULES}
    assert max(chains.values()) <= LONGEST_CHAIN, max(chains.items(), key=lambda item: item[1])


def test_automata_know_no_torch():
    for name in MODULES:
        if name.startswith("ldru.automata"):
            found = imported_by(name, at_start=False)
            assert not any(module.split(".")[0] == "torch" for module in found), name


def test_every_public_name_is_described_and_seen_by_type_checkers():
    reference = (ROOT / "docs" / "reference.md").read_text()
    for module in (ldru, ldru.listops, ldru.text):
        for name in module.__all__:
            assert f"`{name}`" in reference or f"`ldru.{name}`" in reference, name
            value = getattr(module, name)
            assert isinstance(value, dict | tuple) or value.__doc__, name
    declared = {
        alias.asname: node.module
        for node in ast.walk(ast.parse((SOURCE / "__init__.py").read_text()))
        if isinstance(node, ast.ImportFrom) and node.module != "ldru.base.version"
        for alias in node.names
    }
    homes = {n: h.rpartition(".")[0] if n in ldru._MODULES else h for n, h in ldru._HOMES.items()}
    assert {name: module for name, module in declared.items() if name} == homes
    assert set(ldru.__all__) <= set(dir(ldru))
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        ldru.trian  # noqa: B018


START = """
import sys, time
begin = time.process_time()
{code}
print(time.process_time() - begin, "torch" in sys.modules)
"""

COMMANDS = (
    ["--help"],
    ["tasks"],
    ["models"],
    ["trian"],
    ["train", "parity_chek"],
    ["train"],
    ["eval", "no/such/run"],
    ["monoid", "dyck_x"],
    ["--complete", "train", "par"],
    ["train", "--help"],
    ["completion", "bash"],
)


def started(code):
    """Seconds of work that code takes in its own process, and whether it imported torch."""
    done = subprocess.run(
        [sys.executable, "-c", START.format(code=code)], capture_output=True, text=True, check=True
    )
    seconds, has_torch = done.stdout.splitlines()[-1].split()
    return float(seconds), has_torch == "True"


TALK = """
from ldru.cli import main
for arguments in {commands}:
    try: main(arguments)
    except SystemExit: pass
    assert "torch" not in sys.modules, arguments
"""


def test_commands_that_only_talk_start_at_once():
    """Without torch; all of them together in less time than torch takes in the same test."""
    talk = TALK.format(commands=COMMANDS)
    assert not started("import ldru")[1]
    for _ in range(3):  # somebody else may have had the machine
        torch_seconds, seconds = started("import torch")[0], started(talk)[0]
        if seconds < torch_seconds:
            return
    pytest.fail(f"{seconds:.2f} s of commands, {torch_seconds:.2f} s of torch")


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
print(ldru.task(regex="(01)*").answer_all([[0, 1], [1, 0]]))
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
    assert done.stdout.endswith("[1, 0]\n")
