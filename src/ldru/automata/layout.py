"""Where the states of a machine lie in a picture."""

import numpy as np

from ldru.automata.machine import MooreMachine

ACROSS, DOWN = 1.5, 1.4
"""How far layers, and the states of a layer, lie apart."""

Point = tuple[float, float]


def layers(machine: MooreMachine) -> list[Point]:
    """A place for every state: the distance from the start, and one of its layer's rows.

    Rows are ordered by where the arrows come from, which keeps crossings few.
    """
    distance = {machine.start: 0}
    queue = [machine.start]
    for state in queue:
        for target in machine.delta[state].tolist():
            if target not in distance:
                distance[target] = distance[state] + 1
                queue.append(target)
    rows: dict[int, float] = {machine.start: 0.0}
    columns: dict[int, list[int]] = {}
    for state in queue:
        columns.setdefault(distance[state], []).append(state)
    tallest = max(map(len, columns.values()))
    for column, states in columns.items():
        before = columns.get(column - 1, [])
        above = {
            state: np.mean([rows[s] for s in before if state in machine.delta[s]] or [0.0])
            for state in states
        }
        for row, state in enumerate(sorted(states, key=lambda state: -above[state])):
            rows[state] = (tallest - len(states)) / 2 + len(states) - 1 - row
    return [(ACROSS * distance[n], DOWN * rows[n]) for n in range(machine.num_states)]
