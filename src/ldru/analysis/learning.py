"""The machine that reads from left to right what a reduction algebra answers in a tree.

Learned exactly, in Angluin's way. A word is asked of the algebra; whether a machine is right on all
words is decided by following both to every length (`ldru.analysis.verdict`). A reduction algebra
can also answer languages that no such machine has, as "the length is a power of two": then the
states never end, and a bound is met.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ldru.analysis.algebra import Algebra
from ldru.analysis.verdict import decide
from ldru.automata.machine import UNLABELLED, IntArray, MooreMachine
from ldru.automata.monoid import monoid_within
from ldru.base.errors import LdruError

MAX_STATES = 100
LARGEST_MONOID = 10_000

Word = tuple[int, ...]


def machine_of(
    algebra: Algebra, *, alphabet: Sequence[str], max_states: int = MAX_STATES
) -> MooreMachine:
    """The minimal machine that agrees with an algebra on every word of at least one symbol.

    Of the empty word an algebra says nothing. It has the label of a state that all longer words
    lead on from alike, or else none.

    >>> xor = ldru.Algebra(leaf=[0, 1], pair=[[0, 1], [1, 0]], carry=[0, 1], answer=[1, 0])
    >>> machine = ldru.machine_of(xor, alphabet="01")
    >>> machine.num_states, int(machine.run("10110"))
    (2, 0)
    """
    if not isinstance(algebra, Algebra):
        raise LdruError(
            f"a machine is learned from an Algebra, got {type(algebra).__name__}; of an extraction "
            "it is found.machine, of other things ldru.as_machine"
        )
    if len(alphabet) != len(algebra.leaf):
        raise LdruError(
            f"the algebra has {len(algebra.leaf)} symbols, got an alphabet of {len(alphabet)}"
        )
    teacher = Teacher(algebra.run)
    endings = first_endings(len(alphabet))
    while True:
        words, machine = hypothesis(teacher, endings, alphabet, max_states)
        monoid = monoid_within(machine, limit=LARGEST_MONOID)
        if monoid is None:
            raise LdruError(
                f"a machine of {machine.num_states} states that agrees so far has a monoid of more "
                f"than {LARGEST_MONOID:,} elements, too many to decide whether it is right"
            )
        verdict = decide(algebra, monoid)
        if verdict.is_correct:
            return with_likely_start(machine.minimal())
        if verdict.wrong is None:
            raise LdruError(
                f"whether a machine of {machine.num_states} states is right is still open after "
                f"{verdict.levels} levels of the tree"
            )
        endings.append(distinguishing(teacher, machine, words, verdict.wrong))


class Teacher:
    """Labels of words, each asked once: all of one length together.

    answer: tokens [words, length] -> labels [words]. The empty word has none.
    """

    def __init__(self, answer: Callable[[IntArray], IntArray]) -> None:
        self._answer = answer
        self.known: dict[Word, int] = {(): UNLABELLED}

    def ask(self, words: Sequence[Word]) -> list[int]:
        """The labels of words."""
        by_length: dict[int, list[Word]] = {}
        for word in dict.fromkeys(words):
            if word not in self.known:
                by_length.setdefault(len(word), []).append(word)
        for some in by_length.values():
            labels = np.asarray(self._answer(np.array(some))).tolist()
            self.known.update(zip(some, labels, strict=True))
        return [self.known[word] for word in words]


def first_endings(symbols: int) -> list[Word]:
    """Nothing, and every symbol."""
    return [(), *((token,) for token in range(symbols))]


class TooManyStatesError(LdruError):
    """More states are told apart than are allowed; the machine so far is still a guess."""


def hypothesis(
    teacher: Teacher, endings: Sequence[Word], alphabet: Sequence[str], max_states: int
) -> tuple[list[Word], MooreMachine]:
    """A machine whose states are told apart by these endings, and a word that leads to each."""
    words: list[Word] = [()]
    rows = {tuple(teacher.ask(endings)): 0}
    delta: list[list[int]] = []
    for word in words:
        followers = [(*word, token) for token in range(len(alphabet))]
        answers = teacher.ask([follower + end for follower in followers for end in endings])
        delta.append([])
        for number, follower in enumerate(followers):
            row = tuple(answers[number * len(endings) : (number + 1) * len(endings)])
            if row not in rows:
                if len(words) == max_states:
                    raise TooManyStatesError(
                        f"more than {max_states} states are told apart: no finite machine may "
                        "answer like this; or raise max_states"
                    )
                rows[row] = len(words)
                words.append(follower)
            delta[-1].append(rows[row])
    return words, MooreMachine(alphabet=alphabet, delta=delta, output=teacher.ask(words))


def with_likely_start(machine: MooreMachine) -> MooreMachine:
    """Start in a state that has a label, if one leads on as the start does."""
    alike = (machine.delta == machine.delta[machine.start]).all(axis=1)
    labelled = np.flatnonzero(alike & (machine.output != UNLABELLED))
    if not len(labelled):
        return machine
    tables = {"delta": machine.delta, "output": machine.output}
    return MooreMachine(alphabet=machine.alphabet, start=int(labelled[0]), **tables).minimal()


def distinguishing(
    teacher: Teacher, machine: MooreMachine, words: Sequence[Word], wrong: Word
) -> Word:
    """An ending that tells two words apart which the machine takes for one (Rivest and Schapire).

    A beginning of the wrong word is replaced by the word of the state that it leads to; where the
    answer changes from one beginning to the next, the rest is such an ending.
    """
    states = [machine.start]
    for token in wrong:
        states.append(int(machine.delta[states[-1], token]))
    (right,) = teacher.ask([wrong])
    first, last = 0, len(wrong)
    while last - first > 1:
        middle = (first + last) // 2
        (answer,) = teacher.ask([(*words[states[middle]], *wrong[middle:])])
        first, last = (middle, last) if answer == right else (first, middle)
    return wrong[last:]
