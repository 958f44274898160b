"""Shapes that are known before a model is built, against those of the model."""

import resource
import time
from dataclasses import replace

import pytest
import torch

import ldru
from ldru.models.registry import MODELS
from ldru.models.settings import S5Spec
from ldru.models.shapes import model_shapes
from ldru.operators import OPERATORS
from tests.laws.test_models import SMALL

SPECS = [
    *(kind(**SMALL.get(name, {})) for name, kind in MODELS.items()),
    *(ldru.LDRUSpec(dim=4, operator=name) for name in OPERATORS),
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_shapes_are_those_of_the_model_and_nothing_is_drawn(spec):
    before = torch.get_rng_state()
    found = model_shapes(spec, vocab_size=5, num_classes=3)
    assert torch.equal(before, torch.get_rng_state())
    built = spec.build(vocab_size=5, num_classes=3)
    assert found == {name: tensor.shape for name, tensor in built.state_dict().items()}


@pytest.mark.parametrize("name", MODELS)
def test_absurd_sizes_are_refused_without_their_memory(name):
    usual, begin = MODELS[name](), time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for field, value in vars(usual).items():
        if type(value) is int:
            for absurd in (10**6, 2**62, 0, -1):
                with pytest.raises(ldru.LdruError, match=r"LDRU_LIMITS|at least 1"):
                    model_shapes(
                        replace(usual, **{field: absurd}), vocab_size=60_000, num_classes=2**12
                    )
    assert time.monotonic() - begin < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB


def test_a_limit_can_be_raised(monkeypatch):
    spec = S5Spec(dim=4, state_dim=2**12, num_blocks=1)
    with pytest.raises(ldru.LdruError, match="LDRU_LIMITS=hippo_width=4096"):
        model_shapes(spec, vocab_size=2, num_classes=2)
    wide = ldru.LDRUSpec(dim=20_000, operator="element_sum")
    with pytest.raises(ldru.LdruError, match="LDRU_LIMITS=width=20000"):
        model_shapes(wide, vocab_size=2, num_classes=2)
    monkeypatch.setenv("LDRU_LIMITS", "width=20000,parameters=1e10")
    assert model_shapes(wide, vocab_size=2, num_classes=2) is not None
