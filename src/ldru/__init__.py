"""Log-depth recurrent units, and length generalisation on formal languages."""

__version__ = "0.1.0"

from ldru.analysis.algebra import Algebra
from ldru.analysis.extraction import Extraction
from ldru.automata.machine import MooreMachine
from ldru.automata.monoid import Monoid, monoid
from ldru.automata.regex import from_regex
from ldru.errors import LdruError
from ldru.evaluation import Evaluation, evaluate
from ldru.experiments.defaults import default_training
from ldru.experiments.extracting import extract
from ldru.experiments.run import Run, load
from ldru.experiments.training import train, train_many
from ldru.models import LDRU, MODELS, LDRUClassifier, LDRUSpec, ModelSpec, build, register
from ldru.operators import OPERATORS
from ldru.tasks import TASKS, Batch, DataTask, Task, WordSet, listops, task, text
from ldru.training.spec import TrainSpec
from ldru.tree import tree_levels, tree_reduce

__all__ = [
    "LDRU",
    "MODELS",
    "OPERATORS",
    "TASKS",
    "Algebra",
    "Batch",
    "DataTask",
    "Evaluation",
    "Extraction",
    "LDRUClassifier",
    "LDRUSpec",
    "LdruError",
    "ModelSpec",
    "Monoid",
    "MooreMachine",
    "Run",
    "Task",
    "TrainSpec",
    "WordSet",
    "build",
    "default_training",
    "evaluate",
    "extract",
    "from_regex",
    "listops",
    "load",
    "monoid",
    "register",
    "task",
    "text",
    "train",
    "train_many",
    "tree_levels",
    "tree_reduce",
]
