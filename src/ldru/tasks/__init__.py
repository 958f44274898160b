"""Tasks: where words and their exact labels come from."""

from ldru.tasks.regular import TASKS, task, task_from_spec
from ldru.tasks.task import Batch, Recommended, Split, Task, TaskSpec

__all__ = ["TASKS", "Batch", "Recommended", "Split", "Task", "TaskSpec", "task", "task_from_spec"]
