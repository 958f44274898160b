"""From a regular expression to its minimal machine."""

import reprlib
import string

from ldru.automata.explore import explored
from ldru.automata.expressions import Expressions
from ldru.automata.machine import MooreMachine
from ldru.base.errors import LdruError
from ldru.base.limits import check_limit

DEEPEST = 100
"""How many brackets may stand in one another."""

MOST_DIGITS = 9
LONGEST_SHOWN = 200
"""Characters of an expression that an error repeats whole."""

CLASSES = {"d": string.digits, "w": string.ascii_letters + string.digits + "_"}
SIGNS = {
    "\N{UNION}": "write | for a union",
    "\N{INTERSECTION}": "write & for an intersection",
    "¬": "write ~ for a complement",
    "·": "write parts of a word side by side",
    "∅": "no expression has no word; ~(.*) comes near",
    "ε": "write () for the empty word",
    "^": "the whole word must match anyway: leave the anchor out",
    "$": "the whole word must match anyway: leave the anchor out",
}
"""What others write, and how it is written here; a backslash makes each a symbol."""


def from_regex(regex: str, *, alphabet: str | None = None) -> MooreMachine:
    r"""The minimal machine that answers 1 for the words of a regular expression, else 0.

    The whole word must match. From loose to tight: `|` union, `&` intersection, parts side by side,
    `~` complement of the part that follows, `*`, `+`, `?`, `{n}`, `{n,}`, `{,m}`, `{n,m}` for
    repetitions, `( )`, `()` for the empty word, `.`, `[a-c]`, `[^a-c]`. A backslash makes a mark a
    symbol; `\d` and `\w` stand for digits, and for letters, digits and underscore. There are no
    anchors and no blanks.

    alphabet: its symbols in order of their tokens; by default all that the expression names,
        sorted.

    >>> machine = ldru.from_regex("(01)*")
    >>> machine.num_states, [int(machine.run(word)) for word in ("0101", "010")]
    (3, [1, 0])
    >>> ldru.from_regex("~(.*11.*)&.*0", alphabet="01").num_states
    4
    """
    if not isinstance(regex, str):
        raise LdruError(f"a regular expression is text, got {type(regex).__name__}")
    if alphabet is not None and not isinstance(alphabet, str):
        raise LdruError(
            f"the alphabet of an expression is text such as '01', got {reprlib.repr(alphabet)}"
        )
    if not regex or alphabet == "":
        what = "regular expression" if not regex else "alphabet"
        raise LdruError(f"the {what} is empty; give one such as {'(01)*' if not regex else '01'}")
    if alphabet is not None and len(set(alphabet)) != len(alphabet):
        raise LdruError(f"the alphabet names a symbol twice: {alphabet!r}")
    named = alphabet
    if named is None:
        reader = _Reader(regex, alphabet="")
        reader.read()
        if reader.needs_alphabet:
            raise LdruError(
                f"'.' and '[^' in {_shown(regex)} need the alphabet; give it, for example '01'"
            )
        named = "".join(sorted(reader.named))
        if not named:
            raise LdruError(
                f"{reprlib.repr(regex)} names no symbol; give the alphabet, for example '01'"
            )
    reader = _Reader(regex, alphabet=named)
    start, terms = reader.read(), reader.terms
    try:
        return explored(start, terms.derivative, terms.has_empty, named, name=_shown(regex))
    except RecursionError as problem:
        raise LdruError(
            f"{_shown(regex)} is too deep once its repetitions are written out; repeat less often"
        ) from problem


