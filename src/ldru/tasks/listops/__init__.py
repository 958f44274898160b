"""ListOps: nested lists of digits under MAX, MIN, MED and SM, to be evaluated."""

from ldru.tasks.listops.data import listops_task
from ldru.tasks.listops.expressions import OPERATORS, TOKENS, decode, encode, evaluate, values
from ldru.tasks.listops.generator import Generator, Grammar, draw_distinct
from ldru.tasks.listops.tsv import read_tsv, write_tsv

__all__ = [
    "OPERATORS",
    "TOKENS",
    "Generator",
    "Grammar",
    "decode",
    "draw_distinct",
    "encode",
    "evaluate",
    "listops_task",
    "read_tsv",
    "values",
    "write_tsv",
]
