"""A fleet's training step as CUDA graphs: one per shape, replayed without the host in between."""

import torch
from torch import Tensor

from ldru.training.fleet import Fleet, StepShape


class CapturedSteps:
    """Takes the steps of a fleet by replaying graphs, captured when their shape is first met.

    The graphs share one pool of memory: they never run at once, and nothing in the pool outlives
    a step but its losses, which are copied out.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._pool = torch.cuda.graph_pool_handle()
        self._graphs: dict[StepShape, tuple[torch.cuda.CUDAGraph, Tensor]] = {}

    def step(self, length: int, is_random: bool = False) -> Tensor:
        """One training step, as `Fleet.step`: the losses before it [members]."""
        shape = StepShape(length, is_random)
        if shape not in self._graphs:
            self._graphs[shape] = self._capture(shape)
        graph, losses = self._graphs[shape]
        graph.replay()
        return losses.clone()

    def _capture(self, shape: StepShape) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        before = {name: tensor.clone() for name, tensor in self.fleet.state().items()}
        step = self.fleet.step_number.clone()
        stream = torch.cuda.Stream(device=self.fleet.device)
        stream.wait_stream(torch.cuda.current_stream(self.fleet.device))
        with torch.cuda.stream(stream):
            self.fleet.step(*shape)  # compiles kernels and fills caches, which a capture must not
        torch.cuda.current_stream(self.fleet.device).wait_stream(stream)
        for name, tensor in self.fleet.state().items():
            tensor.copy_(before[name])
        self.fleet.step_number.copy_(step)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            losses = self.fleet.step(*shape)
        return graph, losses
