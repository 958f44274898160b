"""Log-depth recurrent units, and length generalisation on formal languages.

Every public name is listed here and looked up where it lives when it is first used, so that
`import ldru` and the command line start at once.
"""

import importlib
from typing import TYPE_CHECKING

from ldru.base.version import __version__ as __version__

if TYPE_CHECKING:  # for editors and type checkers
    from ldru.analysis.active import Learned as Learned
    from ldru.analysis.active import learn_machine as learn_machine
    from ldru.analysis.algebra import Algebra as Algebra
    from ldru.analysis.associativity import analyse_associativity as analyse_associativity
    from ldru.analysis.certificate import Certificate as Certificate
    from ldru.analysis.certificate import certify as certify
    from ldru.analysis.consolidation import consolidate as consolidate
    from ldru.analysis.coverage import coverage as coverage
    from ldru.analysis.embeddings import analyse_embeddings as analyse_embeddings
    from ldru.analysis.extract import extract as extract
    from ldru.analysis.extraction import Extraction as Extraction
    from ldru.analysis.heatmaps import heatmaps as heatmaps
    from ldru.analysis.learning import machine_of as machine_of
    from ldru.automata.convert import as_machine as as_machine
    from ldru.automata.convert import from_predicate as from_predicate
    from ldru.automata.convert import to_aalpy as to_aalpy
    from ldru.automata.convert import to_dfa as to_dfa
    from ldru.automata.formats import read_machine as read_machine
    from ldru.automata.formats import write_machine as write_machine
    from ldru.automata.machine import MooreMachine as MooreMachine
    from ldru.automata.monoid import Monoid as Monoid
    from ldru.automata.monoid import monoid as monoid
    from ldru.automata.regex import from_regex as from_regex
    from ldru.base.errors import LdruError as LdruError
    from ldru.base.errors import OutOfTimeError as OutOfTimeError
    from ldru.base.tabular import Tabular as Tabular
    from ldru.evaluation.accuracy import Evaluation as Evaluation
    from ldru.evaluation.accuracy import PartResult as PartResult
    from ldru.evaluation.accuracy import evaluate as evaluate
    from ldru.figures.pictures import draw as draw
    from ldru.layers.dropout import Dropout as Dropout
    from ldru.models.fixed_length import FixedLength as FixedLength
    from ldru.models.ldru import LDRU as LDRU
    from ldru.models.ldru import LDRUClassifier as LDRUClassifier
    from ldru.models.ldru import LDRUTagger as LDRUTagger
    from ldru.models.registry import MODELS as MODELS
    from ldru.models.registry import build as build
    from ldru.models.registry import register as register
    from ldru.models.settings import LDRUSpec as LDRUSpec
    from ldru.models.spec import ModelSpec as ModelSpec
    from ldru.operators import OPERATORS as OPERATORS
    from ldru.operators import register_operator as register_operator
    from ldru.paper.recipe import Recipe as Recipe
    from ldru.paper.recipe import recipe as recipe
    from ldru.paper.settings import default_training as default_training
    from ldru.paper.table import Column as Column
    from ldru.paper.table import Table as Table
    from ldru.paper.tables import TABLES as TABLES
    from ldru.paper.tables import register_table as register_table
    from ldru.reproduce.plan import make_plan as make_plan
    from ldru.reproduce.render import markdown_table as markdown_table
    from ldru.reproduce.table_runs import table_runs as table_runs
    from ldru.reproduce.work import work_on as work_on
    from ldru.runs.check import Checks as Checks
    from ldru.runs.check import check_runs as check_runs
    from ldru.runs.compare import Comparison as Comparison
    from ldru.runs.compare import compare as compare
    from ldru.runs.listing import Listing as Listing
    from ldru.runs.listing import list_runs as list_runs
    from ldru.runs.pack import pack as pack
    from ldru.runs.pack import unpack as unpack
    from ldru.runs.prove import Round as Round
    from ldru.runs.prove import train_until_proved as train_until_proved
    from ldru.runs.results import Results as Results
    from ldru.runs.run import Run as Run
    from ldru.runs.run import load as load
    from ldru.runs.teach import teach as teach
    from ldru.runs.train import train as train
    from ldru.runs.train import train_many as train_many
    from ldru.tasks import listops as listops
    from ldru.tasks import text as text
    from ldru.tasks.batch import Batch as Batch
    from ldru.tasks.data_task import DataTask as DataTask
    from ldru.tasks.find import register_task as register_task
    from ldru.tasks.find import task as task
    from ldru.tasks.imported import flare_task as flare_task
    from ldru.tasks.imported import mlregtest_task as mlregtest_task
    from ldru.tasks.imported import write_flare as write_flare
    from ldru.tasks.regular import TASKS as TASKS
    from ldru.tasks.regular_task import RegularTask as RegularTask
    from ldru.tasks.task import Task as Task
    from ldru.tasks.word_set import WordSet as WordSet
    from ldru.training.execution import Execution as Execution
    from ldru.training.interruption import time_limit as time_limit
    from ldru.training.spec import TrainSpec as TrainSpec
    from ldru.tree import Rope as Rope
    from ldru.tree import Trees as Trees
    from ldru.tree import TreeStream as TreeStream
    from ldru.tree import TreeWord as TreeWord
    from ldru.tree import distributed as distributed
    from ldru.tree import draw_trees as draw_trees
    from ldru.tree import scan_gap as scan_gap
    from ldru.tree import tree_levels as tree_levels
    from ldru.tree import tree_reduce as tree_reduce
    from ldru.tree import tree_scan as tree_scan

