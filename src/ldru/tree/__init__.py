"""Reduce the elements of a word in a balanced binary tree."""

from ldru.tree.associativity import reduce_with_associativity
from ldru.tree.batched import Level, fill
from ldru.tree.reduce import BACKENDS, check_lengths, tree_levels, tree_reduce
from ldru.tree.reference import Finish

__all__ = [
    "BACKENDS",
    "Finish",
    "Level",
    "check_lengths",
    "fill",
    "reduce_with_associativity",
    "tree_levels",
    "tree_reduce",
]
