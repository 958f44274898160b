"""What only a GPU can show: `make test-gpu`."""

import copy

import pytest
import torch

import ldru
from ldru.base.precision import products_in
from ldru.base.randomness import fold, seed_key
from ldru.training.capture import CapturedSteps
from ldru.training.draws.regular import training_lengths
from ldru.training.fleet import Fleet
from ldru.training.member import Member
from ldru.training.spec import TrainSpec

pytestmark = pytest.mark.gpu
CUDA = torch.device("cuda")


@pytest.mark.parametrize("name", ldru.TASKS)
def test_a_key_gives_the_same_words_on_every_device(name):
    task = ldru.TASKS[name]
    for length in (1, 2, 7, 40, 100):
        key = fold(seed_key([1, 2, 3]), length)
        for split in ("train", "test"):
            here = task.draw(key, batch_size=64, length=length, split=split)
            there = task.draw(key.to(CUDA), batch_size=64, length=length, split=split)
            assert torch.equal(here.tokens, there.tokens.cpu())
            assert torch.equal(here.labels, there.labels.cpu())


def gradients(model, x, lengths):
    x = x.detach().requires_grad_()
    y = model(x, lengths)
    # Not the sum of squares: the norm fixes that, and its gradient would be rounding alone.
    weight = torch.linspace(-1, 1, y.numel(), device=y.device, dtype=y.dtype).view_as(y)
    found = torch.autograd.grad((y * weight).sum(), [x, *model.parameters()])
    return [y.detach(), *found]


def errors(found, exact):
    return [((f.double() - e).norm() / e.norm()).item() for f, e in zip(found, exact, strict=True)]


@pytest.mark.parametrize("dim", [16, 32, 64, 160, 256])
@pytest.mark.parametrize("precision", ["tf32", "float32"])
def test_errors_are_those_of_the_precision(dim, precision):
    """Against float64: TF32 at most 1.5 times PyTorch's own, float32 at most 1e-5.

    SiLU, because a unit of ReLU near its kink makes any two gradients differ. In float32 a badly
    conditioned case may take more than 1e-5, if it costs PyTorch's own path nearly as much.
    """
    torch.manual_seed(0)
    model = ldru.LDRU(dim=dim, activation="silu", dropout=0.0).to(CUDA)
    plain, exact = copy.deepcopy(model), copy.deepcopy(model).double()
    model.backend, plain.backend, exact.backend = "fused", "batched", "batched"
    worst = 0.0
    for length in (2, 3, 17, 40, 65):
        x = torch.randn(64, length, dim, device=CUDA)
        lengths = torch.randint(1, length + 1, (64,), device=CUDA)
        lengths[0] = length
        truth = gradients(exact, x.double(), lengths)
        with products_in(precision, device=CUDA):
            ours = errors(gradients(model, x, lengths), truth)
            theirs = errors(gradients(plain, x, lengths), truth)
        if precision == "float32":
            assert max(ours) <= max(1e-5, 3 * max(theirs))
        worst = max(worst, sum(ours) / sum(theirs))
    if precision == "tf32":
        assert worst <= 1.5


@pytest.mark.parametrize("dim", [64, 256])
def test_errors_of_the_associativity_loss_are_those_of_tf32(dim):
    torch.manual_seed(0)
    model = ldru.LDRU(dim=dim, activation="silu", dropout=0.0).to(CUDA)
    plain, exact = copy.deepcopy(model), copy.deepcopy(model).double()
    model.backend, plain.backend, exact.backend = "fused", "batched", "batched"
    x = torch.randn(64, 20, dim, device=CUDA)
    lengths = torch.randint(3, 21, (64,), device=CUDA)

    def operator_gradients(model, x):
        _, lost = model.forward_with_associativity(x, lengths)
        return [lost.detach(), *torch.autograd.grad(lost.sum(), list(model.operator.parameters()))]

    truth = operator_gradients(exact, x.double())
    with products_in("tf32", device=CUDA):
        ours = errors(operator_gradients(model, x), truth)
        theirs = errors(operator_gradients(plain, x), truth)
    assert sum(ours) <= 1.5 * sum(theirs)


def member(seed, task="parity_check", dim=32, **changes):
    settings = TrainSpec(**{"steps": 1000, "batch_size": 64, "learning_rate": 1e-3} | changes)
    spec = ldru.LDRUSpec(dim=dim, dropout=0.1)
    return Member(
        name=f"{task}-{seed}", task=ldru.task(task), build=spec.build, seed=seed, settings=settings
    )


