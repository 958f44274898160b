"""The machines of the paper's tasks, and their families for any size."""

import math

import numpy as np

from ldru.automata.machine import MAX_CLASSES, UNLABELLED, MooreMachine
from ldru.base.errors import LdruError

BINARY = ("0", "1")
OPENING, CLOSING = "([{<abcdefghij", ")]}>ABCDEFGHIJ"
MAX_STATES = 10_000
TRIES = 10_000
"""Tables that are drawn for a random machine, at most."""


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
    """Evaluate numbers joined by +, - and x from left to right, without precedence.

    States: the value so far after a digit; (value, pending operator) after an operator, the start
    being (0, +); a sink. Only words that end in a digit have a label.
    """
    if modulus < 2:
        raise LdruError(f"mod_arithmetic_M needs M of at least 2, got {modulus}")
    _check_size(f"mod_arithmetic_{modulus}", 4 * modulus)
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


def brackets(kinds: int, depth: int) -> MooreMachine:
    """1 for balanced brackets of several kinds, nested at most `depth` deep.

    States: the open brackets, outermost first, as a number to the base of the kinds; a sink.
    """
    _check_positive("dyck_K_N", K=kinds, N=depth)
    if kinds > len(OPENING):
        raise LdruError(f"dyck_K_N has K of at most {len(OPENING)} kinds of brackets, got {kinds}")
    inner = sum(kinds**level for level in range(depth + 1))
    if depth * math.log(max(2, kinds)) > math.log(MAX_STATES) + 1 or inner > MAX_STATES:
        raise LdruError(
            f"dyck_{kinds}_{depth} has more than {MAX_STATES:,} states; choose it smaller"
        )
    sink, delta = inner, []
    leaves = inner - kinds**depth  # from here on nothing more can be opened
    for stack in range(inner):
        # As in a heap, stack * kinds + 1 + kind is the stack with one more bracket.
        opened = [stack * kinds + 1 + kind if stack < leaves else sink for kind in range(kinds)]
        parent, last = divmod(stack - 1, kinds)
        closed = [parent if stack and last == kind else sink for kind in range(kinds)]
        delta.append([state for pair in zip(opened, closed, strict=True) for state in pair])
    symbols = [bracket for pair in zip(OPENING, CLOSING, strict=True) for bracket in pair]
    return MooreMachine(
        alphabet=symbols[: 2 * kinds],
        delta=[*delta, [sink] * (2 * kinds)],
        output=[1, *[0] * inner],
    )


def flip_flop() -> MooreMachine:
    """The last bit that was written, 0 before the first; `.` writes nothing."""
    return MooreMachine(alphabet=(".", *BINARY), delta=((0, 0, 1), (1, 0, 1)), output=(0, 1))


def first() -> MooreMachine:
    """1 for words that begin with 1."""
    return MooreMachine(alphabet=BINARY, delta=((1, 2), (1, 1), (2, 2)), output=(0, 0, 1))


def repeat_01() -> MooreMachine:
    """1 for 01 repeated any number of times, also none."""
    return MooreMachine(alphabet=BINARY, delta=((1, 2), (2, 0), (2, 2)), output=(1, 0, 0))


def binary_addition() -> MooreMachine:
    """1 for a correct addition a + b = c, bit by bit in turn: a0 b0 c0 a1 b1 c1 ..., lowest first.

    Nothing may be carried in the end. States: the place in a triple, and the sum so far with what
    was carried; a sink.
    """
    states = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3)]
    number = {state: index for index, state in enumerate(states)}
    sink = len(states)

    def follow(place: int, total: int, bit: int) -> int:
        if place < 2:
            return number[place + 1, total + bit]
        return number[0, total // 2] if total % 2 == bit else sink

    return MooreMachine(
        alphabet=BINARY,
        delta=[*([follow(*state, bit) for bit in (0, 1)] for state in states), [sink, sink]],
        output=[1, *[0] * sink],
    )


def counter(modulus: int) -> MooreMachine:
    """The number of ones modulo a number."""
    if modulus < 2:
        raise LdruError(f"counter_M needs M of at least 2, got {modulus}")
    _check_size(f"counter_{modulus}", modulus)
    return MooreMachine(
        alphabet=BINARY,
        delta=[(count, (count + 1) % modulus) for count in range(modulus)],
        output=range(modulus),
    )


def random_machine(states: int, symbols: int, seed: int) -> MooreMachine:
    """A minimal machine with labels 0 and 1, drawn by a seed: uniform tables until one is minimal.

    A table is minimal if all its states are reached and no two are alike.
    """
    _check_positive("random_S_K_SEED", S=states, K=symbols)
    _check_size(f"random_{states}_{symbols}_{seed}", states)
    if states < 2 or (symbols == 1 and states > 30):
        raise LdruError(
            f"random_{states}_{symbols}_{seed}: a machine with two labels has at least two states, "
            "and over one symbol few tables of more than 30 states reach them all"
        )
    rng = np.random.default_rng([states, symbols, seed])
    for _ in range(TRIES):
        machine = MooreMachine(
            alphabet=[str(symbol) for symbol in range(symbols)],
            delta=rng.integers(states, size=(states, symbols)),
            output=rng.integers(2, size=states),
        )
        if (minimal := machine.minimal()).num_states == states:
            return minimal
    raise LdruError(
        f"none of {TRIES:,} tables drawn for random_{states}_{symbols}_{seed} was minimal; choose "
        "fewer states or more symbols"
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


def _check_size(name: str, states: int) -> None:
    if states > MAX_STATES:
        raise LdruError(f"{name} has more than {MAX_STATES:,} states; choose it smaller")


def _check_positive(family: str, **sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise LdruError(f"{family} needs {name} of at least 1, got {size}")
