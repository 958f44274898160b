"""`ldru completion`: scripts for shells, and what they ask for at every Tab.

Written out here because the parser's own scripts know no names of tasks.
"""

import dataclasses
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args, get_origin

from tyro.conf import Positional

from ldru.automata.named import PAPERS
from ldru.base.errors import LdruError
from ldru.paper.recipe import RecipeName
from ldru.paper.settings import SIZES, SUBSET, SUBSETS, TEXT_TASKS

SCRIPTS = {
    "bash": """\
_ldru() {
    local IFS=$'\\n'
    COMPREPLY=($(ldru --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _ldru ldru
""",
    "zsh": """\
_ldru() {
    local -a found
    found=("${(@f)$(ldru --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    [[ -n $found ]] && compadd -a found || _files
}
compdef _ldru ldru
""",
    "fish": """\
complete -c ldru -a '(ldru --complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
""",
}


ABOUT_LANGUAGES = (
    *("monoid", "draw", "coverage", "heatmaps"),
    *("eval", "predict", "extract", "analyse", "export"),  # by the names of the shipped models
)


@dataclass(frozen=True, kw_only=True)
class Completion:
    """Print a script that completes commands, options, tasks and models in a shell.

    In bash: eval "$(ldru completion bash)".

    Args:
        shell: bash, zsh or fish.
    """

    shell: Positional[Literal["bash", "zsh", "fish"]]

    def __call__(self) -> None:
        print(SCRIPTS[self.shell], end="")


def command(arguments: list[str]) -> type[Completion]:
    return Completion


def complete(words: list[str]) -> list[str]:
    """Completions of the last word, which is being typed; none means files."""
    begun = words[-1] if words else ""
    return [word for word in _candidates(words[:-1], begun) if word.startswith(begun)]


def _candidates(before: list[str], begun: str) -> Iterator[str]:
    from ldru.cli.dispatch import COMMANDS

    if not before:
        yield from (*COMMANDS, "--help", "--version")
        return
    name = before[0]
    if name not in COMMANDS:
        return
    try:
        found = importlib.import_module(f"ldru.cli.{name}").command(before[1:])
    except LdruError:  # an option is not typed to its end yet
        found = importlib.import_module(f"ldru.cli.{name}").command([])
    if isinstance(found, dict):
        if len(before) == 1:
            yield from (*found, "--help")
            return
        found = found.get(before[1])
        if found is None:
            return
    options = dict(_options(found))
    if begun.startswith("-"):
        yield from (*options, "--help")
    elif (option := _open_option(before, options)) is not None:
        yield from _values(option, options[option])
    else:
        yield from _positionals(name)


def _open_option(before: list[str], options: dict[str, object]) -> str | None:
    """The option whose value comes next: the last word, or one that takes many values."""
    for distance, word in enumerate(reversed(before)):
        if word.startswith("-"):
            kind = options.get(word)
            takes_more = kind is not bool and (distance == 0 or get_origin(kind) is tuple)
            return word if kind is not None and takes_more else None
    return None


def _options(kind: type) -> Iterator[tuple[str, object]]:
    """The options of a command with their types, those of its nested settings too."""
    for option in dataclasses.fields(kind):
        bare = get_args(option.type)[0] if hasattr(option.type, "__metadata__") else option.type
        if dataclasses.is_dataclass(bare):
            yield from _options(bare)  # type: ignore[arg-type]
        elif bare is option.type:  # what is marked is positional
            yield f"--{option.name.replace('_', '-')}", option.type


VALUES = {
    "--engine": ("local", "ray", "submitit"),
    "--operator": ("mlp", "grc", "gated_sum", "linear", "element_sum"),
    "--activation": ("relu", "silu"),
    "--gates": ("centred", "open"),
    "--backend": ("auto", "fused", "batched", "reference"),
    "--device": ("cpu", "cuda"),
    "--track": ("tensorboard", "wandb"),
    "--model": tuple(SIZES),
    "--recipe": get_args(RecipeName),
    "--tasks": PAPERS,
}


def _values(option: str, kind: object) -> Iterator[str]:
    """Values of an option."""
    yield from VALUES.get(option, get_args(kind) if get_origin(kind) is Literal else ())


def _positionals(command: str) -> Iterator[str]:
    """Positional words of a command."""
    from ldru.cli.bench import NAMES

    texts = (*TEXT_TASKS, *(f"{name}{SUBSET}" for name in SUBSETS))
    if command == "train":
        yield from (*PAPERS, "listops_100k", "listops_500k", "listops_1m", *texts)
    elif command in ABOUT_LANGUAGES:
        yield from PAPERS
    elif command == "prepare":
        yield from texts
    elif command == "bench":
        yield from NAMES
    elif command == "completion":
        yield from SCRIPTS
