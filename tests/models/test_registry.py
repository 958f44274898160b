"""Models by name, and a user's own among them."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn

import ldru
from ldru.models.registry import MODELS
from ldru.models.settings import RNNSpec
from ldru.training.spec import TrainSpec

SETTINGS = TrainSpec(batch_size=4, validation_words=4, validation_length=8)


class Mean(nn.Module):
    def __init__(self, *, vocab_size, num_classes, dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, tokens, lengths=None):
        x = self.embedding(tokens)
        if lengths is None:
            return self.head(x.mean(dim=1))
        inside = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
        return self.head((x * inside[..., None]).sum(dim=1) / lengths[:, None])


@dataclass(frozen=True, kw_only=True)
class MeanSpec(ldru.ModelSpec):
    dim: int = 5

    def build(self, *, vocab_size, num_classes):
        return Mean(vocab_size=vocab_size, num_classes=num_classes, dim=self.dim)


@pytest.fixture
def registered():
    ldru.register("mean", MeanSpec)
    yield
    del MODELS["mean"]


def test_a_model_of_ones_own_trains_evaluates_and_is_opened_again(registered, tmp_path):
    tasks = ["parity_check", "modular_arithmetic"]
    runs = ldru.train_many(
        tasks,
        model="mean",
        seeds=(0, 1),
        settings=_steps(3),
        execution=ldru.Execution(out=tmp_path),
    )
    run = runs["modular_arithmetic"][1]
    assert run.folder.name.startswith("modular_arithmetic-mean-seed1-")
    again = ldru.Run.open(run.folder)
    assert again.spec == run.spec
    assert again.evaluate([3, 4], words=8) == run.evaluate([3, 4], words=8)
    assert ldru.build("mean", vocab_size=2, num_classes=3)(torch.zeros(1, 4).long()).shape == (1, 3)


def test_its_weights_depend_on_the_seed_alone(registered):
    """Though its layers are PyTorch's own, which draw from the default generator."""

    def weights(seed):
        torch.manual_seed(seed + 100)
        before = torch.get_rng_state()
        run = ldru.train("parity_check", model="mean", seeds=(seed,), settings=_steps(1))[seed]
        assert torch.equal(torch.get_rng_state(), before)
        return run.model.head.weight

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


def test_a_run_of_an_unknown_model_says_so(registered, tmp_path):
    (run,) = ldru.train("parity_check", model="mean", settings=_steps(1), out=tmp_path).values()
    kept = MODELS.pop("mean")
    with pytest.raises(ldru.LdruError, match=r"unknown model 'mean'.*ldru.register"):
        ldru.Run.open(run.folder)
    MODELS["mean"] = kept


def test_wrong_registrations_are_errors():
    with pytest.raises(ldru.LdruError, match="already a model 'rnn'"):
        ldru.register("rnn", MeanSpec)
    ldru.register("rnn", RNNSpec)  # the same again is no harm
    with pytest.raises(ldru.LdruError, match="letters, digits and underscores"):
        ldru.register("my model", MeanSpec)
    with pytest.raises(ldru.LdruError, match="derived from ModelSpec"):
        ldru.register("module", Mean)
    with pytest.raises(ldru.LdruError, match="MeanSpec is no known model's settings"):
        ldru.train("parity_check", model=MeanSpec(), settings=_steps(1))


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ldru.LdruError, match=r"unknown model 'lsmt' .did you mean 'lstm'.*rir_grc"):
        ldru.build("lsmt", vocab_size=2, num_classes=2)


def test_a_model_takes_its_own_learning_rate_unless_told():
    run = ldru.train("parity_check", model=ldru.MODELS["sd_ssm"](dim=4), settings=_steps(1))[0]
    assert run.spec.train.learning_rate == 1e-4
    settings = TrainSpec(**{**vars(_steps(1)), "learning_rate": 0.5})
    run = ldru.train("parity_check", model=ldru.MODELS["sd_ssm"](dim=4), settings=settings)[0]
    assert run.spec.train.learning_rate == 0.5


def _steps(count):
    return TrainSpec(**{**vars(SETTINGS), "steps": count})
