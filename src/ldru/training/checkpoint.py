"""The state of a fleet on disk: one file for all members, who must agree on the step."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from torch import Tensor

from ldru.errors import MissingExtraError, RunError
from ldru.files import whole_file

FILE = "checkpoint.safetensors"


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One line of a member's log: means since the line before, and a validation."""

    step: int
    loss: float
    validation_loss: float
    validation_accuracy: float
    learning_rate: float
    seconds: float


def save_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors as one whole safetensors file."""
    try:
        from safetensors import SafetensorError
        from safetensors.torch import save_file
    except ImportError as problem:
        raise MissingExtraError(package="safetensors", extra="") from problem
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        with whole_file(path) as temporary:
            save_file(contiguous, temporary, metadata=dict(metadata))
    except SafetensorError as problem:  # a full disk, for one
        raise RunError(f"cannot write {str(path)!r}: {problem}") from problem


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read a safetensors file and its metadata; nothing in it is executed."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as problem:
        raise MissingExtraError(package="safetensors", extra="") from problem
    try:
        with safe_open(path, framework="pt") as file:
            return {n: file.get_tensor(n) for n in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (OSError, SafetensorError) as problem:
        raise RunError(f"cannot read {str(path)!r}: {problem}") from problem


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A fleet between two steps.

    tensors: a row per member that was still training.
    names: those members, in the order of the rows.
    logs: of all members, finished ones too.
    """

    tensors: dict[str, Tensor]
    names: list[str]
    step: int
    logs: dict[str, list[LogEntry]]


class Checkpoint:
    """The unfinished work of one fleet, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def exists(self) -> bool:
        return (self.folder / FILE).is_file()

    def save(self, saved: Saved) -> None:
        """Keep this state instead of the one before."""
        logs = {name: [asdict(entry) for entry in log] for name, log in saved.logs.items()}
        metadata = {
            "step": str(saved.step),
            "names": json.dumps(saved.names),
            "logs": json.dumps(logs),
        }
        save_tensors(self.folder / FILE, saved.tensors, metadata)

    def load(self) -> Saved:
        """The state that was kept."""
        tensors, metadata = load_tensors(self.folder / FILE)
        if not {"step", "names", "logs"} <= set(metadata):
            raise RunError(f"{str(self.folder / FILE)!r} is not a checkpoint of a fleet")
        logs = {
            name: [LogEntry(**entry) for entry in entries]
            for name, entries in json.loads(metadata["logs"]).items()
        }
        names = json.loads(metadata["names"])
        return Saved(tensors=tensors, names=names, step=int(metadata["step"]), logs=logs)

    def write_log(self, name: str, entries: Sequence[LogEntry], *, is_new: bool) -> None:
        """Let a member's log be followed while it trains: one more line, or all of it anew."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{name}.jsonl").open("w" if is_new else "a") as file:
            file.write(log_lines(entries))

    def remove(self) -> None:
        """Forget the unfinished work."""
        shutil.rmtree(self.folder, ignore_errors=True)


def log_lines(entries: Sequence[LogEntry]) -> str:
    """A log as JSON lines."""
    return "".join(json.dumps(asdict(entry)) + "\n" for entry in entries)
