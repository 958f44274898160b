"""Kinds of test words of a regular language, beside the distribution that training has.

A network that is right on random words may be wrong on those that matter: words that are nearly of
another class, or that put together what training hardly ever showed together. An evaluation names
such words by kind and length, "border:100".

uniform: every class in an equal share, each uniform over its words of the length.
edits: a uniform word of a class, changed in one to three places; the last change relabels it.
border: pairs of words that differ in one place and in their labels.
factors: words by the classes of the monoid that their halves have; for each label every pair of
    classes is as likely as any other, however few words have it.
"""

from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from ldru.automata.counting import WordCounts
from ldru.automata.machine import UNLABELLED, IntArray, MooreMachine
from ldru.automata.monoid import Monoid, monoid_within
from ldru.base.errors import LdruError
from ldru.base.limits import check_limit
from ldru.tasks.batch import Batch
from ldru.tasks.walk import Share, Tables, Walk, draw_share

KINDS = ("uniform", "edits", "border", "factors")

MOST_EDITS = 3

MANY = 8
"""Labels that are drawn one by one, at most: the words of each have to be counted."""

LARGEST_MONOID = 5_000
"""Of a language whose compositions are drawn."""


def part_of(kind: str, length: int) -> str:
    """How an evaluation names words of a kind and length."""
    return f"{kind}:{length}"


def split_part(part: object) -> tuple[str, int] | None:
    """The kind and length that a part names; None for what is no such part."""
    if not isinstance(part, str):
        return None
    kind, colon, length = part.partition(":")
    is_one = kind in KINDS and colon and length.isdecimal() and int(length) > 0
    return (kind, int(length)) if is_one else None


def class_shares(machine: MooreMachine) -> tuple[Share, ...]:
    """Every label that words can have in an equal share, uniform over its words of a length."""
    labels = sorted(set(machine.minimal().output.tolist()) - {UNLABELLED})
    check_limit("classes", len(labels), "drawing every label in an equal share")
    return tuple(_class_share(machine, label, labels=len(labels)) for label in labels)


def _class_share(machine: MooreMachine, label: int, *, labels: int) -> Share:
    counts = WordCounts(machine, label=label, labels=labels)
    walk = Walk(cuts=counts.cuts, is_possible=lambda length: counts.words(length) > 0)
    return Share(walk, wanted=label)


