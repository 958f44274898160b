"""The machine that reads from left to right what a reduction algebra answers in a tree.

Learned exactly, in Angluin's way. A word is asked of the algebra; whether a machine is right on all
words is decided by following both to every length (`ldru.analysis.verdict`). A reduction algebra
can also answer languages that no such machine has, as "the length is a power of two": then the
states never end, and a bound is met.
"""

from collections.abc import Sequence

import numpy as np

from ldru.analysis.algebra import Algebra
from ldru.analysis.verdict import decide
from ldru.automata.machine import UNLABELLED, MooreMachine
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
    endings: list[Word] = [(), *((token,) for token in range(len(alphabet)))]
    while True:
        words, machine = _hypothesis(algebra, endings, alphabet, max_states)
        monoid = monoid_within(machine, limit=LARGEST_MONOID)
        if monoid is None:
            raise LdruError(
                f"a machine of {machine.num_states} states that agrees so far has a monoid of more "
                f"than {LARGEST_MONOID:,} elements, too many to decide whether it is right"
            )
        verdict = decide(algebra, monoid)
        if verdict.is_correct:
            return _with_likely_start(machine.minimal())
        if verdict.wrong is None:
            raise LdruError(
                f"whether a machine of {machine.num_states} states is right is still open after "
                f"{verdict.levels} levels of the tree"
            )
        endings.append(_distinguishing(algebra, machine, words, verdict.wrong))


def _hypothesis(
    algebra: Algebra, endings: Sequence[Word], alphabet: Sequence[str], max_states: int
) -> tuple[list[Word], MooreMachine]:
    """A machine whose states are told apart by these endings, and a word that leads to each."""
    words: list[Word] = [()]
    rows = {_answers(algebra, (), endings): 0}
    delta: list[list[int]] = []
    for word in words:
        delta.append([])
        for token in range(len(alphabet)):
            row = _answers(algebra, (*word, token), endings)
            if row not in rows:
                if len(words) == max_states:
                    raise LdruError(
                        f"more than {max_states} states are told apart: the algebra may answer a "
                        "language that no finite machine does; or raise max_states"
                    )
                rows[row] = len(words)
                words.append((*word, token))
            delta[-1].append(rows[row])
    output = [_answer(algebra, word) for word in words]
    return words, MooreMachine(alphabet=alphabet, delta=delta, output=output)


def _with_likely_start(machine: MooreMachine) -> MooreMachine:
    """Start in a state that has a label, if one leads on as the start does."""
    alike = (machine.delta == machine.delta[machine.start]).all(axis=1)
    labelled = np.flatnonzero(alike & (machine.output != UNLABELLED))
    if not len(labelled):
        return machine
    tables = {"delta": machine.delta, "output": machine.output}
    return MooreMachine(alphabet=machine.alphabet, start=int(labelled[0]), **tables).minimal()


def _distinguishing(
    algebra: Algebra, machine: MooreMachine, words: Sequence[Word], wrong: Word
) -> Word:
    """An ending that tells two words apart which the machine takes for one (Rivest and Schapire).

    A beginning of the wrong word is replaced by the word of the state that it leads to; where the
    algebra's answer changes from one beginning to the next, the rest is such an ending.
    """
    states = [machine.start]
    for token in wrong:
        states.append(int(machine.delta[states[-1], token]))
    right = _answer(algebra, wrong)
    first, last = 0, len(wrong)
    while last - first > 1:
        middle = (first + last) // 2
        replaced = (*words[states[middle]], *wrong[middle:])
        first, last = (middle, last) if _answer(algebra, replaced) == right else (first, middle)
    return wrong[last:]


def _answers(algebra: Algebra, word: Word, endings: Sequence[Word]) -> tuple[int, ...]:
    return tuple(_answer(algebra, word + ending) for ending in endings)


def _answer(algebra: Algebra, word: Word) -> int:
    return int(algebra.run(np.array(word))) if word else UNLABELLED
