"""From a trained tree network to an exact machine, and what can be said of it."""

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from ldru.analysis.algebra import Algebra
from ldru.analysis.learning import machine_of
from ldru.analysis.reach import wrong_by_height
from ldru.analysis.snapping import Network, SnappedNetwork, relative_distance
from ldru.analysis.verdict import Verdict, decide
from ldru.automata.machine import IntArray, MooreMachine
from ldru.automata.monoid import Monoid
from ldru.base.errors import LdruError, RunError
from ldru.base.json import Json
from ldru.base.tabular import Tabular
from ldru.tree import tree_levels

TOLERANCES = (0.8, 0.65, 0.5, 0.4, 0.32, 0.25, 0.2, 0.16, 0.13, 0.1, 0.08, 0.06, 0.04, 0.03, 0.02)
"""The tolerances that are tried, coarse to fine."""

MIN_STATES = 512
STATES_PER_CLASS = 3
"""The limit on states, the larger of both; finer tolerances need ever more."""

FAILURES_IN_A_ROW = 2
"""How often the limit on states is met before still finer tolerances are left out."""

MOST_SPLITS = 100
"""How many states of a network are told apart anew, at most."""

LEAST_AGREEMENT = 0.99
"""An algebra that agrees less often with the network does not stand for it."""

LONGEST_CHECKED_WORD = 2**16
COMPARED_SYMBOLS = 2**15
SHOWN_SYMBOLS = 60


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """The outcome at one tolerance.

    states: the vectors that stand for the states [states, dim].
    splits: how many of them are told apart although they are nearer than the tolerance.
    algebra: the tables; None when they did not close within the limits.
    is_confirmed: whether the network, too, answers the verdict's wrong word wrongly; None without
        one, or when it is too long to ask.
    disagreements: on how many of the words network and algebra differ; None without an algebra.
    spread: how far what the maps give lies from the state it is merged into, at most.
    gap: how far two states lie apart, at least. Both are relative, as the tolerance.
    """

    tolerance: float
    states: Tensor
    splits: int
    verdict: Verdict
    algebra: Algebra | None
    is_confirmed: bool | None
    spread: float
    gap: float
    disagreements: int | None = None

    @property
    def num_states(self) -> int:
        return len(self.states)


