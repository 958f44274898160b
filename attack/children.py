"""Forked processes that do one thing and end."""

import os
import pickle
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from attack.operations import Operations, kill
from attack.runner import silence


class Ended(NamedTuple):
    """How a process ended: how many operations it had begun, and an exception if it raised one.

    Neither is known of one that was killed.
    """

    is_killed: bool
    operations: int | None = None
    problem: BaseException | None = None


class Child:
    """A forked process that does some work on a folder, and stops at an operation."""

    def __init__(
        self,
        work: Callable[[Path], None],
        folder: Path,
        *,
        at: int | None = None,
        action: Callable[[str], None] = kill,
        is_lasting: bool = False,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._read, write = os.pipe()
        self.number = os.fork()
        if self.number:
            os.close(write)
            return
        silence()
        os.environ.update(environment or {})
        operations = Operations(folder, at=at, action=action, is_lasting=is_lasting)
        problem: BaseException | None = None
        try:
            operations.install()
            work(folder)
        except BaseException as raised:
            problem = _plain(raised)
        os.write(write, pickle.dumps(Ended(False, operations.count, problem)))
        os._exit(0)

    def join(self) -> Ended:
        """Wait for its end."""
        with os.fdopen(self._read, "rb") as pipe:
            content = pipe.read()
        os.waitpid(self.number, 0)
        return pickle.loads(content) if content else Ended(True)

    def kill(self) -> None:
        os.kill(self.number, signal.SIGKILL)


def _plain(problem: BaseException) -> BaseException:
    """An exception that can be sent, without what it held."""
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:
        return RuntimeError(f"{type(problem).__name__}: {problem}")
    return problem


def group_environment(rank: int, port: int) -> dict[str, str]:
    """What `torchrun` tells the processes of a group of two."""
    return {
        "TORCHELASTIC_RUN_ID": "attack",
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
