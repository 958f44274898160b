"""The kernels' words and keys against the plain ones: the same bits."""

import pytest
import torch

import ldru
from ldru.base.randomness import Stream
from ldru.training.draws.data import DataDraws
from ldru.training.draws.fused import FusedDraws
from ldru.training.draws.regular import RegularDraws

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
NAMES = ["modular_arithmetic", "cycle_navigation", "dyck_3", "tomita_3", "tomita_6", "tomita_7"]
if torch.cuda.is_available():  # the interpreter is slow
    NAMES = list(ldru.TASKS)
ENDS_IN_ZERO = ldru.MooreMachine(
    alphabet=("0", "1", "2"), delta=((1, 0, 2), (1, 0, 2), (2, 2, 2)), output=(0, 1, 0), start=0
)
MANY_SYMBOLS = ldru.task("prefix_1_200")
TASKS = [*map(ldru.task, NAMES), ldru.task(machine=ENDS_IN_ZERO), MANY_SYMBOLS]


def samplers(tasks):
    seeds = range(len(tasks))
    return [kind(tasks, seeds, device=DEVICE) for kind in (RegularDraws, FusedDraws)]


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("length", [1, 2, 9])
def test_every_task_draws_the_same_words(length, split):
    plain, fused = samplers(TASKS)
    step = torch.tensor(2**33 + 5, device=DEVICE)
    for stream, at in ((Stream.TOKENS, step), (Stream.VALIDATION, None)):
        wants = plain.words(stream, at, batch_size=10, length=length, split=split)
        got = fused.words(stream, at, batch_size=10, length=length, split=split)
        assert torch.equal(got.tokens, wants.tokens)
        assert torch.equal(got.labels, wants.labels)
        assert (got.lengths is None) == (wants.lengths is None)
        if got.lengths is not None:
            assert torch.equal(got.lengths, wants.lengths)


def test_random_layers_get_the_same_keys():
    plain, fused = samplers(TASKS[:3])
    step = torch.tensor(77, device=DEVICE)
    wants = plain.row_keys(step, num_layers=4, batch_size=300)
    assert torch.equal(fused.row_keys(step, num_layers=4, batch_size=300), wants)
    assert wants.unique(dim=2).shape == wants.shape
    data = DataDraws([ldru.task("listops_40")] * 3, range(3), batch_size=4, device=DEVICE)
    assert torch.equal(data.row_keys(step, num_layers=4, batch_size=300), wants)


def test_stretches_have_the_same_labels():
    plain, fused = samplers(TASKS[:4])
    tokens = plain.words(Stream.TOKENS, None, batch_size=6, length=9).tokens
    begin, end = torch.randint(0, 9, (2, 4, 300), device=DEVICE).sort(dim=0).values
    word = 9 * torch.randint(0, 6, (4, 300), device=DEVICE)
    wants = plain.label_factors(tokens, word + begin, word + end)
    got = fused.label_factors(tokens, (word + begin).int(), (word + end).int())
    assert torch.equal(got, wants)
    assert (wants[begin == end] == -1).all()
