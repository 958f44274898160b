"""From a regular expression to its minimal machine; automata-lib parses the expression."""

import re
from collections.abc import Sequence
from typing import Any

from ldru.automata.machine import MooreMachine
from ldru.base.errors import LdruError, MissingExtraError

MAX_STATES = 20_000


def from_regex(regex: str, *, alphabet: str | None = None) -> MooreMachine:
    """The minimal machine that answers 1 for the words of a regular expression, else 0.

    The whole word must match. Syntax: literals, `|`, `*`, `+`, `?`, `{n,m}`, `.`, `[a-c]`, `()`,
    and `&` for the intersection; a backslash makes a mark a literal, `\\d` and `\\w` stand for the
    digits and the letters, digits and underscore. There are no anchors.

    alphabet: its symbols in order of their tokens; by default those of the expression, sorted.

    >>> machine = ldru.from_regex("(01)*")
    >>> machine.num_states, [int(machine.run(machine.encode(word))) for word in ("0101", "010")]
    (3, [1, 0])
    """
    try:
        from automata.base.exceptions import AutomatonException, RegexException
        from automata.fa.nfa import NFA
    except ImportError as problem:
        raise MissingExtraError(package="automata-lib", extra="") from problem
    if not regex or alphabet == "":
        what = "regular expression" if not regex else "alphabet"
        raise LdruError(f"the {what} is empty; give one such as {'(01)*' if not regex else '01'}")
    _check_syntax(regex)
    if alphabet is None and re.search(r"(?<!\\)(\.|\[\^)", regex):
        raise LdruError(f"'.' and '[^' in {regex!r} need the alphabet; give it, for example '01'")
    if alphabet is not None and len(set(alphabet)) != len(alphabet):
        raise LdruError(f"the alphabet names a symbol twice: {alphabet!r}")
    try:
        parsed = NFA.from_regex(regex, input_symbols=set(alphabet) if alphabet else None)
        nfa = parsed.eliminate_lambda()
    except (AutomatonException, RegexException, ValueError) as problem:
        raise LdruError(f"cannot read the regular expression {regex!r}: {problem}") from problem
    # automata-lib counts the marks of {2,3} and [0-2] among the symbols; the moves do not.
    used = {symbol for moves in nfa.transitions.values() for symbol in moves}
    symbols = alphabet or "".join(sorted(used))
    if not symbols:
        raise LdruError(f"{regex!r} names no symbol; give the alphabet, for example '01'")

    return determinised(nfa, symbols, name=repr(regex))


def determinised(nfa: Any, symbols: Sequence[str], *, name: str) -> MooreMachine:
    """The minimal machine of an NFA of automata-lib without empty moves; name: for errors.

    The subset construction is ours because it must stop: k moves can need 2**k states.
    """
    start = frozenset([nfa.initial_state])
    subsets, number, delta = [start], {start: 0}, []
    for subset in subsets:
        row = []
        for symbol in symbols:
            follower = frozenset(
                state for q in subset for state in nfa.transitions.get(q, {}).get(symbol, ())
            )
            if follower not in number:
                if len(subsets) >= MAX_STATES:
                    raise LdruError(
                        f"{name} needs more than {MAX_STATES} states, the most that are built"
                    )
                number[follower] = len(subsets)
                subsets.append(follower)
            row.append(number[follower])
        delta.append(row)
    output = [int(not subset.isdisjoint(nfa.final_states)) for subset in subsets]
    return MooreMachine(alphabet=symbols, delta=delta, output=output).minimal()


def _check_syntax(regex: str) -> None:
    """Raise on what automata-lib reads otherwise than a user means, or would never finish."""
    plain = re.sub(r"\\.|\[[^\]]*\]", "x", regex)
    for anchor in "^$":
        if anchor in plain:
            raise LdruError(
                f"{regex!r} has the anchor {anchor!r}, but the whole word must match anyway: leave "
                "it out, or write a backslash before a literal one"
            )
    copies = 1
    for low, high in re.findall(r"\{(\d*),?(\d*)\}", plain):
        copies *= max(int(low or 1), int(high or 1), 1)
    if copies > MAX_STATES:
        raise LdruError(f"the repetitions in {regex!r} multiply to {copies}; up to {MAX_STATES}")
