"""Reduce the elements of a word in a balanced binary tree."""

from ldru.tree.batched import Level, fill
from ldru.tree.reduce import BACKENDS, check_lengths, tree_levels, tree_reduce

__all__ = ["BACKENDS", "Level", "check_lengths", "fill", "tree_levels", "tree_reduce"]
