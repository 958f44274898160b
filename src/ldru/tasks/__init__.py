"""Tasks: where words and their exact labels come from."""

from ldru.tasks.data_task import DataTask
from ldru.tasks.find import AnyTask, task, task_from_spec
from ldru.tasks.regular import TASKS
from ldru.tasks.task import Batch, Recommended, Split, Task, TaskSpec
from ldru.tasks.word_set import WordSet

__all__ = [
    "TASKS",
    "AnyTask",
    "Batch",
    "DataTask",
    "Recommended",
    "Split",
    "Task",
    "TaskSpec",
    "WordSet",
    "task",
    "task_from_spec",
]
