"""Which states of a machine answer every word alike (Hopcroft's partition refinement)."""

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def equal_states(delta: IntArray, output: IntArray) -> IntArray:
    """The block of each state, numbered from 0: delta [states, symbols], output [states].

    A block that was split cuts others by who leads into its smaller part; so a state is looked at
    log2(states) times for every symbol. Moore's rounds over all states would be as many as there
    are states in a chain.
    """
    blocks = np.unique(output, return_inverse=True)[1].reshape(-1)
    columns = np.unique(delta, axis=1)  # symbols that move all states alike tell nothing more
    sources, begins = _inverse(columns)
    order = np.argsort(blocks, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(blocks[order])) + 1)
    largest = max(range(len(members)), key=lambda block: len(members[block]))
    waiting = [block for block in range(len(members)) if block != largest]
    is_waiting = [block != largest for block in range(len(members))]
    while waiting and len(members) < len(delta):
        splitter = waiting.pop()
        is_waiting[splitter] = False
        targets = members[splitter]
        for symbol in range(columns.shape[1]):
            leading = _leading(sources[symbol], begins[symbol], targets)
            if not len(leading):
                continue
            for block in np.unique(blocks[leading]).tolist():
                inside = leading[blocks[leading] == block]
                if len(inside) == len(members[block]):
                    continue
                number = len(members)
                blocks[inside] = number
                rest = members[block][blocks[members[block]] == block]
                members[block] = rest
                members.append(inside)
                is_waiting.append(True)
                if is_waiting[block] or len(inside) <= len(rest):
                    waiting.append(number)
                else:  # the smaller part is what stayed
                    is_waiting[number], is_waiting[block] = False, True
                    waiting.append(block)
    return blocks


def _inverse(delta: IntArray) -> tuple[list[IntArray], list[IntArray]]:
    """For each symbol the states in order of where they lead, and where those of a target begin."""
    states = len(delta)
    sources = [np.argsort(column, kind="stable") for column in delta.T]
    counts = [np.bincount(column, minlength=states) for column in delta.T]
    return sources, [np.concatenate([[0], count.cumsum()]) for count in counts]


def _leading(sources: IntArray, begins: IntArray, targets: IntArray) -> IntArray:
    """The states that lead to one of the targets."""
    first, counts = begins[targets], begins[targets + 1] - begins[targets]
    total = int(counts.sum())
    if not total:
        return sources[:0]
    ends = counts.cumsum()
    places = np.arange(total) - np.repeat(ends - counts, counts) + np.repeat(first, counts)
    return sources[places]
