"""ListOps expressions: their tokens, and their values.

    expression = digit | "[" operator expression ... "]"

MAX, MIN, MED (the integer part of the median) and SM (the sum modulo 10). An operator and its
bracket are one token. Parentheses, which the original files have, mean nothing.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ldru.base.errors import LdruError

OPERATORS = ("[MAX", "[MIN", "[MED", "[SM")
TOKENS = (*map(str, range(10)), *OPERATORS, "]")
"""Digits are their own numbers."""

FIRST_OPERATOR, END = 10, 14
NUMBERS = {token: number for number, token in enumerate(TOKENS)}
CHUNK_TOKENS = 2**21
"""Tokens evaluated at once, with the padding."""

FEW = 16
"""So few words are faster one by one."""

SHOWN = 60
"""Letters of an expression that an error shows on either side of a token."""

IntArray = NDArray[np.int64]


def evaluate(expression: str) -> int:
    """The value of an expression.

    >>> ldru.listops.evaluate("[MAX 2 9 [MIN 4 7 ] 0 ]")
    9
    """
    return _value(encode(expression).tolist())


def _value(tokens: list[int]) -> int:
    open_lists: list[tuple[int, list[int]]] = []
    value = 0
    for token in tokens:
        if FIRST_OPERATOR <= token < END:
            open_lists.append((token - FIRST_OPERATOR, []))
            continue
        if token == END:
            operator, arguments = open_lists.pop()
            value = APPLY[operator](arguments)
        else:
            value = token
        if open_lists:
            open_lists[-1][1].append(value)
    return value


def _median(arguments: list[int]) -> int:
    ordered, count = sorted(arguments), len(arguments)
    return (ordered[(count - 1) // 2] + ordered[count // 2]) // 2


APPLY: tuple[Callable[[list[int]], int], ...] = (max, min, _median, lambda given: sum(given) % 10)
"""What the operators do, in the order of `OPERATORS`."""


def encode(expression: str) -> IntArray:
    """The tokens of an expression; anything else is an error that points at the token."""
    if not isinstance(expression, str):
        raise LdruError(f"an expression is text such as '[MAX 2 9 ]', got {expression!r}")
    found = list(re.finditer(r"\[[^\s\[\]()]*|\]|[^\s\[\]()]+", expression))
    open_lists: list[re.Match[str]] = []
    for place, match in enumerate(found):
        token = match[0]
        if token not in NUMBERS:
            raise _problem(expression, place, match, f"is none of {' '.join(TOKENS)}")
        if place and not open_lists:
            raise _problem(expression, place, match, "comes after the end of the expression")
        if token in OPERATORS:
            open_lists.append(match)
        elif token == "]":
            if not open_lists:
                raise _problem(expression, place, match, "closes a list that was never opened")
            if open_lists.pop() is found[place - 1]:
                raise _problem(expression, place, match, "closes a list without arguments")
    if open_lists:
        place = found.index(open_lists[-1])
        raise _problem(expression, place, open_lists[-1], "opens a list that is never closed")
    if not found:
        raise LdruError("the expression is empty; write for example [MAX 2 9 [MIN 4 7 ] 0 ]")
    return np.array([NUMBERS[match[0]] for match in found])


def decode(tokens: Sequence[int] | NDArray[np.integer]) -> str:
    """The text of an expression."""
    return " ".join(TOKENS[token] for token in tokens)


def values(tokens: NDArray[np.uint8], offsets: IntArray) -> NDArray[np.uint8]:
    """The values of many expressions, laid end to end: [tokens], [words + 1] -> [words].

    Words of like lengths are evaluated at once, so that it takes as much memory as all tokens.
    """
    lengths = np.diff(offsets)
    found = np.empty(len(lengths), dtype=np.uint8)
    order = np.argsort(lengths, kind="stable")
    ordered, begin = lengths[order], 0
    while begin < len(order):
        end = int(np.searchsorted(ordered, 2 * ordered[begin] + FEW, side="right"))
        end = min(end, begin + max(1, CHUNK_TOKENS // int(ordered[end - 1])))
        rows = order[begin:end]
        begin = end
        if len(rows) <= FEW:
            for row in rows:
                found[row] = _value(tokens[offsets[row] : offsets[row + 1]].tolist())
            continue
        places = offsets[rows, None] + np.arange(lengths[rows[-1]])
        padded = tokens[np.minimum(places, len(tokens) - 1)]
        found[rows] = _values_of_rows(padded, lengths[rows])
    return found


def _values_of_rows(tokens: NDArray[np.uint8], lengths: IntArray) -> IntArray:
    """Values of padded rows in order of length, all of them one token further at a time.

    A row keeps, for each list that is open, its operator and how often it has seen each digit; the
    outermost "list" holds the value of the whole.
    """
    is_operator = (tokens >= FIRST_OPERATOR) & (tokens < END)
    deepest = (is_operator.astype(np.int32) - (tokens == END)).cumsum(axis=1).max()
    counts = np.zeros((len(tokens), deepest + 1, 10), dtype=np.int32)
    operators = np.zeros((len(tokens), deepest + 1), dtype=np.int8)
    depths = np.zeros(len(tokens), dtype=np.int64)
    for place in range(tokens.shape[1]):
        begin = int(np.searchsorted(lengths, place, side="right"))  # shorter words have ended
        column = tokens[begin:, place]
        opening = begin + np.flatnonzero(is_operator[begin:, place])
        depths[opening] += 1
        counts[opening, depths[opening]] = 0
        operators[opening, depths[opening]] = tokens[opening, place] - FIRST_OPERATOR
        closing = begin + np.flatnonzero(column == END)
        results = _combine(operators[closing, depths[closing]], counts[closing, depths[closing]])
        depths[closing] -= 1
        counts[closing, depths[closing], results] += 1
        digits = begin + np.flatnonzero(column < FIRST_OPERATOR)
        counts[digits, depths[digits], tokens[digits, place]] += 1
    return counts[:, 0].argmax(axis=1)


def _combine(operators: NDArray[np.int8], counts: NDArray[np.int16]) -> IntArray:
    """The values of lists, from how often each digit stands in them: [lists], [lists, 10]."""
    total = counts.sum(axis=1, keepdims=True)
    up_to = counts.cumsum(axis=1)
    lower = (up_to > (total - 1) // 2).argmax(axis=1)
    upper = (up_to > total // 2).argmax(axis=1)
    largest = 9 - (counts[:, ::-1] > 0).argmax(axis=1)
    smallest = (counts > 0).argmax(axis=1)
    sums = (counts @ np.arange(10)) % 10
    return np.choose(operators, [largest, smallest, (lower + upper) // 2, sums])


def _problem(expression: str, place: int, match: re.Match[str], reason: str) -> LdruError:
    begin, end = match.start(), min(match.end(), match.start() + SHOWN)
    left, right = max(0, begin - SHOWN), end + SHOWN
    dots = "... " if left else ""
    shown = dots + re.sub(r"\s", " ", expression[left:right])
    shown += " ..." if right < len(expression) else ""
    pointer = " " * (len(dots) + begin - left) + "^" * (end - begin)
    token = repr(match[0][:SHOWN])
    return LdruError(f"token {place + 1}, {token}, {reason}\n  {shown}\n  {pointer}")