def draw_kind(
    machine: MooreMachine,
    kind: str,
    length: int,
    *,
    words: int,
    seed: int,
    device: torch.device | str,
) -> Batch:
    """Test words of a kind, the same for every model: [words, length], [words].

    A length at which only one label has words is replaced by the next shorter one at which two
    have. Of more than `MANY` labels, uniform words are uniform over all words.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind), length])
    if kind == "factors":
        tokens = _compositions(machine, length, words=words, rng=rng)
    else:
        count = (words + 1) // 2 if kind == "border" else words
        tokens = _uniform(machine, length, words=count, rng=rng)
        length = tokens.shape[1]
        if kind == "edits":
            for _ in range(MOST_EDITS - 1):
                tokens = _changed_somewhere(machine, tokens, rng=rng)
        if kind != "uniform":
            other = _relabelled(machine, tokens, rng=rng)
            is_changed = (other != tokens).any(axis=1)
            if not is_changed.any():
                raise LdruError(
                    f"at length {length} no change of one place changes a label: there are no "
                    f"words of the kind {kind!r}"
                )
            if kind == "border":
                pairs = np.stack([tokens, other], axis=1)[is_changed]
                tokens = pairs.reshape(-1, length)[:words]
            else:
                tokens = other[is_changed]
    labels = machine.run(tokens)
    inside = labels != UNLABELLED
    return Batch(
        tokens=torch.from_numpy(tokens[inside]).to(device),
        labels=torch.from_numpy(labels[inside]).to(device),
    )


def _mixed_length(shares: tuple[Share, ...], length: int) -> int:
    for shorter in range(length, 0, -1):
        if sum(share.walk.is_possible(shorter) for share in shares) > 1:
            return shorter
    raise LdruError(f"up to length {length} all words have the same label")


def _uniform(
    machine: MooreMachine, length: int, *, words: int, rng: np.random.Generator
) -> IntArray:
    """Equally many words of each label that has any, uniform over its words."""
    if machine.num_classes > MANY:
        return rng.integers(machine.num_symbols, size=(words, length))
    shares = _shares(machine)
    length = _mixed_length(shares, length)
    possible = [share for share in shares if share.walk.is_possible(length)]
    tables = _tables(machine)
    ends = [(words * (i + 1)) // len(possible) for i in range(len(possible))]
    parts = []
    for share, begin, end in zip(possible, [0, *ends], ends, strict=False):
        key = torch.from_numpy(rng.integers(-(2**31), 2**31, size=2)).to(torch.int32)
        if end > begin:
            drawn, _ = draw_share(share, tables, key, count=end - begin, length=length)
            parts.append(drawn.numpy())
    return np.concatenate(parts)


def _changed_somewhere(
    machine: MooreMachine, tokens: IntArray, *, rng: np.random.Generator
) -> IntArray:
    """About half of the words with another symbol at one random place."""
    rows = np.arange(len(tokens))
    places = rng.integers(tokens.shape[1], size=len(tokens))
    by = rng.integers(1, max(2, machine.num_symbols), size=len(tokens))
    changed = tokens.copy()
    changed[rows, places] = (changed[rows, places] + by) % machine.num_symbols
    is_kept = rng.random(len(tokens)) < 0.5
    return np.where(is_kept[:, None], tokens, changed)


def _relabelled(machine: MooreMachine, tokens: IntArray, *, rng: np.random.Generator) -> IntArray:
    """Words with one place changed so that the label is another one, uniform over such changes.

    A word that no single change relabels stays as it is.
    """
    words, length = tokens.shape
    rows = np.arange(words)
    before = np.empty((length, words), dtype=np.int64)  # the state before each place
    states = np.full(words, machine.start)
    for place in range(length):
        before[place] = states
        states = machine.delta[states, tokens[:, place]]
    own = machine.output[states]
    # From the end: the label that the rest of a word gives to each state it may begin in.
    rest = np.broadcast_to(machine.output, (words, machine.num_states))
    best, chosen = np.full(words, -1.0), np.zeros((words, 2), dtype=np.int64)
    for place in range(length - 1, -1, -1):
        labels = rest[rows[:, None], machine.delta[before[place]]]  # by the symbol at this place
        is_other = (labels != own[:, None]) & (labels != UNLABELLED)
        draws = np.where(is_other, rng.random(labels.shape), -1.0)
        symbol = draws.argmax(axis=1)
        value = draws[rows, symbol]
        is_better = value > best  # the largest of uniform draws is uniform over all places
        best = np.where(is_better, value, best)
        chosen[is_better] = np.stack([np.full(words, place), symbol], axis=1)[is_better]
        rest = rest[rows[:, None], machine.delta[:, tokens[:, place]].T]
    changed = tokens.copy()
    found = best >= 0
    changed[rows[found], chosen[found, 0]] = chosen[found, 1]
    return changed


def _compositions(
    machine: MooreMachine, length: int, *, words: int, rng: np.random.Generator
) -> IntArray:
    """Words of two halves, by the classes of the monoid that these have.

    Every label has an equal share; in it, all pairs of classes that give the label are alike.
    """
    if length < 2:
        raise LdruError(f"a word of two parts has at least two symbols, got length {length}")
    monoid = _monoid(machine)
    if monoid is None:
        raise LdruError(
            f"the monoid has more than {LARGEST_MONOID:,} elements, too many to draw compositions "
            "of all of its classes"
        )
    halves = [length - length // 2, length // 2]
    counts = _class_counts(monoid, halves[0])
    firsts, seconds = (np.flatnonzero(counts[half]) for half in halves)
    labels = monoid.output[monoid.table[firsts[:, None], seconds]].ravel()
    known = np.unique(labels[labels != UNLABELLED])
    if not len(known):
        raise LdruError(f"no word of length {length} has a label")
    groups = [labels == label for label in known] if len(known) <= MANY else [labels != UNLABELLED]
    sizes = np.diff([(words * i) // len(groups) for i in range(len(groups) + 1)])
    pairs = np.concatenate(
        [rng.choice(np.flatnonzero(g), size=n) for g, n in zip(groups, sizes, strict=True)]
    )
    first, second = np.divmod(pairs, len(seconds))
    parts = (
        _words_of(monoid, counts, classes, half, rng=rng)
        for classes, half in zip((firsts[first], seconds[second]), halves, strict=True)
    )
    return np.concatenate([*parts], axis=1)


def _class_counts(monoid: Monoid, length: int) -> list[NDArray[np.float64]]:
    """How many words of each length up to one lead to each class, as shares of all [classes].

    Whole numbers would not fit into floats.
    """
    symbols = monoid.step.shape[1]
    counts = [np.zeros(monoid.size)]
    counts[0][0] = 1.0
    for _ in range(length):
        following = np.zeros(monoid.size)
        np.add.at(following, monoid.step, counts[-1][:, None] / symbols)
        counts.append(following)
    return counts


def _words_of(
    monoid: Monoid,
    counts: list[NDArray[np.float64]],
    classes: IntArray,
    length: int,
    *,
    rng: np.random.Generator,
) -> IntArray:
    """A word for each of these classes, uniform over its words of a length.

    From the end: a class is reached from another one by a symbol as often as there are shorter
    words of that one.
    """
    sources, symbols = np.divmod(np.argsort(monoid.step, axis=None), monoid.step.shape[1])
    ends = np.cumsum(np.bincount(monoid.step.ravel(), minlength=monoid.size))
    begins = np.concatenate([[0], ends[:-1]])
    tokens = np.empty((len(classes), length), dtype=np.int64)
    for place in range(length - 1, -1, -1):
        # One row of all moves, in the order of the class they lead to. Those of a class add up to
        # one: beside the words of a common class, those of a rare one would be rounded away.
        weights = counts[place][sources]
        of_class = np.repeat(np.add.reduceat(weights, begins), ends - begins)
        shares = np.divide(weights, of_class, out=np.zeros_like(weights), where=of_class > 0)
        total = np.concatenate([[0.0], np.cumsum(shares)])
        low, high = total[begins[classes]], total[ends[classes]]
        drawn = low + rng.random(len(classes)) * (high - low)
        move = np.searchsorted(total, drawn, side="right") - 1
        move = move.clip(begins[classes], ends[classes] - 1)
        tokens[:, place], classes = symbols[move], sources[move]
    return tokens


@lru_cache(maxsize=64)
def _shares(machine: MooreMachine) -> tuple[Share, ...]:
    return class_shares(machine)


@lru_cache(maxsize=64)
def _tables(machine: MooreMachine) -> Tables:
    return Tables(machine, device=torch.device("cpu"))


@lru_cache(maxsize=64)
def _monoid(machine: MooreMachine) -> Monoid | None:
    return monoid_within(machine, limit=LARGEST_MONOID)