@dataclass(frozen=True, kw_only=True)
class NodeAgreement:
    """The network's own nodes on sampled words, against the states of the chosen algebra.

    nodes: how many were compared.
    nearest: the share that lies nearest to the state the algebra gives it.
    farthest: the largest relative distance to it.
    """

    nodes: int
    nearest: float
    farthest: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Extraction(Tabular):
    """An exact machine out of a network, with the evidence for it.

    trials: one per tolerance, coarse to fine.
    chosen: of the closed ones, the one that disagrees with the network on the fewest words, then
        the smallest; a wrong word that the network answers rightly counts as a disagreement. None
        when it agrees on less than `LEAST_AGREEMENT`, or none closed.
    words: on how many words they were compared.
    longest: the length of the longest of them.
    nodes: of the chosen one.
    wrong_by_height: the share of words of 2^(k-1) + 1 to 2^k symbols that the network itself
        answers wrongly, by k; see `ldru.analysis.reach`.

    >>> run = ldru.Run.open("prefix_1_2")
    >>> found = ldru.extract(run.model, run.task, tolerances=[0.2])
    >>> found.is_correct, found.predict(["0110", "1" * 1000])
    (True, [1, 2])
    """

    monoid: Monoid
    trials: tuple[Trial, ...]
    chosen: Trial | None
    words: int
    longest: int
    nodes: NodeAgreement | None
    wrong_by_height: dict[int, float]

    def __repr__(self) -> str:
        states = "" if self.chosen is None else f", {self.chosen.num_states} states"
        return f"Extraction({self.summary}{states})"

    def rows(self) -> list[dict[str, Json]]:
        """The scan, a row per tolerance."""
        return [self._trial_json(trial) for trial in self.trials]

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{super()._repr_html_()}"

    @property
    def is_correct(self) -> bool:
        """Whether the extracted machine is right on every word of every length.

        The network itself may still be wrong on single words; see `wrong`.
        """
        return self.chosen is not None and self.chosen.verdict.is_correct

    @property
    def wrong(self) -> tuple[int, ...] | None:
        """The shortest word found at any tolerance that the network itself answers wrongly."""
        words = [t.verdict.wrong for t in self.trials if t.is_confirmed and t.verdict.wrong]
        return min(words, key=len, default=None)

    @property
    def algebra(self) -> Algebra:
        """The extracted machine; an error when the network is no finite algebra."""
        if self.chosen is None or self.chosen.algebra is None:
            raise RunError(f"there is no exact machine: {self.summary}")
        return self.chosen.algebra

    @cached_property
    def machine(self) -> MooreMachine:
        """The extracted machine as one that reads from left to right, minimal.

        So it goes wherever machines do: `ldru.as_machine`, `ldru.task`, `ldru.monoid`.
        """
        return machine_of(self.algebra, alphabet=self.monoid.machine.alphabet)

    @cached_property
    def classes(self) -> dict[int, tuple[int, ...]]:
        """The classes of the monoid that each state of the chosen algebra stands for."""
        if self.chosen is None:
            return {}
        served = self.chosen.verdict.served
        return {state: tuple(np.flatnonzero(row).tolist()) for state, row in enumerate(served)}

    @property
    def is_onto_monoid(self) -> bool:
        """Whether every state stands for one class: then the monoid is an image of the algebra."""
        return bool(self.classes) and all(len(kinds) <= 1 for kinds in self.classes.values())

    @property
    def summary(self) -> str:
        """The verdict in a sentence."""
        network = f"the network is wrong on {self._shown(self.wrong)}" if self.wrong else ""
        if self.chosen is None:
            return "; ".join(filter(None, [self._no_algebra(), network]))
        verdict = self.chosen.verdict
        if verdict.is_correct:
            return "correct at every length" + (f" once merged, but {network}" if network else "")
        if verdict.wrong is None:
            algebra = f"wrong from length {verdict.wrong_length:,} on"
        else:
            algebra = f"wrong, a shortest word is {self._shown(verdict.wrong)}"
        if self.chosen.is_confirmed:
            return f"{algebra}, for the network too"
        return "; ".join(filter(None, [f"{algebra} once merged", network]))

    def predict(self, words: Sequence[str]) -> list[int]:
        """The extracted machine's label of each word, given as text."""
        algebra, machine = self.algebra, self.monoid.machine
        return [int(algebra.run(machine.encode(word))) for word in words]

    def agreement(self, trial: Trial) -> float | None:
        """The share of words on which the network and a trial's algebra agree."""
        return None if trial.disagreements is None else 1 - trial.disagreements / self.words

    def to_json(self) -> dict[str, Json]:
        """All of it as JSON data, the chosen algebra's tables included."""
        chosen = self.chosen
        data: dict[str, Json] = {
            "summary": self.summary,
            "correct": self.is_correct,
            "monoid": self.monoid.size,
            "words": self.words,
            "longest": self.longest,
            "network_wrong": None if self.wrong is None else list(self.wrong),
            "wrong_by_height": {
                str(height): share for height, share in self.wrong_by_height.items()
            },
            "scan": list(self.rows()),
        }
        if chosen is None or chosen.algebra is None or self.nodes is None:
            return data
        return {
            **data,
            "chosen": self._trial_json(chosen),
            "nodes": dict(vars(self.nodes)),
            "wrong": None if chosen.verdict.wrong is None else list(chosen.verdict.wrong),
            "alphabet": list(self.monoid.machine.alphabet),
            "algebra": chosen.algebra.to_json(),
            "classes": [list(kinds) for kinds in self.classes.values()],
        }

    def _trial_json(self, trial: Trial) -> dict[str, Json]:
        return {
            "tolerance": trial.tolerance,
            "states": trial.num_states,
            "splits": trial.splits,
            "closed": trial.verdict.is_closed,
            "levels": trial.verdict.levels,
            "wrong_length": trial.verdict.wrong_length,
            "confirmed": trial.is_confirmed,
            "agreement": self.agreement(trial),
            "spread": trial.spread,
            "gap": None if math.isinf(trial.gap) else trial.gap,
        }

    def _no_algebra(self) -> str:
        closed = [trial for trial in self.trials if trial.disagreements is not None]
        if not closed:
            finest = self.trials[-1]
            return (
                f"no finite algebra at any of {len(self.trials)} tolerances: at "
                f"{finest.tolerance:g} there are {finest.num_states} states and still more to come"
            )
        best = min(closed, key=_rank)
        return (
            f"no finite algebra stands for the network: the best, {best.num_states} states at "
            f"tolerance {best.tolerance:g}, agrees with it on {self.agreement(best):.1%} of words"
        )

    def _shown(self, word: Sequence[int]) -> str:
        text = self.monoid.machine.decode(np.array(word[:SHOWN_SYMBOLS]))
        dots = "..." if len(word) > SHOWN_SYMBOLS else ""
        return f"{text}{dots} (length {len(word):,})"


