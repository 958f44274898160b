"""Reduce the elements of a word in a balanced binary tree."""

from ldru.tree.reduce import BACKENDS, Level, check_lengths, tree_levels, tree_reduce

__all__ = ["BACKENDS", "Level", "check_lengths", "tree_levels", "tree_reduce"]
