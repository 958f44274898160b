"""The command line: parses, calls one public function, prints.

Each command is the file of its name. What a command calls is imported when it runs, so that help,
lists and errors come at once. Results go to standard output, progress to standard error. Exit code
0 done, 1 failed, 2 misused.
"""

from ldru.cli.main import main

__all__ = ["main"]
