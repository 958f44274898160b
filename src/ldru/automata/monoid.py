"""The transition monoid: what a machine remembers of a word, and how memories compose."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ldru.automata.convert import as_machine
from ldru.automata.groups import is_solvable
from ldru.automata.machine import IntArray, MooreMachine
from ldru.base.errors import LdruError
from ldru.base.json import Json
from ldru.base.limits import check_limit
from ldru.base.limits import limit as bound_of
from ldru.base.tabular import Tabular

DEFAULT_LIMIT = 10_000


@dataclass(frozen=True, eq=False)
class Monoid(Tabular):
    """The maps of states that words induce, numbered in the order of their shortest words.

    As a table it has a row for each class (see `Tabular`); `table` has the products.

    elements: state maps [size, states]; element 0 is the identity, the class of the empty word.
    representatives: the first shortest word of each element, as tokens.
    step: the class of a word with one more symbol [size, symbols] (the right Cayley graph).

    >>> found = ldru.monoid(ldru.task("dyck_2").machine)
    >>> found.size, found.machine.decode(found.representatives[3])
    (15, '00')
    >>> int(found.classify("0101")) == int(found.classify("01"))
    True
    """

    machine: MooreMachine
    elements: IntArray
    representatives: tuple[tuple[int, ...], ...]
    step: IntArray

    def __repr__(self) -> str:
        return f"Monoid({self.size} classes of {self.machine!r})"

    @property
    def size(self) -> int:
        return len(self.elements)

    @cached_property
    def output(self) -> IntArray:
        """The label of the words of each class [size]."""
        return self.machine.output[self.elements[:, self.machine.start]]

    @cached_property
    def table(self) -> IntArray:
        """The class of uv for u in class i and v in class j [size, size]."""
        check_limit("monoid_cells", self.size**2, "the table of products")
        table = np.empty((self.size, self.size), dtype=np.int64)
        number = {word: index for index, word in enumerate(self.representatives)}
        table[:, 0] = np.arange(self.size)
        for column, word in enumerate(self.representatives[1:], start=1):
            # A prefix of a first shortest word is one too, so its column is already there.
            table[:, column] = self.step[table[:, number[word[:-1]]], word[-1]]
        return table

    @cached_property
    def is_group(self) -> bool:
        """Whether every class can be undone: all maps of states are permutations."""
        states = np.arange(self.machine.num_states)
        return bool((np.sort(self.elements, axis=1) == states).all())

    @cached_property
    def is_aperiodic(self) -> bool:
        """Whether powers end: x^n = x^(n + 1) for some n. Then the language is star-free.

        >>> ldru.monoid(ldru.from_regex("(ab)*")).is_aperiodic  # no group in it
        True
        >>> ldru.monoid("parity_check").is_aperiodic
        False
        """
        power = self.elements
        for _ in range(self.size.bit_length()):  # up to x^size at least
            power = np.take_along_axis(power, power, axis=1)
        return bool((np.take_along_axis(self.elements, power, axis=1) == power).all())

    @cached_property
    def is_solvable(self) -> bool:
        """Whether every group in it is solvable.

        >>> [ldru.monoid(f"group_{name}").is_solvable for name in ("S4", "A5")]
        [True, False]
        """
        return all(is_solvable(permutations) for permutations in self._groups())

    @property
    def complexity(self) -> str:
        """A class of circuits that has the language, read off the groups in the monoid.

        "AC0": there are none, the language is star-free. "ACC0": all are solvable. "NC1": one is
        not, and the language is complete for NC1, as hard as any regular one (Barrington's
        theorem): no circuits of fixed depth are known for it, and none for transformers.
        """
        if self.is_aperiodic:
            return "AC0"
        return "ACC0" if self.is_solvable else "NC1"

    def _groups(self) -> Iterator[list[tuple[int, ...]]]:
        """The largest groups in the monoid, as permutations of the states that they keep.

        Maps with one image and one kernel are such a group if one of them is idempotent.
        """
        kinds: dict[tuple[bytes, bytes], list[int]] = {}
        for index, element in enumerate(self.elements):
            image, kernel = np.unique(element, return_inverse=True)
            # Kernels are equal if equal states come at equal places, whatever their numbers.
            first = np.unique(kernel, return_index=True)[1]
            name = image.tobytes(), np.argsort(np.argsort(first))[kernel].tobytes()
            kinds.setdefault(name, []).append(index)
        for members in kinds.values():
            maps = self.elements[members]
            idempotent = (np.take_along_axis(maps, maps, axis=1) == maps).all(axis=1)
            if idempotent.any():
                image = np.unique(maps[0])
                number = {int(state): place for place, state in enumerate(image)}
                yield [tuple(number[int(state)] for state in row[image]) for row in maps]

    def rows(self) -> list[dict[str, Json]]:
        """A row for each class: its shortest word, its label, and where it leads each state."""
        return [
            {
                "class": index,
                "word": self.machine.decode(word) or "(empty)",
                "label": int(label) if label >= 0 else None,
                "states": " ".join(map(str, element)),
            }
            for index, (word, label, element) in enumerate(
                zip(self.representatives, self.output, self.elements.tolist(), strict=True)
            )
        ]

    def classify(self, word: str | ArrayLike) -> int | IntArray:
        """The class of a word (text), or of each word of an array of tokens [..., length]."""
        tokens = self.machine.encode(word) if isinstance(word, str) else np.asarray(word)
        self.machine.check_tokens(tokens)
        classes = np.zeros(tokens.shape[:-1], dtype=np.int64)
        for position in range(tokens.shape[-1]):
            classes = self.step[classes, tokens[..., position]]
        return int(classes) if classes.ndim == 0 else classes


def monoid(language: object, *, limit: int = DEFAULT_LIMIT) -> Monoid:
    """The transition monoid of a machine; of a minimal machine, its syntactic monoid.

    language: a machine, or what `as_machine` makes one of: a task, its name, an automaton.
    limit: the largest size; a monoid can have states**states elements, so it stops there.

    >>> ldru.monoid("parity_check").table.tolist()
    [[0, 1], [1, 0]]
    """
    if not isinstance(limit, int):
        raise LdruError(f"the limit of a monoid is a whole number, got {limit!r}")
    machine = as_machine(language)
    found = monoid_within(machine, limit=limit)
    if found is None:
        raise LdruError(
            f"the monoid has more than {limit} elements, the limit asked for; "
            f"raise the limit if memory allows ({machine.num_states} states)"
        )
    return found


@lru_cache(maxsize=64)
def kept_monoid(machine: MooreMachine) -> Monoid:
    """The monoid of a machine within the usual limit; kept, since it can take a while."""
    found = monoid_within(machine, limit=DEFAULT_LIMIT)
    if found is None:
        raise LdruError(f"its monoid has more than {DEFAULT_LIMIT:,} elements")
    return found


def monoid_within(machine: MooreMachine, *, limit: int) -> Monoid | None:
    """A machine's monoid, or None when it has more elements than the limit."""
    identity = np.arange(machine.num_states)
    number = {identity.tobytes(): 0}
    elements, step = [identity], []
    representatives: list[tuple[int, ...]] = [()]
    letters, cells, most = 0, machine.num_states, bound_of("monoid_cells")
    for current, word in zip(elements, representatives, strict=True):
        row = []
        for token in range(machine.num_symbols):
            element = machine.delta[current, token]
            name = element.tobytes()
            if name not in number:
                if len(elements) >= limit:
                    return None
                letters += len(word) + 1
                cells += machine.num_states
                if max(letters, cells) > most:  # of its maps, and of their shortest words
                    check_limit("monoid_cells", max(letters, cells), "the monoid")
                number[name] = len(elements)
                elements.append(element)
                representatives.append((*word, token))
            row.append(number[name])
        step.append(row)
    return Monoid(
        machine=machine,
        elements=np.array(elements),
        representatives=tuple(representatives),
        step=np.array(step),
    )
