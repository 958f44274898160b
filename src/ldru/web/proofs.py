"""Extractions as the page watches them: a picture of the states at each tolerance, a verdict."""

import threading
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ldru.analysis.extract import extract
from ldru.analysis.extraction import Extraction, Trial
from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.models.ldru import LDRUClassifier
from ldru.runs.run import Run
from ldru.web.events import Story
from ldru.web.limits import LARGEST_MONOID, RequestError
from ldru.web.models import centres_of

MOST_SHOWN = 300
"""States of a picture."""

SECONDS = 300
"""How long an extraction may take here; it is asked after each tolerance."""

Tell = Callable[[str, dict[str, Json]], None]


class Proofs:
    """Extractions, one at a time; who asks for the one that is running follows it too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._story = Story()
        self._story.is_over = True
        self._run: Run | None = None

    def start(self, run: Run) -> Story:
        """The events of an extraction, which goes on if nobody listens any more."""
        with self._lock:
            if not self._story.is_over:
                if run is self._run:
                    return self._story
                raise RequestError("another extraction is running; try again when it is done")
            self._story, self._run = Story(), run
            threading.Thread(target=_work, args=[run, self._story], daemon=True).start()
            return self._story


def _work(run: Run, story: Story) -> None:
    try:
        prove(run, story.tell, seconds=SECONDS)
    finally:
        story.is_over = True


def prove(run: Run, tell: Tell, *, seconds: float) -> None:
    """Extract a run's machine; tells of each tolerance as a trial, at last of the verdict."""
    end = time.monotonic() + seconds
    try:
        view = View(run)

        def on_trial(trial: Trial) -> None:
            tell("trial", view.trial_row(trial))
            if time.monotonic() > end:
                raise RequestError(
                    f"this takes longer than the {seconds:g} s that it may here; `ldru extract` "
                    "has no such limit"
                )

        found = extract(run.model, run.language, limit=LARGEST_MONOID, on_trial=on_trial)
    except LdruError as problem:
        tell("problem", {"error": str(problem)})
    else:
        tell("verdict", verdict_row(run, found))


class View:
    """A plane through the states of a network: the two directions in which classes differ most."""

    def __init__(self, run: Run) -> None:
        centres = centres_of(run)
        if centres is None:
            raise RequestError(
                f"the monoid of {run.task.name} has more than {LARGEST_MONOID:,} elements; "
                "`ldru extract` has no such limit"
            )
        assert isinstance(run.model, LDRUClassifier)
        self.head = run.model.head
        self.middle = centres.vectors.mean(dim=0)
        _, _, directions = torch.linalg.svd(centres.vectors - self.middle)
        self.axes = directions[:2]

    @torch.no_grad()
    def trial_row(self, trial: Trial) -> dict[str, Json]:
        """The outcome at one tolerance; states as x, y and the label that is read there."""
        states = trial.states[:MOST_SHOWN].float()
        return {
            "tolerance": trial.tolerance,
            "radius": trial.tolerance * float(trial.states.norm(dim=1).mean()),
            "states": trial.num_states,
            "closed": trial.verdict.is_closed,
            "right": trial.verdict.is_correct,
            "wrong_length": trial.verdict.wrong_length,
            "places": self._places(states),
        }

    def _places(self, states: Tensor) -> list[Json]:
        flat = np.round(((states - self.middle) @ self.axes.T).double().numpy(), 3)
        labels = self.head(states).argmax(dim=1).tolist()
        return [[float(x), float(y), label] for (x, y), label in zip(flat, labels, strict=True)]


def verdict_row(run: Run, found: Extraction) -> dict[str, Json]:
    """The verdict in a sentence, and the shortest wrong word where there is one."""
    wrong = found.wrong
    if wrong is None and found.chosen is not None:
        wrong = found.chosen.verdict.wrong
    return {
        "summary": found.summary,
        "correct": found.is_correct and found.wrong is None,
        "states": None if found.chosen is None else found.chosen.num_states,
        "wrong": None if wrong is None else run.language.machine.decode(list(wrong)),
    }
