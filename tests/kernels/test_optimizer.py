"""The optimiser's kernels against the plain optimiser."""

import pytest
import torch

from ldru.training.draws.regular import training_lengths
from ldru.training.fleet import Fleet
from ldru.training.fused_optimizer import FusedOptimizer, why_not
from ldru.training.optimizer import Optimizer
from tests.training.test_fleet import KINDS, member

pytest.importorskip("triton")
from ldru.kernels import optimizer as kernels

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("centralise", [True, False])
@pytest.mark.parametrize("optimizer", ["amsgrad", "adam"])
def test_kernels_agree_with_the_plain_optimiser(centralise, optimizer, monkeypatch):
    """A padded fleet of different tasks, three steps with gradients that clip and that do not."""
    monkeypatch.setattr(kernels, "AVERAGES", 16)  # so that even small tensors are many pieces
    monkeypatch.setattr(kernels, "TERMS", 8)
    settings = {"precision": "float32", "centralise": centralise, "optimizer": optimizer}
    settings["weight_decay"] = 0.0 if centralise else 0.1
    fleet = Fleet([member(kind, **settings) for kind in KINDS[:2]], device=DEVICE)
    layout, sizes = fleet.parameters.layout, fleet.optimizer.sizes
    start = fleet.parameters.matrix
    own = start != 0
    results = []
    for kind in (Optimizer, FusedOptimizer):
        generator = torch.Generator().manual_seed(0)
        parameters = start.clone()
        stepper = kind(layout, parameters, sizes=sizes)
        for step in range(3):
            noise = torch.randn(start.shape, generator=generator).to(DEVICE)
            gradient = noise * own * 10.0 ** (1 - 2 * step)
            stepper.update(parameters, gradient, torch.tensor(step, device=DEVICE))
        results.append({"parameters": parameters, **stepper.state})
    plain, fused = results
    assert not torch.equal(plain["parameters"], start)
    for name in plain:
        torch.testing.assert_close(fused[name], plain[name], rtol=2e-5, atol=1e-7)


def test_it_says_why_it_cannot_run(monkeypatch):
    monkeypatch.delenv("LDRU_INTERPRET_KERNELS", raising=False)
    fleet = Fleet([member(KINDS[0])])
    layout, matrix = fleet.parameters.layout, fleet.parameters.matrix
    assert why_not(layout, matrix) == "the input is on the cpu"
    monkeypatch.setenv("LDRU_INTERPRET_KERNELS", "1")
    assert "not float64" in why_not(layout, matrix)
    assert why_not(layout, matrix.float()) is None


def test_a_fleet_takes_the_kernels_where_they_run():
    settings = {"precision": "float32"}
    fleet = Fleet([member(KINDS[0], **settings)], device=DEVICE)
    assert isinstance(fleet.optimizer, FusedOptimizer)
    for length in training_lengths(0, 2, max_length=3):
        assert torch.isfinite(fleet.step(length)).all()