_HOMES = {
    "Algebra": "ldru.analysis.algebra",
    "Batch": "ldru.tasks.batch",
    "Certificate": "ldru.analysis.certificate",
    "Column": "ldru.paper.table",
    "Comparison": "ldru.runs.compare",
    "DataTask": "ldru.tasks.data_task",
    "Dropout": "ldru.layers.dropout",
    "Evaluation": "ldru.evaluation.accuracy",
    "Execution": "ldru.training.execution",
    "Extraction": "ldru.analysis.extraction",
    "FixedLength": "ldru.models.fixed_length",
    "LDRU": "ldru.models.ldru",
    "LDRUClassifier": "ldru.models.ldru",
    "LDRUSpec": "ldru.models.settings",
    "LDRUTagger": "ldru.models.ldru",
    "LdruError": "ldru.base.errors",
    "Learned": "ldru.analysis.active",
    "Checks": "ldru.runs.check",
    "OutOfTimeError": "ldru.base.errors",
    "time_limit": "ldru.training.interruption",
    "Listing": "ldru.runs.listing",
    "MODELS": "ldru.models.registry",
    "ModelSpec": "ldru.models.spec",
    "Monoid": "ldru.automata.monoid",
    "MooreMachine": "ldru.automata.machine",
    "OPERATORS": "ldru.operators",
    "PartResult": "ldru.evaluation.accuracy",
    "Recipe": "ldru.paper.recipe",
    "RegularTask": "ldru.tasks.regular_task",
    "Results": "ldru.runs.results",
    "Rope": "ldru.tree",
    "Round": "ldru.runs.prove",
    "Run": "ldru.runs.run",
    "TABLES": "ldru.paper.tables",
    "TASKS": "ldru.tasks.regular",
    "Table": "ldru.paper.table",
    "Tabular": "ldru.base.tabular",
    "Task": "ldru.tasks.task",
    "TrainSpec": "ldru.training.spec",
    "TreeStream": "ldru.tree",
    "TreeWord": "ldru.tree",
    "Trees": "ldru.tree",
    "WordSet": "ldru.tasks.word_set",
    "analyse_associativity": "ldru.analysis.associativity",
    "analyse_embeddings": "ldru.analysis.embeddings",
    "as_machine": "ldru.automata.convert",
    "build": "ldru.models.registry",
    "certify": "ldru.analysis.certificate",
    "compare": "ldru.runs.compare",
    "consolidate": "ldru.analysis.consolidation",
    "coverage": "ldru.analysis.coverage",
    "default_training": "ldru.paper.settings",
    "distributed": "ldru.tree.distributed",
    "draw": "ldru.figures.pictures",
    "draw_trees": "ldru.tree",
    "evaluate": "ldru.evaluation.accuracy",
    "extract": "ldru.analysis.extract",
    "flare_task": "ldru.tasks.imported",
    "from_predicate": "ldru.automata.convert",
    "from_regex": "ldru.automata.regex",
    "heatmaps": "ldru.analysis.heatmaps",
    "learn_machine": "ldru.analysis.active",
    "check_runs": "ldru.runs.check",
    "list_runs": "ldru.runs.listing",
    "listops": "ldru.tasks.listops",
    "load": "ldru.runs.run",
    "machine_of": "ldru.analysis.learning",
    "make_plan": "ldru.reproduce.plan",
    "markdown_table": "ldru.reproduce.render",
    "mlregtest_task": "ldru.tasks.imported",
    "monoid": "ldru.automata.monoid",
    "pack": "ldru.runs.pack",
    "read_machine": "ldru.automata.formats",
    "recipe": "ldru.paper.recipe",
    "register": "ldru.models.registry",
    "register_operator": "ldru.operators",
    "register_table": "ldru.paper.tables",
    "register_task": "ldru.tasks.find",
    "scan_gap": "ldru.tree",
    "table_runs": "ldru.reproduce.table_runs",
    "task": "ldru.tasks.find",
    "teach": "ldru.runs.teach",
    "text": "ldru.tasks.text",
    "to_aalpy": "ldru.automata.convert",
    "to_dfa": "ldru.automata.convert",
    "train": "ldru.runs.train",
    "train_many": "ldru.runs.train",
    "train_until_proved": "ldru.runs.prove",
    "tree_levels": "ldru.tree",
    "tree_reduce": "ldru.tree",
    "tree_scan": "ldru.tree",
    "unpack": "ldru.runs.pack",
    "work_on": "ldru.reproduce.work",
    "write_flare": "ldru.tasks.imported",
    "write_machine": "ldru.automata.formats",
}
_MODULES = ("distributed", "listops", "text")

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    """Look a public name up in its home, once."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ldru' has no attribute {name!r}")
    home = importlib.import_module(_HOMES[name])
    value = home if name in _MODULES else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
