"""Reduce the elements of a word in a balanced binary tree."""

from ldru.tree.associativity import associativity_loss
from ldru.tree.batched import Level, climb, fill, level_factors
from ldru.tree.edits import Rope, TreeWord
from ldru.tree.random_trees import Factors, RandomTrees, Trees, draw_trees
from ldru.tree.reduce import BACKENDS, check_lengths, has_values, tree_levels, tree_reduce
from ldru.tree.reference import Combine, Finish
from ldru.tree.scan import Order, scan_gap, scan_levels, tree_scan, without_padding
from ldru.tree.stream import TreeStream

__all__ = [
    "BACKENDS",
    "Combine",
    "Factors",
    "Finish",
    "Level",
    "Order",
    "RandomTrees",
    "Rope",
    "TreeStream",
    "TreeWord",
    "Trees",
    "associativity_loss",
    "check_lengths",
    "climb",
    "draw_trees",
    "fill",
    "has_values",
    "level_factors",
    "scan_gap",
    "scan_levels",
    "tree_levels",
    "tree_reduce",
    "tree_scan",
    "without_padding",
]
