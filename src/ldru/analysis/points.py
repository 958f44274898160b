"""Where a network has the states of an algebra."""

import numpy as np
import torch
from torch import Tensor

from ldru.analysis.algebra import Algebra
from ldru.automata.machine import IntArray
from ldru.models.ldru import LDRUClassifier


@torch.no_grad()
def points_of(model: LDRUClassifier, algebra: Algebra) -> Tensor:
    """For each state a node that the network makes of it, in few steps from leaves: [states, dim].

    The weights may be others than those that the algebra was read from.
    """
    encoder, moves = model.encoder, algebra.moves
    leaves = model.symbol_leaves()
    points = leaves.new_zeros(algebra.num_states, leaves.shape[1])
    is_known = np.zeros(algebra.num_states, dtype=bool)

    def keep(states: IntArray, nodes: Tensor) -> None:
        """The first node of each state."""
        found, first = np.unique(states, return_index=True)
        points[found] = nodes[first]
        is_known[found] = True

    keep(algebra.leaf, leaves)
    while not is_known.all():
        (pairs,) = np.nonzero(
            is_known[moves.left] & is_known[moves.right] & ~is_known[moves.joined]
        )
        (rises,) = np.nonzero(is_known[moves.rising] & ~is_known[moves.risen])
        assert len(pairs) + len(rises), "an algebra has no state that no word reaches"
        joined = encoder.operator(points[moves.left[pairs]], points[moves.right[pairs]])
        below = torch.cat([joined, points[moves.rising[rises]]])
        keep(np.concatenate([moves.joined[pairs], moves.risen[rises]]), encoder.block(below))
    return points