class _Reader:
    """Reads an expression from left to right, by the grammar of `from_regex`.

    alphabet: what `.` stands for; without one, symbols are only collected.
    """

    def __init__(self, regex: str, *, alphabet: str) -> None:
        self.regex, self.alphabet, self.place = regex, alphabet, 0
        self.terms = Expressions()
        self.named: set[str] = set()
        self.needs_alphabet = False
        self._depth = 0

    def read(self) -> int:
        """The term of the whole expression."""
        term = self._union()
        if self.place < len(self.regex):
            raise self._problem(f"{self._here!r} closes nothing", at=self.place)
        return term

    @property
    def _here(self) -> str:
        """The next character; nothing at the end."""
        return self.regex[self.place : self.place + 1]

    def _union(self) -> int:
        parts = [self._intersection()]
        while self._here == "|":
            self.place += 1
            parts.append(self._intersection())
        return self.terms.either(parts)

    def _intersection(self) -> int:
        parts = [self._sequence()]
        while self._here == "&":
            self.place += 1
            parts.append(self._sequence())
        return self.terms.both(parts)

    def _sequence(self) -> int:
        parts = []
        while self._here and self._here not in "|&)":
            parts.append(self._repeated())
        term = self.terms.empty
        for part in reversed(parts):
            term = self.terms.join(part, term)
        return term

    def _repeated(self) -> int:
        begin = self.place
        while self._here == "~":
            self.place += 1
            if not self._here or self._here in "|&)":
                raise self._problem("nothing follows '~'", at=self.place - 1)
        complements = self.place - begin
        term = self._atom()
        while self._here and self._here in "*+?{":
            least, most = self._bounds()
            term = self.terms.repeat(term, least=least, most=most)
        return self.terms.other(term) if complements % 2 else term

    def _bounds(self) -> tuple[int, int | None]:
        """How often, by a mark that is read: at least, and at most."""
        mark, begin = self._here, self.place
        self.place += 1
        if mark != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[mark]
        end = self.regex.find("}", begin)
        inside = self.regex[begin + 1 : end] if end >= 0 else ""
        low, comma, high = inside.partition(",")
        numbers = [part for part in (low, high) if part]
        if any(part.isdecimal() and len(part) > MOST_DIGITS for part in numbers):
            raise self._problem(f"a repetition has at most {MOST_DIGITS} digits", at=begin)
        if not numbers or not all(part.isdecimal() for part in numbers):
            raise self._problem(
                "a repetition is {n}, {n,}, {,m} or {n,m}; \\{ is the symbol", at=begin
            )
        self.place = end + 1
        least = int(low or 0)
        most = least if not comma else int(high) if high else None
        if most is not None and most < least:
            raise self._problem(
                f"{{{inside}}} is at least {least} and at most {most} times: the smaller number "
                "comes first",
                at=begin,
            )
        return least, most

    def _atom(self) -> int:
        mark, begin = self._here, self.place
        if self.regex[begin : begin + 2].removeprefix("\\")[:1].isspace():
            raise self._problem("leave the blank out, no symbol is one", at=begin)
        self.place += 1
        if mark == "(":
            return self._group(begin)
        if mark == "[":
            return self._set(begin)
        if mark == ".":
            self.needs_alphabet = True
            return self.terms.symbols(self.alphabet)
        if mark == "\\":
            return self._named(self._escaped(begin), begin)
        if mark in "*+?{":
            raise self._problem(f"nothing stands before {mark!r} to repeat", at=begin)
        if mark in "]}":
            raise self._problem(f"{mark!r} closes nothing; \\{mark} is the symbol", at=begin)
        if mark in SIGNS:
            raise self._problem(
                f"{SIGNS[mark]}, or \\{mark} if it is a symbol", at=begin, what=repr(mark)
            )
        return self._named(mark, begin)

    def _group(self, begin: int) -> int:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._problem(f"more than {DEEPEST} brackets in one another", at=begin)
        term = self._union()
        if self._here != ")":
            raise self._problem("'(' is not closed", at=begin)
        self.place += 1
        self._depth -= 1
        return term

    def _set(self, begin: int) -> int:
        """The symbols between square brackets."""
        is_other = self._here == "^"
        self.place += is_other
        found: set[str] = set()
        while self._here != "]":
            first = self._set_symbol(begin)
            is_range = self._here == "-" and self.regex[self.place + 1 : self.place + 2] != "]"
            if is_range and len(first) == 1:
                self.place += 1
                last = self._set_symbol(begin)
                if len(last) != 1 or last < first:
                    raise self._problem(f"{first}-{last} is no range of symbols", at=begin)
                check_limit("symbols", ord(last) - ord(first) + 1, f"{first}-{last}")
                first = "".join(map(chr, range(ord(first), ord(last) + 1)))
            found |= set(first)
        self.place += 1
        if not found:
            raise self._problem("'[]' has no symbol", at=begin)
        if is_other:
            self.needs_alphabet = True
            self.named |= found
            return self.terms.symbols(set(self.alphabet) - found)
        return self._named("".join(sorted(found)), begin)

    def _set_symbol(self, begin: int) -> str:
        if not self._here:
            raise self._problem("'[' is not closed", at=begin)
        mark = self._here
        self.place += 1
        return self._escaped(self.place - 1) if mark == "\\" else mark

    def _escaped(self, begin: int) -> str:
        """The symbols that a backslash and the next character stand for."""
        mark = self._here
        if not mark:
            raise self._problem("nothing follows the backslash", at=begin)
        self.place += 1
        if mark.isalnum() and mark not in CLASSES and mark not in SIGNS:
            raise self._problem(
                f"\\{mark} means nothing here; \\d and \\w are known, and marks after a backslash",
                at=begin,
            )
        return CLASSES.get(mark, mark)

    def _named(self, symbols: str, begin: int) -> int:
        """One of these symbols, which must be in the alphabet."""
        self.named |= set(symbols)
        missing = sorted(set(symbols) - set(self.alphabet)) if self.alphabet else []
        if missing:
            raise self._problem(
                f"{missing[0]!r} is not in the alphabet {self.alphabet[:200]}", at=begin
            )
        return self.terms.symbols(symbols)

    def _problem(self, why: str, *, at: int, what: str = "") -> LdruError:
        where = f"{what} at place {at + 1}" if what else f"at place {at + 1}"
        return LdruError(f"cannot read the regular expression {_shown(self.regex)}: {where}: {why}")


def _shown(regex: str) -> str:
    """An expression as errors repeat it."""
    return repr(regex) if len(regex) <= LONGEST_SHOWN else reprlib.repr(regex)