def extract_algebra(
    network: Network,
    monoid: Monoid,
    words: Sequence[IntArray],
    *,
    generator: Generator,
    tolerances: Sequence[float] = TOLERANCES,
    max_states: int | None = None,
    on_trial: Callable[[Trial], None] | None = None,
) -> Extraction:
    """Merge a network's states at each tolerance, and judge what comes out.

    words: batches of words of one length each [batch, length], to compare network and algebra on.
    max_states: by default what the monoid's size suggests.
    """
    check_tolerances(tolerances)
    limit = max_states or max(MIN_STATES, STATES_PER_CLASS * monoid.size)
    trials: list[Trial] = []
    splits = MOST_SPLITS
    for tolerance in sorted(set(tolerances), reverse=True):
        trials.append(_try(network, monoid, tolerance=tolerance, limit=limit, splits=splits))
        # Once right, or wrong as the network is: that is what telling apart is for.
        is_settled = trials[-1].verdict.is_correct or trials[-1].is_confirmed
        splits = 0 if is_settled else splits - trials[-1].splits
        if on_trial is not None:
            on_trial(trials[-1])
        last = trials[-FAILURES_IN_A_ROW:]
        if len(last) == FAILURES_IN_A_ROW and all(trial.num_states > limit for trial in last):
            break
    trials = _compared(network, trials, words)
    total = sum(len(batch) for batch in words)
    closed = [trial for trial in trials if trial.disagreements is not None]
    chosen = min(closed, key=_rank, default=None)
    if chosen is not None and chosen.disagreements / total > 1 - LEAST_AGREEMENT:  # type: ignore[operator]
        chosen = None
    return Extraction(
        monoid=monoid,
        trials=tuple(trials),
        chosen=chosen,
        words=total,
        longest=max(batch.shape[1] for batch in words),
        nodes=None if chosen is None else _compare_nodes(network, chosen, words),
        wrong_by_height=wrong_by_height(network, monoid, generator=generator),
    )


def check_tolerances(tolerances: Sequence[float]) -> None:
    """Raise unless there are tolerances, and all can be used."""
    if not tolerances or not all(0 < tolerance < 2 for tolerance in tolerances):
        given = ", ".join(f"{tolerance:g}" for tolerance in tolerances) or "none"
        raise LdruError(
            f"tolerances are relative distances, above 0 and below 2 (of opposite states), "
            f"got {given}; by default {TOLERANCES[-1]} to {TOLERANCES[0]} are tried"
        )


def _try(network: Network, monoid: Monoid, *, tolerance: float, limit: int, splits: int) -> Trial:
    """Merge at a tolerance, and tell states apart where merging alone is what is wrong.

    A wrong word that the network answers rightly shows a state that was merged with one that acts
    otherwise. It is told apart from then on, and all is merged anew, so many times at most.
    """
    known = network.leaves[:0]
    while True:
        snapped = SnappedNetwork(network, tolerance=tolerance, max_states=limit, known=known)
        verdict = decide(snapped, monoid, max_states=limit)
        is_confirmed = None
        if verdict.wrong is not None and len(verdict.wrong) <= LONGEST_CHECKED_WORD:
            word = np.array(verdict.wrong)
            is_confirmed = bool(network.answer(word[None]) != monoid.machine.run(word))
        is_over = len(known) == splits or snapped.num_states > limit
        if is_confirmed is not False or is_over:
            break
        known = torch.cat([known, snapped.culprit(word)[None]])
    return Trial(
        tolerance=tolerance,
        states=snapped.states,
        splits=len(known),
        verdict=verdict,
        algebra=snapped.algebra() if verdict.is_closed else None,
        is_confirmed=is_confirmed,
        spread=snapped.spread,
        gap=_gap(snapped.states),
    )


def _compared(network: Network, trials: Sequence[Trial], words: Sequence[IntArray]) -> list[Trial]:
    """The trials with the number of words that the network answers otherwise."""
    answers = [network.answer(batch) for batch in words]
    compared = []
    for trial in trials:
        if trial.algebra is not None:
            labels = [trial.algebra.run(batch) for batch in words]
            differ = [(a != b).sum() for a, b in zip(labels, answers, strict=True)]
            trial = replace(trial, disagreements=int(sum(differ)))
        compared.append(trial)
    return compared


def _rank(trial: Trial) -> tuple[int, int]:
    """The most faithful trial first, then the smallest."""
    assert trial.disagreements is not None
    return trial.disagreements + (trial.is_confirmed is False), trial.num_states


def _gap(states: Tensor) -> float:
    """The least relative distance of two states; infinite when there is only one."""
    distance = relative_distance(states, states)
    return float(distance.fill_diagonal_(torch.inf).min())


@torch.no_grad()
def _compare_nodes(network: Network, trial: Trial, words: Sequence[IntArray]) -> NodeAgreement:
    """Every node of a part of the words, in the network and in the algebra."""
    assert trial.algebra is not None
    nodes = near = 0
    farthest = 0.0
    for batch in words:
        some = batch[: max(1, COMPARED_SYMBOLS // (batch.shape[1] * len(words)))]
        leaves = network.leaves[torch.from_numpy(some).to(network.leaves.device)]
        raw = tree_levels(network.combine, leaves, finish=network.finish)
        for level, snapped in zip(raw, trial.algebra.levels(some), strict=True):
            distance = relative_distance(level.nodes.flatten(0, 1), trial.states)
            given = torch.from_numpy(_flat(snapped)).to(distance.device)
            nodes += len(given)
            near += int((distance.argmin(dim=1) == given).sum())
            farthest = max(farthest, float(distance.gather(1, given[:, None]).max()))
    return NodeAgreement(nodes=nodes, nearest=near / nodes, farthest=farthest)


def _flat(nodes: NDArray[np.int32]) -> IntArray:
    return nodes.reshape(-1).astype(np.int64)
