"""The command line: parses, calls one public function, prints.

Results go to standard output, progress to standard error. Exit code 0 done, 1 failed, 2 misused.
"""

from ldru.errors import MissingExtraError

try:
    import rich  # noqa: F401
    import tyro  # noqa: F401
except ImportError as problem:
    missing = MissingExtraError(package=problem.name or "tyro", extra="")
    raise SystemExit(f"error: {missing}") from problem

from ldru.cli.main import main

__all__ = ["main"]
