"""Where the members of a fleet have their words and random keys from."""

from collections.abc import Sequence

import torch

from ldru.base.errors import LdruError
from ldru.tasks.data_task import DataTask
from ldru.tasks.regular_task import RegularTask
from ldru.tasks.task import Task
from ldru.training.draws.base import Draws
from ldru.training.draws.data import DataDraws
from ldru.training.draws.fused import make_regular_draws


def make_draws(
    tasks: Sequence[Task], seeds: Sequence[int], *, batch_size: int, device: torch.device
) -> Draws:
    """The draws of a fleet whose members have these tasks and seeds."""
    regular = [task for task in tasks if isinstance(task, RegularTask)]
    data = [task for task in tasks if isinstance(task, DataTask)]
    if regular and data:
        raise LdruError(
            f"{regular[0].name!r} draws its words and {data[0].name!r} is a data set: train them "
            "in several calls"
        )
    if data:
        return DataDraws(data, seeds, batch_size=batch_size, device=device)
    return make_regular_draws(regular, seeds, device=device)
