"""The state of a fleet on disk: one file for all members, who must agree on the step."""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from torch import Tensor

from ldru.base.errors import RunError
from ldru.base.files import check_writable, lock, sweep, writing
from ldru.base.reading import is_file, parse_json
from ldru.base.safetensors import load_tensors, save_tensors
from ldru.training.log import LogEntry, log_entries, log_lines

FILE = "checkpoint.safetensors"
LOCK = "lock"


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A fleet between two steps.

    tensors: a row per member that was still training.
    names: those members, in the order of the rows.
    logs: of all members, finished ones too.
    data: checksums of the data sets, by task.
    """

    tensors: dict[str, Tensor]
    names: list[str]
    step: int
    logs: dict[str, list[LogEntry]]
    data: dict[str, str] = field(default_factory=dict)


def _checked(name: object) -> str:
    """The name of a member, which is part of a file's name: it must not lead elsewhere."""
    if not isinstance(name, str) or not re.fullmatch(r"[\w+,-][\w.+,-]*", name):
        raise ValueError(f"{name!r} is no name of a member")
    return name


class Checkpoint:
    """The unfinished work of one fleet, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def exists(self) -> bool:
        return is_file(self.folder / FILE)

    def save(self, saved: Saved) -> None:
        """Keep this state instead of the one before."""
        logs = {name: [asdict(entry) for entry in log] for name, log in saved.logs.items()}
        metadata = {
            "step": str(saved.step),
            "names": json.dumps(saved.names),
            "logs": json.dumps(logs),
            "data": json.dumps(saved.data),
        }
        save_tensors(self.folder / FILE, saved.tensors, metadata)

    def load(self) -> Saved:
        """The state that was kept."""
        with self.explained():
            tensors, metadata = load_tensors(self.folder / FILE)
            usual = {"names": "0", "logs": "0", "data": "{}"}
            names, logs, data = (parse_json(metadata.get(name, usual[name])) for name in usual)
            if not (isinstance(names, list) and isinstance(logs, dict) and isinstance(data, dict)):
                raise ValueError("it has no names, logs and data of a fleet")
            if not re.fullmatch("[0-9]{1,18}", metadata.get("step", "")):
                raise ValueError("its step is no whole number")
            return Saved(
                tensors=tensors,
                names=[_checked(name) for name in names],
                step=int(metadata["step"]),
                logs={_checked(name): log_entries(log) for name, log in logs.items()},
                data={name: str(checksum) for name, checksum in data.items()},
            )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn a fault of the state into an error that says how to do without it."""
        try:
            yield
        except ValueError as problem:
            raise RunError(
                f"{str(self.folder / FILE)!r} is not a checkpoint of this training: {problem}; "
                f"remove {str(self.folder)!r} to begin it again"
            ) from problem

    def write_log(self, name: str, entries: Sequence[LogEntry], *, is_new: bool) -> None:
        """Let a member's log be followed while it trains: one more line, or all of it anew."""
        path = self.folder / f"{name}.jsonl"
        with writing(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            with path.open("w" if is_new else "a") as file:
                file.write(log_lines(entries))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from the same work for the length of a block."""
        check_writable(self.folder)
        with lock(self.folder / LOCK) as is_ours:
            if not is_ours:
                raise RunError(
                    f"another process is at this training in {str(self.folder.parent)!r}; wait for "
                    "it, or choose another folder"
                )
            sweep(self.folder / FILE)
            try:
                yield
            finally:
                if {path.name for path in self.folder.glob("*")} == {LOCK}:
                    self.remove()  # nothing was kept

    def clear(self) -> None:
        """Forget the state, so that other members may train."""
        with writing(self.folder):
            for path in self.folder.iterdir():
                if path.name != LOCK:
                    path.unlink()

    def remove(self) -> None:
        """Forget the unfinished work."""
        shutil.rmtree(self.folder, ignore_errors=True)
