"""A fleet's training step as CUDA graphs: one per length, replayed without the host in between."""

import torch
from torch import Tensor

from ldru.training.fleet import Fleet


class CapturedSteps:
    """Takes the steps of a fleet by replaying graphs, captured when a length is first met.

    The graphs share one pool of memory: they never run at once, and nothing in the pool outlives
    a step but its losses, which are copied out.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._pool = torch.cuda.graph_pool_handle()
        self._graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = {}

    def step(self, length: int) -> Tensor:
        """One training step, as `Fleet.step`: the losses before it [members]."""
        if length not in self._graphs:
            self._graphs[length] = self._capture(length)
        graph, losses = self._graphs[length]
        graph.replay()
        return losses.clone()

    def _capture(self, length: int) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        before = {name: tensor.clone() for name, tensor in self.fleet.state().items()}
        step = self.fleet.step_number.clone()
        stream = torch.cuda.Stream(device=self.fleet.device)
        stream.wait_stream(torch.cuda.current_stream(self.fleet.device))
        with torch.cuda.stream(stream):
            self.fleet.step(length)  # compiles kernels and fills caches, which a capture must not
        torch.cuda.current_stream(self.fleet.device).wait_stream(stream)
        for name, tensor in self.fleet.state().items():
            tensor.copy_(before[name])
        self.fleet.step_number.copy_(step)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            losses = self.fleet.step(length)
        return graph, losses
