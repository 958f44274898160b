"""A machine from states that are found by following symbols."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from ldru.automata.machine import MooreMachine
from ldru.base.errors import LdruError
from ldru.base.limits import limit, way_out

State = TypeVar("State", bound=Hashable)


def explored(
    start: State,
    follow: Callable[[State, str], State],
    accepts: Callable[[State], bool],
    alphabet: Sequence[str],
    *,
    name: str,
) -> MooreMachine:
    """The minimal machine of the states that symbols lead to, whose words are accepted or not.

    It stops at a bound: an expression or automaton of k moves can need 2**k states.

    name: of the language, for errors.
    """
    if not alphabet:
        raise LdruError(f"{name} has no symbols: its words would all be empty")
    most = min(limit("states"), limit("table_cells") // len(alphabet))
    states, number, delta = [start], {start: 0}, []
    for state in states:
        row = []
        for symbol in alphabet:
            after = follow(state, symbol)
            if after not in number:
                if len(states) >= most:
                    raise LdruError(
                        f"{name} needs more than {most:,} states, the most that are built; "
                        f"{way_out('states', 10 * most)}"
                    )
                number[after] = len(states)
                states.append(after)
            row.append(number[after])
        delta.append(row)
    output = [int(accepts(state)) for state in states]
    return MooreMachine(alphabet=alphabet, delta=delta, output=output).minimal()
