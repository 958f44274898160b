"""Regular expressions as terms, and their derivatives (Brzozowski).

The derivative of an expression by a symbol has the words that may follow that symbol. Sums and
intersections are kept as sets, so that an expression has finitely many derivatives: they are the
states of its machine. Equal terms are one object, so comparing them costs nothing.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ldru.base.errors import LdruError
from ldru.base.limits import limit, way_out

DEEPEST = 200
"""How many terms may stand in one another: derivatives are taken by recursion."""

CHEAP = 16
"""Members of a set that cost as much as one step."""


class Term(NamedTuple):
    """A node of an expression.

    kind: "none" (no word), "empty" (the empty word), "symbols", "join", "or", "and", "not", "star".
    parts: numbers of the terms it is made of.
    has_empty: whether the empty word belongs to it.
    symbols: of which a word of "symbols" is one.
    """

    kind: str
    parts: tuple[int, ...] | frozenset[int]
    has_empty: bool
    symbols: frozenset[str] = frozenset()


class Expressions:
    """All terms that occur, by number."""

    def __init__(self) -> None:
        self.terms: list[Term] = []
        self._depths: list[int] = []
        self._steps, self._most = 0, limit("regex_steps")
        self._numbers: dict[Term, int] = {}
        self.none = self._number(Term("none", (), False))
        self.empty = self._number(Term("empty", (), True))
        self.all = self._number(Term("not", (self.none,), True))
        self.derivative = lru_cache(maxsize=None)(self._derivative)

    def has_empty(self, term: int) -> bool:
        return self.terms[term].has_empty

    def symbols(self, symbols: Iterable[str]) -> int:
        """Any one of these symbols."""
        some = frozenset(symbols)
        return self._number(Term("symbols", (), False, some)) if some else self.none

    def join(self, left: int, right: int) -> int:
        """A word of the one, then one of the other."""
        if self.none in (left, right):
            return self.none
        if left == self.empty:
            return right
        if right == self.empty:
            return left
        heads: list[int] = []
        while self.terms[left].kind == "join":  # joins lean to the right
            head, left = self.terms[left].parts
            heads.append(head)
        for head in (left, *reversed(heads)):
            follower = self.terms[right].parts[0] if self.terms[right].kind == "join" else right  # type: ignore[index]
            if head == follower and self.terms[head].kind == "star":
                continue  # any number twice is any number
            both = self.has_empty(head) and self.has_empty(right)
            right = self._number(Term("join", (head, right), both))
        return right

    def either(self, terms: Iterable[int]) -> int:
        """The words of any."""
        some = self._flat("or", terms) - {self.none}
        if self.all in some:
            return self.all
        return self._set("or", some, nothing=self.none)

    def both(self, terms: Iterable[int]) -> int:
        """The words that all have."""
        some = self._flat("and", terms) - {self.all}
        if self.none in some:
            return self.none
        return self._set("and", some, nothing=self.all)

    def other(self, term: int) -> int:
        """The words that it does not have."""
        inner = self.terms[term]
        if inner.kind == "not":
            (opposite,) = inner.parts
            return opposite
        return self._number(Term("not", (term,), not inner.has_empty))

    def star(self, term: int) -> int:
        """Any number of its words."""
        if term in (self.none, self.empty):
            return self.empty
        if self.terms[term].kind == "star" or term == self.all:
            return term
        return self._number(Term("star", (term,), True))

    def repeat(self, term: int, *, least: int, most: int | None) -> int:
        """From `least` to `most` of its words; without `most`, any number from there on."""
        if self.terms[term].kind == "star" and most != 0:
            return term  # one star has all words of many
        rest = self.star(term) if most is None else self.empty
        for _ in range(0 if most is None else most - least):
            self._count(1)
            rest = self.either([self.empty, self.join(term, rest)])
        for _ in range(least):
            self._count(1)
            rest = self.join(term, rest)
        return rest

    def _derivative(self, term: int, symbol: str) -> int:
        kind, parts, _, symbols = self.terms[term]
        if kind in ("none", "empty", "symbols"):
            return self.empty if symbol in symbols else self.none
        if kind == "or":
            return self.either([self.derivative(part, symbol) for part in parts])
        if kind == "and":
            return self.both([self.derivative(part, symbol) for part in parts])
        if kind == "not":
            (inner,) = parts
            return self.other(self.derivative(inner, symbol))
        if kind == "star":
            (inner,) = parts
            return self.join(self.derivative(inner, symbol), term)
        found = []
        while self.terms[term].kind == "join":
            self._count(1)
            left, right = self.terms[term].parts
            found.append(self.join(self.derivative(left, symbol), right))
            if not self.has_empty(left):
                return self.either(found)
            term = right
        return self.either([*found, self.derivative(term, symbol)])

    def _count(self, steps: int) -> None:
        """Take note of work, of which there is a bound: some expressions never end."""
        self._steps += steps
        if self._steps > self._most:
            raise LdruError(
                f"the expression takes more than {self._most:,} steps to become states; repeat "
                f"less often, or {way_out('regex_steps', 10 * self._most)}"
            )

    def _flat(self, kind: str, terms: Iterable[int]) -> frozenset[int]:
        found: set[int] = set()
        for term in terms:
            inner = self.terms[term]
            own = inner.parts if inner.kind == kind else (term,)
            self._count(1 + len(own) // CHEAP)
            found.update(own)
        return frozenset(found)

    def _set(self, kind: str, terms: frozenset[int], *, nothing: int) -> int:
        if len(terms) <= 1:
            return next(iter(terms), nothing)
        has_empty = (any if kind == "or" else all)(self.terms[term].has_empty for term in terms)
        return self._number(Term(kind, terms, has_empty))

    def _number(self, term: Term) -> int:
        self._count(1 + len(term.parts) // CHEAP)
        if term not in self._numbers:
            # Joins lean to the right, and are followed in a loop.
            inner = term.parts[:1] if isinstance(term.parts, tuple) else term.parts
            depth = 1 + max((self._depths[part] for part in inner), default=0)
            if depth > DEEPEST:
                raise LdruError(
                    f"the expression has more than {DEEPEST} parts in one another; write it flatter"
                )
            self._depths.append(depth)
            self._numbers[term] = len(self.terms)
            self.terms.append(term)
        return self._numbers[term]
