"""Train, extract, decide, and go on with the words that were wrong: until nothing is."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ldru.analysis.counterexamples import (
    MOST_WORDS,
    check_provable,
    verdict_words,
    weak_words,
    wrong_short_words,
)
from ldru.analysis.extraction import Extraction
from ldru.base.errors import LdruError
from ldru.models.spec import ModelSpec
from ldru.paper.recipe import settings_by
from ldru.runs.run import Run
from ldru.runs.spec import check_seed
from ldru.runs.train import run_spec, settings_or, train_runs
from ldru.tasks.find import as_task
from ldru.tasks.task import Task
from ldru.training.execution import Execution
from ldru.training.loop import IN_MEMORY
from ldru.training.observers import ProgressBar
from ldru.training.spec import TrainSpec

ROUNDS = 5
SHARE_OF_STEPS = 0.2
"""Of the first training's steps, what every further round takes."""

SHARE_OF_WORDS = 0.25
"""The least share of hard words in further rounds."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Round:
    """One training and what was found of it.

    number: 0 for the first training, then 1, 2, ...
    wrong: the counterexamples that the next round is given.
    weak: other words that it is given, which are answered rightly by the least margin.
    extraction: the exact machine and the verdict on it; None where short words are wrong already.

    >>> run = ldru.Run.open("parity_check")
    >>> ldru.Round(number=0, run=run, wrong=("0110",), extraction=None).summary
    'wrong on 1 short word, such as 0110'
    """

    number: int
    run: Run
    wrong: tuple[str, ...]
    extraction: Extraction | None
    weak: tuple[str, ...] = ()

    @property
    def is_proved(self) -> bool:
        """Whether the machine is right at every length, and no word of the network is wrong."""
        found = self.extraction
        return found is not None and found.is_correct and found.wrong is None

    @property
    def summary(self) -> str:
        """The outcome in a sentence."""
        if self.extraction is not None:
            return self.extraction.summary
        words = "1 short word" if len(self.wrong) == 1 else f"{len(self.wrong):,} short words"
        return f"wrong on {words}, such as {self.wrong[0]}"


def train_until_proved(
    task: str | Task,
    *,
    model: str | ModelSpec = "ldru",
    seed: int = 0,
    settings: TrainSpec | None = None,
    rounds: int = ROUNDS,
    execution: Execution = IN_MEMORY,
    on_round: Callable[[Round], None] | None = None,
) -> list[Round]:
    """Train an LDRU until its extracted machine is right at every length.

    After each training all short words are answered; if these are right, the exact machine is
    extracted and judged. Where something is wrong, training goes on from there for a fifth of the
    steps, with all wrong words so far among its hard ones, in at most `rounds` rounds. The last
    round says what was reached.

    model, settings: see `train`.

    >>> rounds = ldru.train_until_proved(
    ...     "parity_check",
    ...     model=ldru.LDRUSpec(dim=8, dropout=0.0),
    ...     settings=ldru.TrainSpec(steps=300, learning_rate=0.01, batch_size=64, max_length=10),
    ... )
    >>> rounds[-1].summary
    'correct at every length'
    """
    given = as_task(task)
    settled, usual = settings_by(None, given.spec, model)
    found = check_provable(given, settled)
    if type(rounds) is not int or rounds < 0:
        raise LdruError(f"rounds are a whole number, not a negative one, got {rounds!r}")
    spec = run_spec(found, settled, settings_or(usual, settings), seed=check_seed(seed))
    done: list[Round] = []
    source: Run | None = None
    for number in range(rounds + 1):
        runs = train_runs([spec], tasks={found.spec: found}, source=source, execution=execution)
        source = runs[spec]
        done.append(_judged(source, number=number))
        if on_round is not None:
            on_round(done[-1])
        if done[-1].is_proved:
            break
        if number == 0:
            spec = replace(spec, train=_going_on(spec.train))
        # All that were found so far: what one round mends, the next may forget.
        words = dict.fromkeys(word for past in reversed(done) for word in (*past.wrong, *past.weak))
        known = tuple(words)[:MOST_WORDS]
        spec = replace(spec, init_from=source.spec.digest, counterexamples=known)
        for observer in execution.observers:
            if isinstance(observer, ProgressBar):
                observer.restart(steps=spec.train.steps or 0)
    return done


def _judged(run: Run, *, number: int) -> Round:
    """Search short words first: as long as some are wrong, no machine has to be extracted."""
    longest = run.spec.train.max_length
    wrong = wrong_short_words(run.model, run.language, max_length=longest)
    if wrong:
        return Round(number=number, run=run, wrong=wrong, extraction=None)
    found = run.exact()
    judged = Round(
        number=number,
        run=run,
        wrong=verdict_words(found, max_length=longest),
        extraction=found,
    )
    if judged.is_proved:
        return judged
    return replace(judged, weak=weak_words(run.model, run.language, max_length=longest))


def _going_on(settings: TrainSpec) -> TrainSpec:
    """The settings of further rounds: dropout has risen, and hard words are a good share."""
    assert settings.steps is not None
    return replace(
        settings,
        steps=max(1, round(SHARE_OF_STEPS * settings.steps)),
        hard_words=max(SHARE_OF_WORDS, settings.hard_words),
        dropout_rise=0.0,
    )