def members(**settings):
    tasks = ("parity_check", "modular_arithmetic", "dyck_3", "tomita_5")
    return [member(seed, task, **settings) for seed, task in enumerate(tasks)]


def weights_after(steps, *, is_captured, **settings):
    fleet = Fleet(members(**settings), device=CUDA)
    step = CapturedSteps(fleet).step if is_captured else fleet.step
    for length in training_lengths(0, steps, max_length=12):
        step(length)
    assert int(fleet.step_number) == steps
    return fleet.parameters.matrix.clone()


@pytest.mark.parametrize("settings", [{}, {"dim": 256, "associativity": 1.0}])
def test_two_runs_give_the_same_bits_captured_or_not(settings):
    captured = weights_after(30, is_captured=True, **settings)
    assert torch.equal(captured, weights_after(30, is_captured=True, **settings))
    assert torch.equal(captured, weights_after(30, is_captured=False, **settings))


@pytest.mark.parametrize("name", ldru.MODELS)
def test_every_model_steps_as_a_captured_graph(name):
    def weights(is_captured):
        build = ldru.MODELS[name]().build
        settings = TrainSpec(steps=1000, batch_size=32, learning_rate=1e-3)
        pair = ("parity_check", "modular_arithmetic")
        fleet = Fleet(
            [
                Member(name=t, task=ldru.task(t), build=build, seed=1, settings=settings)
                for t in pair
            ],
            device=CUDA,
        )
        step = CapturedSteps(fleet).step if is_captured else fleet.step
        for length in (10, 3, 10):
            assert torch.isfinite(step(length)).all()
        return fleet.parameters.matrix.clone()

    torch.testing.assert_close(weights(True), weights(False), rtol=0, atol=1e-6)


@pytest.mark.parametrize("associativity", [0.0, 1.0])
def test_a_data_set_steps_as_a_captured_graph_and_as_on_a_cpu(associativity, small_listops):
    def weights(device, *, is_captured):
        settings = {"precision": "float64", "associativity": associativity, "weight_decay": 0.01}
        some = [member(seed, "listops_500", **settings) for seed in (0, 1)]
        fleet = Fleet(some, device=device)
        step = CapturedSteps(fleet).step if is_captured else fleet.step
        for begin in (0, 25):
            for shape in fleet.plan(begin, begin + 25):
                assert torch.isfinite(step(*shape)).all()
        return fleet.parameters.matrix.cpu()

    captured = weights("cuda", is_captured=True)
    for device in ("cuda", "cpu"):
        eager = weights(device, is_captured=False)
        torch.testing.assert_close(captured, eager, rtol=0, atol=1e-8)


def test_a_data_set_steps_in_the_kernels_as_without_them(small_listops):
    def weights(backend):
        settings = TrainSpec(
            steps=1000, batch_size=64, learning_rate=1e-3, associativity=1.0, precision="float32"
        )
        build = ldru.LDRUSpec(dim=32, dropout=0.1, backend=backend).build
        task = ldru.task("listops_500")
        some = [
            Member(name=str(seed), task=task, build=build, seed=seed, settings=settings)
            for seed in (0, 1)
        ]
        fleet = Fleet(some, device=CUDA)
        step = CapturedSteps(fleet).step
        for shape in fleet.plan(0, 10):
            assert torch.isfinite(step(*shape)).all()
        return fleet.parameters.matrix

    torch.testing.assert_close(weights("fused"), weights("batched"), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["ldru", "lstm", "transformer_alibi", "bbt_grc", "rir_grc"])
def test_every_listops_model_steps_as_a_captured_graph(name, small_listops):
    run = ldru.train("listops_500", model=name, steps=20, device="cuda")[0]
    assert set(run.evaluate(["validation", "5,14 101-200"])) == {"validation", "5,14 101-200"}


def test_a_gpu_trains_as_a_cpu_does_in_float64():
    def weights(device):
        fleet = Fleet([member(0, precision="float64")], device=device)
        for length in training_lengths(0, 20, max_length=12):
            fleet.step(length)
        return fleet.parameters.matrix.cpu()

    torch.testing.assert_close(weights("cuda"), weights("cpu"), rtol=0, atol=1e-8)


def test_too_many_members_say_how_many_would_fit(monkeypatch):
    def no_memory(self, length):
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(CapturedSteps, "step", no_memory)
    with pytest.raises(ldru.LdruError, match=r"about \d+ members of this size would"):
        ldru.train("parity_check", steps=5, seeds=range(3), device="cuda")
