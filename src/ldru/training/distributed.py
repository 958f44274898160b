"""One fleet on several devices: each process computes its share of every batch.

This is what DistributedDataParallel does for a module, done to the gradient matrix of a fleet: the
mean of the processes' gradients is that of the whole batch, and all take the same step. Words and
dropout masks are those that one process would have, so its weights are the same but for rounding.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, distributed

from ldru.base.errors import LdruError


@dataclass(frozen=True, kw_only=True)
class Group:
    """Processes that train together, and which of them this one is."""

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes and prints."""
        return self.rank == 0

    def check(self, batch_size: int) -> None:
        """Raise unless every process gets as many words of a batch."""
        if batch_size % self.size:
            raise LdruError(
                f"{self.size} processes share a batch: its size has to be a multiple of that, "
                f"got {batch_size}"
            )

    def share(self, tensor: Tensor, *, dim: int) -> Tensor:
        """This process's part of an axis of words; every n-th, so that lengths are alike."""
        if self.size == 1:
            return tensor
        places = torch.arange(self.rank, tensor.shape[dim], self.size, device=tensor.device)
        return tensor.index_select(dim, places)

    def mean(self, tensor: Tensor) -> Tensor:
        """The mean over all processes, in place."""
        if self.size > 1:
            distributed.all_reduce(tensor)
            tensor /= self.size
        return tensor


ALONE = Group()


def this_process() -> Group:
    """Which of the processes that `torchrun` started this is; alone without it."""
    if not (distributed.is_available() and distributed.is_torchelastic_launched()):
        return ALONE
    return Group(rank=int(os.environ["RANK"]), size=int(os.environ["WORLD_SIZE"]))


def own_device() -> torch.device:
    """The GPU of this process, where there is one."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    if this_process().size == 1:
        return torch.device("cuda")
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())


@contextmanager
def joined(device: torch.device) -> Iterator[Group]:
    """The processes that `torchrun` started, able to talk for the length of a block."""
    group = this_process()
    if group.size == 1 or distributed.is_initialized():
        yield group
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield group
    finally:
        distributed.destroy_process_group()
