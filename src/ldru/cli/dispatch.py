"""Finds the command, runs it, and exits with its code."""

import importlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from ldru.base.errors import LdruError, MissingExtraError, OutOfTimeError, unknown_name
from ldru.base.version import __version__
from ldru.cli.plugins import load, without_imports

COMMANDS = {
    "tasks": "list the languages and data sets, with the sizes of their machines",
    "models": "list the models, with their sizes",
    "train": "train models on tasks and keep each as a run folder",
    "teach": "teach LDRUs a language by the products of its monoid, without a word",
    "eval": "evaluate runs by length, or on the test sets of their data set, side by side",
    "runs": "list the runs of a folder, with their accuracy",
    "predict": "ask a run for the label of words",
    "extract": "turn a trained LDRU into an exact machine and judge it at every length",
    "certify": "prove that a trained LDRU itself is right at every length",
    "play": "open a page that shows languages, networks and their machines",
    "analyse": "look into trained LDRUs: associativity, and states by class",
    "monoid": "show the syntactic monoid of a language",
    "draw": "draw a machine, or the tree over a word",
    "coverage": "show which compositions training shows, and which ones longer words need",
    "heatmaps": "count the compositions in words, by ranges of lengths",
    "reproduce": "rebuild tables of the paper: plan, run, render, pack, unpack",
    "bench": "time things side by side",
    "prepare": "tokenise data sets of texts",
    "export": "write a run for Hugging Face's transformers",
    "completion": "print a script that completes commands in a shell",
}
"""Every command with a line about it; `ldru.cli.NAME` holds it."""

WAYS_ON = {
    "train": "; the same command with --resume goes on from there",
    "reproduce": "; the same command goes on from there",
}


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _open_streams()
    try:
        code = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has seen enough
        _silence()
        code = 0
    except OSError as problem:  # standard output itself: a full disk
        _silence()
        print(f"error: cannot write the results: {problem}", file=sys.stderr)
        code = 1
    sys.exit(code)


def _run(given: list[str]) -> int:
    """The exit code of a command; whatever goes wrong is told in one line."""
    try:
        rest, modules = without_imports(given)
        load(modules)
        _parse(rest)()
    except OutOfTimeError as problem:
        return _failed(f"{problem}{_way_on(given)}", problem.exit_code, given)
    except LdruError as problem:
        return _failed(str(problem), problem.exit_code, given)
    except KeyboardInterrupt:
        print(f"stopped{_way_on(given)}", file=sys.stderr)
        return 130
    except MemoryError:
        return _failed("there is not enough memory for this; ask for something smaller", 1, given)
    except OSError as problem:
        if problem.filename is None:  # no file of a user's, but a stream
            raise
        reason = f"{problem.strerror or problem}: {str(problem.filename)!r}"
        return _failed(f"the system refuses: {reason}", 1, given)
    return 0


def _way_on(given: list[str]) -> str:
    return WAYS_ON.get("".join(given[:1]), "")


def _failed(reason: str, code: int, given: list[str]) -> int:
    if "--json" in given:  # for programs, which read standard output
        print(json.dumps({"error": reason}))
    print(f"error: {reason}", file=sys.stderr)
    return code


def _open_streams() -> None:
    """Let nobody trip over streams that are closed, or that cannot show every character."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _silence() -> None:
    """Let the interpreter's last flush go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse(arguments: list[str]) -> Callable[[], None]:
    """The command with its options."""
    if not arguments:
        raise LdruError(f"name a command\n\n{_help()}")
    name, rest = arguments[0], arguments[1:]
    if name in ("--version", "-V"):
        return lambda: print(f"ldru {__version__}")
    if name in ("--help", "-h"):
        return lambda: print(_help())
    if name == "--complete":  # asked by the script of `ldru completion`
        from ldru.cli.completion import complete

        return lambda: print("\n".join(complete(rest)))
    if name not in COMMANDS:
        raise unknown_name("command", name, COMMANDS)
    try:
        import tyro
        from tyro.conf import FlagCreatePairsOff
    except ImportError as problem:
        raise MissingExtraError(package=problem.name or "tyro", extra="") from problem
    command = importlib.import_module(f"ldru.cli.{name}").command(rest)
    program = f"ldru {name}"
    if isinstance(command, dict):
        if not rest or rest[0] not in command:
            return tyro.extras.subcommand_cli_from_dict(
                command, prog=program, args=rest, config=(FlagCreatePairsOff,)
            )
        # A subcommand is parsed as a command of its own, so that errors point to its own help.
        program, command, rest = f"{program} {rest[0]}", command[rest[0]], rest[1:]
    return tyro.cli(command, prog=program, args=rest, config=(FlagCreatePairsOff,))


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "usage: ldru COMMAND [OPTIONS]",
            "",
            "Log-depth recurrent units, and length generalisation on formal languages.",
            "",
            "commands:",
            *lines,
            "",
            "`ldru COMMAND --help` shows the options of a command, `ldru --version` the version.",
            "`--import MODULE` imports a module of yours first, which registers tasks or models.",
        ]
    )
