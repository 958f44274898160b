"""The command line: parses, calls one public function, prints.

Each command is the file of its name. What a command calls is imported when it runs, so that help,
lists and errors come at once. Results go to standard output, progress to standard error. Exit code
0 done, 1 failed, 2 misused, 75 out of time (the same command goes on), 130 stopped by Ctrl-C.
"""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its code."""
    try:
        from ldru.cli.dispatch import run

        run(arguments)
    except KeyboardInterrupt:  # while modules were imported, or the last words printed
        os.write(2, b"stopped\n")
        os._exit(130)  # threads of a module that is half imported are not waited for
    sys.exit(0)
