"""The machines of the paper's tasks, and their families for any size."""

import math

from ldru.automata.machine import MAX_CLASSES, UNLABELLED, MooreMachine
from ldru.base.errors import LdruError

BINARY = ("0", "1")
MAX_STATES = 10_000


def even_pairs() -> MooreMachine:
    """1 for an odd number of unequal neighbours: the first symbol differs from the last."""
    # States: start, then (first symbol, last symbol) = 00, 01, 11, 10.
    return MooreMachine(
        alphabet=BINARY,
        delta=((1, 3), (1, 2), (1, 2), (4, 3), (4, 3)),
        output=(0, 0, 1, 0, 1),
    )


def parity_check() -> MooreMachine:
    """1 for an even number of ones."""
    return MooreMachine(alphabet=BINARY, delta=((0, 1), (1, 0)), output=(1, 0))


def cycle_navigation(size: int = 5) -> MooreMachine:
    """Walk on a ring of `size` places: stay, step forward, step back; the label is the place."""
    return MooreMachine(
        alphabet=("0", "+", "-"),
        delta=[(q, (q + 1) % size, (q - 1) % size) for q in range(size)],
        output=range(size),
    )


def modular_arithmetic(modulus: int = 5) -> MooreMachine:
    """Evaluate digits joined by +, - and x from left to right, without precedence.

    States: the value so far after a digit; (value, pending operator) after an operator, the start
    being (0, +); a sink. Only words that end in a digit have a label.
    """
    operations = (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b)
    digits, operators = range(modulus), range(len(operations))
    sink = modulus * (1 + len(operations))

    def pending(value: int, operator: int) -> int:
        return modulus + value * len(operations) + operator

    after_digit = [
        [sink] * modulus + [pending(value, operator) for operator in operators] for value in digits
    ]
    after_operator = [
        [operations[operator](value, digit) % modulus for digit in digits] + [sink] * 3
        for value in digits
        for operator in operators
    ]
    return MooreMachine(
        alphabet=[*map(str, digits), "+", "-", "x"],
        delta=[*after_digit, *after_operator, [sink] * (modulus + 3)],
        output=[*digits, *[UNLABELLED] * (modulus * 3 + 1)],
        start=pending(0, 0),
    )


def dyck(depth: int) -> MooreMachine:
    """1 for balanced brackets (0 opens, 1 closes) nested at most `depth` deep."""
    _check_positive("dyck_N", N=depth)
    if depth > MAX_STATES:
        raise LdruError(f"dyck_N is built up to N = {MAX_STATES}, got {depth}")
    sink = depth + 1
    rows = [(level + 1, level - 1 if level else sink) for level in range(depth + 1)]
    return MooreMachine(
        alphabet=BINARY, delta=[*rows, (sink, sink)], output=[1, *[0] * (depth + 1)]
    )


def prefix(length: int, symbols: int) -> MooreMachine:
    """Which of the words of `length` begins the input; 0 while the input is shorter than that."""
    _check_positive("prefix_P_Q", P=length, Q=symbols)
    if length * math.log(symbols) >= math.log(MAX_CLASSES) or length + symbols > MAX_STATES:
        raise LdruError(
            f"prefix_{length}_{symbols} has more than {MAX_CLASSES} classes; choose it smaller"
        )
    inner = sum(symbols**level for level in range(length))
    leaves = symbols**length
    branch = [[node * symbols + 1 + symbol for symbol in range(symbols)] for node in range(inner)]
    stay = [[leaf] * symbols for leaf in range(inner, inner + leaves)]
    return MooreMachine(
        alphabet=[str(symbol) for symbol in range(symbols)],
        delta=branch + stay,
        output=[0] * inner + [leaf + 1 for leaf in range(leaves)],
    )


def tomita(number: int) -> MooreMachine:
    """Tomita's languages 3 to 7, 1 for accepted words; states as drawn in the paper."""
    tables = {
        # No odd run of zeros directly after an odd run of ones.
        3: ([(0, 1), (3, 0), (3, 1), (2, 4), (4, 4)], [1, 1, 1, 0, 0]),
        # No 000.
        4: ([(1, 0), (2, 0), (3, 0), (3, 3)], [1, 1, 1, 0]),
        # Even numbers of zeros and of ones.
        5: ([(3, 1), (2, 0), (1, 3), (0, 2)], [1, 0, 0, 0]),
        # As many ones as zeros, modulo 3.
        6: ([(2, 1), (0, 2), (1, 0)], [1, 0, 0]),
        # 0*1*0*1*.
        7: ([(0, 1), (2, 1), (2, 3), (4, 3), (4, 4)], [1, 1, 1, 1, 0]),
    }
    if number not in tables:
        raise LdruError(f"tomita_N exists here for N = 3 to 7, got {number}")
    delta, output = tables[number]
    return MooreMachine(alphabet=BINARY, delta=delta, output=output)


def _check_positive(family: str, **sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise LdruError(f"{family} needs {name} of at least 1, got {size}")
