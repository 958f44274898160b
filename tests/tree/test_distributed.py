"""Words in several processes against the whole word in one: values, gradients, errors."""

import pytest
import torch
import torch.distributed as dist
from torch import multiprocessing

import ldru
from ldru.operators import build_operator

RANKS = 4
# Which processes take part, elements of a full stretch, elements of the last.
CASES = [
    ([0], 5, 5),
    ([1, 2], 4, 4),
    ([2, 0], 8, 3),
    ([0, 1, 3], 4, 1),
    ([1, 2, 3], 1, 1),
    ([0, 1, 2, 3], 2, 2),
    ([0, 1, 2, 3], 8, 5),
]
WRONG = [
    ([3, 3, 3, 3], r"same power of two.*\[3, 3, 3, 3\]"),
    ([4, 4, 2, 4], r"same power of two.*\[4, 4, 2, 4\]"),
    ([4, 4, 4, 8], r"same power of two.*\[4, 4, 4, 8\]"),
    ([4, 0, 4, 4], r"at least one element.*\[4, 0, 4, 4\]"),
]


def test_several_processes_reduce_and_scan_as_one(tmp_path):
    """Processes start as copies of one that has imported this file, and done nothing else."""
    multiprocessing.get_context("forkserver").set_forkserver_preload([__name__])
    multiprocessing.start_processes(
        work, args=(str(tmp_path / "meeting"),), nprocs=RANKS, start_method="forkserver"
    )


def work(rank, meeting):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS)
    for ranks, full, last in CASES:
        group = dist.new_group(ranks, use_local_synchronization=False)
        if rank in ranks:
            for finish in (None, lambda nodes: torch.tanh(nodes + 0.3)):
                check(ldru.distributed.reduce, group, full, last, finish)
                check(ldru.distributed.scan, group, full, last, finish)
        dist.barrier()
    for lengths, message in WRONG:
        for act in (ldru.distributed.reduce, ldru.distributed.scan):
            with pytest.raises(ldru.LdruError, match=message):
                act(torch.add, torch.zeros(2, lengths[rank], 3))
    dist.destroy_process_group()


def check(act, group, full, last, finish):
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    torch.manual_seed(0)
    combine = build_operator("mlp", dim=4, activation="silu").double()
    length = full * (size - 1) + last
    word = torch.randn(2, length, 4, dtype=torch.double)
    slopes = torch.randn(2, length, 4, dtype=torch.double)
    own = slice(full * rank, min(length, full * (rank + 1)))

    whole = word.clone().requires_grad_()
    is_scan = act is ldru.distributed.scan
    if is_scan:
        want = ldru.tree_scan(combine, whole, finish=finish)
        loss = (want * slopes).sum()
    else:
        want = ldru.tree_reduce(combine, whole, finish=finish)
        loss = (want * slopes[:, 0]).sum()
    inputs = [whole, *combine.parameters()]
    expected = torch.autograd.grad(loss, inputs, materialize_grads=True)

    stretch = word[:, own].clone().requires_grad_()
    got = act(combine, stretch, finish, group=group)
    close(got, want[:, own] if is_scan else want)
    (got * (slopes[:, own] if is_scan else slopes[:, 0])).sum().backward()
    ldru.distributed.sum_gradients(combine.parameters(), group=group)
    of_stretch = torch.zeros_like(stretch) if stretch.grad is None else stretch.grad
    close(of_stretch, expected[0][:, own])
    for parameter, gradient in zip(combine.parameters(), expected[1:], strict=True):
        close(parameter.grad, gradient)


def close(got, want):
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)


def test_without_processes_it_says_what_is_missing():
    with pytest.raises(ldru.LdruError, match="need a process group"):
        ldru.distributed.reduce(torch.add, torch.zeros(1, 2, 3))
