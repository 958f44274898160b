"""What is attacked: a small run, an unfinished training, a set of words and a pack, all whole.

They are made once, and the same bytes each time, so that a case can be run again by its number.
"""

import itertools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

import ldru
from ldru.runs.pack import pack
from ldru.runs.results import Results
from ldru.runs.run import Run
from ldru.tasks.word_set import WordSet
from ldru.training.log import LogEntry

TRAINING = {
    "dim": 4,
    "steps": 6,
    "batch_size": 4,
    "max_length": 6,
    "validation_words": 4,
    "validation_length": 8,
    "validate_every": 2,
}
LENGTHS, WORDS = (3, 4, 5), 4


@dataclass(frozen=True, kw_only=True)
class Material:
    """Whole files to spoil.

    folder: all of it lies here, and so do the folders of workers.
    run: the folder of a run.
    unfinished: a folder with a training that stopped at step 4.
    words: a set of words.
    pack: two runs in one file.
    """

    folder: Path
    run: Path
    unfinished: Path
    words: Path
    pack: Path

    @property
    def checkpoint(self) -> Path:
        """The file that the unfinished training goes on from."""
        (found,) = self.unfinished.glob(".unfinished-*/checkpoint.safetensors")
        return found


def train(folder: Path, *, seeds: tuple[int, ...] = (0,), **more: object) -> dict[int, Run]:
    """A training so small that thousands fit into a minute; it goes on with what is there."""
    options = {**TRAINING, "resume": True, "checkpoint_seconds": 0.0, **more}
    return ldru.train("parity_check", seeds=seeds, out=folder, **options)  # type: ignore[arg-type]


def make_material(folder: Path) -> Material:
    """Make it all in an empty folder."""
    with without_time():
        runs = train(folder / "results" / "runs", seeds=(0, 1))
        for run in runs.values():
            run.with_evaluation(run.compute_evaluation(LENGTHS, words=WORDS))
        stop_training(folder / "unfinished")
        specs = [run.spec for run in runs.values()]
        pack(Results(folder / "results"), specs, folder / "runs.zip")
    words = [np.arange(length) % 5 for length in range(1, 30)]
    WordSet.of(words, [len(word) % 3 for word in words]).save(folder / "words", about={})
    assert runs[0].folder is not None
    shutil.copytree(runs[0].folder, folder / runs[0].folder.name)
    return Material(
        folder=folder,
        run=folder / runs[0].folder.name,
        unfinished=folder / "unfinished",
        words=folder / "words",
        pack=folder / "runs.zip",
    )


def stop_training(folder: Path) -> None:
    """Leave a training behind that was stopped after step 4, of 6."""
    try:
        train(folder, observers=[_Stop()])
    except KeyboardInterrupt:
        return
    raise AssertionError("the training was not stopped")


class _Stop:
    """An observer that stops a training when it has been saved at step 4."""

    def on_steps(self, step: int, losses: dict[str, float]) -> None:
        if step > 4:
            raise KeyboardInterrupt

    def on_log(self, entries: dict[str, LogEntry]) -> None:
        pass


@contextmanager
def without_time() -> Iterator[None]:
    """Keep clocks and commits out of the files."""
    with (
        mock.patch("time.monotonic", side_effect=map(float, itertools.count())),
        mock.patch("ldru.runs.record._commit", return_value=None),
    ):
        yield
