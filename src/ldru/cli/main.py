"""Finds the command, runs it, and exits with its code."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import tyro
from tyro.conf import FlagCreatePairsOff

import ldru
from ldru.cli.analysing import Analyse
from ldru.cli.benching import Bench
from ldru.cli.evaluating import Eval
from ldru.cli.extracting import Extract
from ldru.cli.listing import Models, Tasks
from ldru.cli.monoids import MonoidOf
from ldru.cli.predicting import Predict
from ldru.cli.reproducing import Reproduce
from ldru.cli.texts import Export, Prepare
from ldru.cli.training import Train, train_command
from ldru.errors import LdruError

COMMANDS = {
    "tasks": Tasks,
    "models": Models,
    "train": Train,
    "eval": Eval,
    "predict": Predict,
    "prepare": Prepare,
    "export": Export,
    "monoid": MonoidOf,
    "analyse": Analyse,
    "extract": Extract,
    "reproduce": Reproduce,
    "bench": Bench,
}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["--version"], ["-V"]):
        print(f"ldru {ldru.__version__}")
        sys.exit(0)
    try:
        _parse(given)()
        sys.stdout.flush()
    except LdruError as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except KeyboardInterrupt:
        ways_on = {
            "train": "; the same command with --resume goes on from there",
            "reproduce": "; the same command goes on from there",
        }
        print(f"stopped{ways_on.get(''.join(given[:1]), '')}", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def _parse(arguments: list[str]) -> Callable[[], None]:
    """The command with its options."""
    commands: dict[str, Callable[..., Callable[[], None]]] = dict(COMMANDS)
    if arguments[:1] == ["train"]:
        commands["train"] = train_command(arguments)
    return tyro.extras.subcommand_cli_from_dict(
        commands,
        prog="ldru",
        description=ldru.__doc__,
        args=arguments,
        config=(FlagCreatePairsOff,),
    )
