"""Calling commands as a user does."""

import pytest

from ldru.cli import main

TINY = ["--dim", "4", "--batch-size", "8", "--steps", "20", "--validation-length", "10"]


SHORT = ["--lengths", "1:12", "--words", "8"]


def call(capsys, *arguments):
    """Exit code, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return stop.value.code, printed.out, printed.err
