"""Compiles every kernel that trainings launch, for GPUs that need not be there: `python -m` this.

The interpreter runs what a compiler may refuse, or what takes more memory than a GPU has. Here
steps are taken on a CPU as if it were a GPU: Triton believes in one, compiles each launch for it as
it would there, and launches nothing. So numbers are zeros, and tilings are those of that GPU.

A process of its own, because Triton decides what it is when it is imported.
"""

import os
import sys

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import JITFunction

import ldru
from ldru.kernels import gpu, support
from ldru.kernels.gpu import Gpu
from ldru.models.registry import MODELS
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.spec import TrainSpec

GPUS = {
    "A100": (GPUTarget("cuda", 80, 32), Gpu("A100", True, (8, 0), 108, 163 * 1024)),
    "RTX 4090": (GPUTarget("cuda", 89, 32), Gpu("RTX 4090", True, (8, 9), 128, 99 * 1024)),
    "H200": (GPUTarget("cuda", 90, 32), Gpu("H200", True, (9, 0), 132, 227 * 1024)),
    "B200": (GPUTarget("cuda", 100, 32), Gpu("B200", True, (10, 0), 148, 227 * 1024)),
    "RTX 5090": (GPUTarget("cuda", 120, 32), Gpu("RTX 5090", True, (12, 0), 170, 99 * 1024)),
    "MI300X": (GPUTarget("hip", "gfx942", 64), Gpu("MI300X", False, (9, 4), 304, 64 * 1024)),
    "RX 7900": (GPUTarget("hip", "gfx1100", 32), Gpu("RX 7900", False, (11, 0), 96, 64 * 1024)),
}


LONG = 70
"""Symbols of a test word: more than attention takes at a time."""


class Driver:
    """As much of a driver as compiling asks for."""

    def __init__(self, target):
        self.target = target

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0


def pretend(name):
    """Take a GPU to be there, and compile what would be launched; the kernels so far, by name."""
    os.environ["LDRU_INTERPRET_KERNELS"] = os.environ["LDRU_UNTRIED_KERNELS"] = "1"
    target, here = GPUS[name]
    triton.runtime.driver.set_active(Driver(target))
    gpu.current = lambda: here
    run, found = JITFunction.run, {}

    def compiled(kernel, *args, grid, warmup, **kwargs):
        made = run(kernel, *args, grid=grid, warmup=True, **kwargs)
        taken = made.metadata.shared
        assert taken <= here.memory, f"{kernel.__name__} takes {taken} bytes: {kwargs}"
        found.setdefault(kernel.__name__, {})[made.hash] = taken

    JITFunction.run = compiled
    # What no kernel has written may be anything; zeros are numbers of rows and tokens.
    torch.empty, torch.empty_like = torch.zeros, torch.zeros_like
    torch.Tensor.new_empty = torch.Tensor.new_zeros
    return found


def step(
    model,
    *,
    task="dyck_2",
    length=40,
    batch_size=64,
    members=1,
    precision="tf32",
    own=(),
    **settings,
):
    """A step of a fleet along the balanced tree and, where that is asked for, along random trees.

    own: settings of the model.
    """
    # Of a CPU's products a training asks nothing.
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    trained = TrainSpec(steps=10, batch_size=batch_size, precision=precision, **settings)
    build, found = MODELS[model](**dict(own)).build, ldru.task(task)
    fleet = Fleet(
        [
            Member(name=str(seed), task=found, build=build, seed=seed, settings=trained)
            for seed in range(members)
        ]
    )
    shape = fleet.plan(0, 1)[0]
    fleet.step(shape.length if task.startswith("listops") else length)
    if trained.random_trees:
        fleet.step(length, True)
    fleet.scores(torch.zeros(members, 2, LONG, dtype=torch.int64))


def small():
    """Each kernel once or so, in small sizes."""
    step("ldru", own={"dim": 16, "leaf_block": True}, random_trees=0.5, labels="factors")
    step("ldru", own={"dim": 80}, precision="float32", length=3, associativity=0.1, l2=0.0)
    for model in ("lstm", "transformer_rope", "gated_deltanet", "s5", "regular_gpt", "bbt_grc"):
        step(model, length=5, batch_size=2)


def large():
    """Fleets as they are trained."""
    for precision in ("tf32", "float32"):
        for dim, members in ((64, 48), (64, 1), (48, 3)):
            own = {"dim": dim, "leaf_block": True}
            along = {"members": members, "random_trees": 0.5, "labels": "factors"}
            step("ldru", own=own, precision=precision, **along)
        own = {"dim": 64, "activation": "silu"}
        step("ldru", task="listops_1000", own=own, precision=precision, associativity=1.0)
        own = {"dim": 256, "activation": "silu", "leaf_block": True}
        step("ldru", task="listops_1000", own=own, precision=precision, random_trees=0.5)
        for model in MODELS:
            if model != "ldru":
                step(model, batch_size=16, members=3, precision=precision)


def main():
    name, size = sys.argv[1:]
    found = pretend(name)
    assert support.why_not(torch.device("cpu")) is None
    {"small": small, "large": large}[size]()
    for kernel, ways in sorted(found.items()):
        print(kernel, len(ways), max(ways.values()))


if __name__ == "__main__":
    main()
