"""The fused reduction against the plain one in float64: values and every gradient."""

import copy
from contextlib import contextmanager
from functools import partial

import pytest
import torch
from torch.func import stack_module_state, vmap

import ldru
from ldru.base.randomness import fold, seed_key
from ldru.layers.dropout import Dropout, rate_buffers
from ldru.operators import MLPOperator
from ldru.training.fleet import call_method
from ldru.training.lessons import WITH_ASSOCIATIVITY

pytest.importorskip("triton")
from ldru.kernels import elements
from ldru.kernels.reduction import layout

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def test_the_kernels_constants_are_the_layout():
    matrices, vectors = 0, 0
    for name, (outputs, inputs) in (layout.OPERATOR | layout.BLOCK).items():
        assert getattr(elements, name.upper()).value == matrices
        assert getattr(elements, f"{name.upper()}_BIAS").value == vectors
        matrices, vectors = matrices + outputs * inputs, vectors + outputs
    assert (elements.NORM_WEIGHT.value, elements.NORM_BIAS.value) == (vectors, vectors + 1)
    assert (elements.MATRICES.value, elements.VECTORS.value) == (matrices, vectors + 2)


def encoder(dim, activation, dropout=0.0, seed=0):
    """An encoder whose weights are all away from where they start."""
    torch.manual_seed(seed)
    model = ldru.LDRU(dim=dim, activation=activation, dropout=dropout)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    model.backend = "fused"
    return model.to(DEVICE)


@contextmanager
def tf32():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def in_float64(model):
    """The same on the plain path."""
    exact = copy.deepcopy(model).double()
    exact.backend = "batched"
    for module in exact.modules():
        if isinstance(module, Dropout) and module.scale is not None:
            module.scale = module.scale.double()
    return exact


def set_keys(model, batch, seed):
    """What a fleet does before each step."""
    model.train()
    rate = rate_buffers(torch.tensor(model.dropout.rate), dtype=torch.float32)
    model.dropout.keys = fold(seed_key(seed)[None], torch.arange(batch)).to(DEVICE)
    model.dropout.cut, model.dropout.scale = rate["cut"].to(DEVICE), rate["scale"].to(DEVICE)


def gradients(model, x, lengths, compute=None):
    """Of what a model computes, by default its roots: the values and every gradient."""
    x = x.detach().requires_grad_()
    y = (compute or model)(x, lengths)
    weight = torch.linspace(-1, 1, y.numel(), device=y.device, dtype=y.dtype).view_as(y)
    names = ["x", *(name for name, _ in model.named_parameters())]
    found = torch.autograd.grad(
        (y * weight).sum(), [x, *model.parameters()], materialize_grads=True
    )
    return {"y": y.detach(), **dict(zip(names, found, strict=True))}


def assert_agree(found, exact, tolerance=1e-5):
    for name, value in exact.items():
        error = (found[name].double() - value).norm() / value.norm().clamp(min=1e-9)
        assert error < tolerance, (name, error.item())


CASES = [
    # dim, length, padded, dropout, activation
    (16, 2, False, 0.0, "relu"),
    (16, 5, True, 0.25, "silu"),
    (16, 8, False, 0.25, "relu"),
    (48, 3, True, 0.1, "relu"),
    (80, 3, True, 0.25, "silu"),
]


@pytest.mark.parametrize(("dim", "length", "is_padded", "dropout", "activation"), CASES)
def test_values_and_gradients(dim, length, is_padded, dropout, activation):
    model = encoder(dim, activation, dropout)
    if dropout:
        set_keys(model, batch=3, seed=length)
    x = torch.randn(3, length, dim, device=DEVICE)
    lengths = None
    exact_x = x.double()
    if is_padded:
        lengths = torch.tensor([length, 1, max(1, length - 1)], device=DEVICE)
        x = x.clone()
        for row, count in enumerate(lengths):
            x[row, count:] = float("nan")
    assert_agree(gradients(model, x, lengths), gradients(in_float64(model), exact_x, lengths))


@pytest.mark.parametrize(
    ("dim", "length", "is_padded", "activation"),
    [(16, 5, True, "silu"), (16, 9, False, "relu"), (80, 3, True, "silu")],
)
def test_all_levels_and_what_is_computed_from_them(dim, length, is_padded, activation):
    model = encoder(dim, activation, 0.25)
    set_keys(model, batch=4, seed=length)
    x = torch.randn(4, length, dim, device=DEVICE)
    exact_x, exact = x.double(), in_float64(model)
    lengths = None
    if is_padded:
        lengths = torch.tensor([length, 1, 3, length - 1], device=DEVICE)
        for row, count in enumerate(lengths):
            x[row, count:] = float("nan")

    def levels(model):
        def compute(x, lengths):
            found = model.levels(x, lengths)
            return torch.cat([level.nodes[:, 0] for level in found[1:-1]])

        return compute

    def roots_and_loss(model):
        def compute(x, lengths):
            root, lost = model.forward_with_associativity(x, lengths)
            return torch.cat([root.flatten(), 10 * lost])

        return compute

    for compute in (levels, roots_and_loss):
        found = gradients(model, x, lengths, compute(model))
        assert_agree(found, gradients(exact, exact_x, lengths, compute(exact)))


@pytest.mark.parametrize(
    ("dim", "length", "is_padded", "activation"),
    [(16, 5, True, "silu"), (16, 7, False, "relu"), (80, 3, True, "relu")],
)
def test_every_prefix(dim, length, is_padded, activation):
    """Values, gradients and masks are those of the plain scan; a fleet's are its members'."""
    model = encoder(dim, activation, 0.25)
    set_keys(model, batch=3, seed=length)
    x = torch.randn(3, length, dim, device=DEVICE)
    exact_x, exact, lengths = x.double(), in_float64(model), None
    if is_padded:
        lengths = torch.tensor([length, 1, 3], device=DEVICE)
        for row, count in enumerate(lengths):
            x[row, count:] = float("nan")
    for order in ("blelloch", "balanced") if length == 5 else ("balanced",):
        found = gradients(model, x, lengths, partial(model.scan, order=order))
        assert_agree(found, gradients(exact, exact_x, lengths, partial(exact.scan, order=order)))
    if length != 5:
        return
    states = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    two = {name: torch.stack([part, part]) for name, part in states.items()}
    mapped = vmap(lambda state, x: call_method(model, "scan", state, x, lengths), in_dims=(0, 0))
    for row in mapped(two, torch.stack([x, x])):
        torch.testing.assert_close(row, found["y"])


@pytest.mark.parametrize(("dim", "activation"), [(16, "relu"), (80, "silu")])
def test_the_operator_alone(dim, activation, monkeypatch):
    """In several pieces, with rows left over in the last."""
    from ldru.kernels.reduction import fused, wide

    monkeypatch.setattr(wide, "COLLECTED_BYTES", 1)
    model = encoder(dim, activation)
    exact = copy.deepcopy(model).double()
    pairs = torch.randn(2, 5, 2, 29, dim, device=DEVICE)

    def compute(combine):
        def both(pairs, _):
            left, right = pairs
            return combine(left[:, 0], right[:, 1])

        return both

    kernels = fused.Kernels(model.operator, model.block)
    found = gradients(model, pairs, None, compute(kernels.combine))
    assert_agree(found, gradients(exact, pairs.double(), None, compute(exact.operator)))


@pytest.mark.filterwarnings("ignore:overflow encountered in exp")  # of the interpreter's sigmoid
def test_the_operator_alone_takes_values_beyond_half_precision():
    """It is a product of three: of what no norm has held down it makes very large ones.

    Such large values make SiLU nearly a kink, hence the room for its gradients.
    """
    from ldru.kernels.reduction import fused

    model = encoder(16, "silu")
    exact = copy.deepcopy(model).double()
    pairs = 1000 * torch.randn(2, 40, 16, device=DEVICE)
    with tf32():
        kernels = fused.Kernels(model.operator, model.block)
        found = gradients(model, pairs, None, lambda pairs, _: kernels.combine(*pairs))
    truth = gradients(exact, pairs.double(), None, lambda pairs, _: exact.operator(*pairs))
    assert truth["y"].abs().max() > 1e6
    assert_agree(found, truth, tolerance=2**-6)
    error = (found["y"].double() - truth["y"]).norm() / truth["y"].norm()
    assert error > 2**-14, "these were no products of TF32 operands"


def test_what_is_no_number_stays_none():
    """A GPU's NaN has all bits set, which rounding to TF32 by adding would make zero."""
    from ldru.kernels.reduction import fused

    model = encoder(16, "silu")
    nan = torch.tensor(0x7FFFFFFF, dtype=torch.int32, device=DEVICE).view(torch.float32)
    left, right = torch.randn(2, 3, 16, device=DEVICE)
    left[1, 4] = nan
    with tf32():
        joined = fused.Kernels(model.operator, model.block).combine(left, right)
        assert joined[1].isnan().all()
        assert joined[::2].isfinite().all()
        model.operator.hidden.weight.data[0, 0] = nan
        joined = fused.Kernels(model.operator, model.block).combine(left, right)
    assert joined.isnan().all()


def test_the_peak_of_a_gradient_follows_it_down():
    from ldru.kernels.reduction.operands import Peaks

    peaks = Peaks(torch.full((2, 5000), 2.0**20, device=DEVICE), levels=2)
    peaks.find(1, torch.tensor([[1.0, -4.0], [0.5, 0.0]], device=DEVICE))
    assert peaks.bits.view(torch.float32)[:, 1].tolist() == [4.0, 0.5]


def test_a_batch_of_no_words_needs_no_kernels():
    model = encoder(16, "relu")
    model.backend = "auto"
    x = torch.zeros(0, 3, 16, device=DEVICE)
    root, lost = model.forward_with_associativity(x)
    assert root.shape == (0, 16)
    assert lost.shape == (0,)


def test_a_backward_pass_under_autocast_is_the_same():
    model = encoder(80, "silu")
    x = torch.randn(2, 4, 80, device=DEVICE)

    def found(*, is_cast):
        root, lost = model.forward_with_associativity(x)
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=is_cast):
            return torch.autograd.grad(root[:, 0].sum() + lost.sum(), list(model.parameters()))

    for plain, cast in zip(found(is_cast=False), found(is_cast=True), strict=True):
        torch.testing.assert_close(cast, plain)


def test_a_long_level_goes_through_in_pieces(monkeypatch):
    from ldru.kernels.reduction import wide

    monkeypatch.setattr(wide, "COLLECTED_BYTES", 1)
    model = encoder(80, "relu")
    x = torch.randn(70, 5, 80, device=DEVICE)
    lengths = torch.arange(70, device=DEVICE) % 5 + 1
    found = gradients(model, x, lengths)
    assert_agree(found, gradients(in_float64(model), x.double(), lengths))


def test_a_word_of_one_symbol_takes_no_step():
    model = encoder(16, "relu")
    x = torch.randn(2, 1, 16, device=DEVICE)
    found = gradients(model, x, None)
    assert torch.equal(found["y"], x[:, 0])
    levels = model.levels(x)
    assert len(levels) == 1
    assert not found["operator.expand.weight"].any()


@pytest.mark.parametrize("with_loss", [False, True])
def test_a_fleet_is_one_call_and_agrees_with_each_member(with_loss):
    models = [encoder(16, "relu", 0.25, seed=seed) for seed in (1, 2)]
    for seed, model in enumerate(models):
        set_keys(model, batch=3, seed=seed)
    x = torch.randn(2, 3, 5, 16, device=DEVICE)
    parameters, _ = stack_module_state(models)
    parameters = {name: p.detach().requires_grad_() for name, p in parameters.items()}
    buffers = {
        f"dropout.{part}": torch.stack([getattr(model.dropout, part) for model in models])
        for part in ("keys", "cut", "scale")
    }
    skeleton, lengths = models[0], torch.tensor([[5, 1, 2], [3, 5, 4]], device=DEVICE)

    method = WITH_ASSOCIATIVITY if with_loss else "forward"

    def weighed(found):
        return found[0] + 10 * found[1][:, None] if with_loss else found

    def call(parameters, buffers, x, lengths):
        return weighed(call_method(skeleton, method, {**parameters, **buffers}, x, lengths))

    # With the loss, products are the library's, which adds in another order for two.
    values, gradients = (1e-5, 1e-4) if with_loss else (1e-6, 1e-5)
    together = vmap(call)(parameters, buffers, x, lengths)
    (together * torch.arange(1.0, 3.0, device=DEVICE)[:, None, None]).sum().backward()
    for index, model in enumerate(models):
        alone = weighed(getattr(model, method)(x[index], lengths[index]))
        torch.testing.assert_close(together[index], alone, rtol=0, atol=values)
        (alone * (index + 1)).sum().backward()
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(
                parameters[name].grad[index], parameter.grad, rtol=gradients, atol=gradients
            )


def test_two_runs_give_the_same_bits():
    model = encoder(16, "silu", 0.25)
    set_keys(model, batch=3, seed=0)
    x = torch.randn(3, 6, 16, device=DEVICE)
    first, second = gradients(model, x, None), gradients(model, x, None)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_operators_pass_pytorchs_own_checks():
    from ldru.kernels.reduction.fused import fused_combine, fused_reduce
    from ldru.kernels.reduction.layout import num_parameters

    x = torch.randn(1, 2, 3, 16, device=DEVICE, requires_grad=True)
    flat = (0.1 * torch.randn(1, num_parameters(16), device=DEVICE)).requires_grad_()
    pairs = torch.randn(1, 3, 2, 16, device=DEVICE, requires_grad=True)
    for operator, arguments in (
        (fused_reduce, (x, flat, None, None, None, None, False, False)),
        (fused_combine, (pairs, flat, False, False)),
    ):
        torch.library.opcheck(
            operator,
            arguments,
            test_utils=("test_schema", "test_faketensor", "test_autograd_registration"),
        )


def test_auto_falls_back_with_the_reason_and_a_name_is_an_error(monkeypatch):
    from ldru.models.backends import describe_backend as describe

    monkeypatch.delenv("LDRU_INTERPRET_KERNELS", raising=False)
    cpu = torch.device("cpu")
    model = ldru.LDRU(dim=16)
    assert (
        describe(model, device=cpu, dtype=torch.float32)
        == "batched (fused: the input is on the cpu)"
    )
    monkeypatch.setenv("LDRU_INTERPRET_KERNELS", "1")
    assert describe(model, device=cpu, dtype=torch.float32) == "fused"
    for settings, reason in (
        ({"dim": 24}, "widths up to 256 in steps of 16, not 24"),
        ({"dim": 272}, "not 272"),
        ({"dim": 16, "operator": "grc"}, "not GRCOperator"),
    ):
        assert reason in describe(ldru.LDRU(**settings), device=cpu, dtype=torch.float32)
        asked = ldru.LDRU(**settings, backend="fused")
        with pytest.raises(ldru.LdruError, match="backend 'fused' cannot run this call"):
            asked(torch.zeros(1, 2, settings["dim"]))
    mixed = ldru.LDRU(dim=16, operator=MLPOperator(dim=16, activation="silu"))
    assert "operator has silu, the block relu" in describe(mixed, device=cpu, dtype=torch.float32)
    assert "not float64" in describe(model, device=cpu, dtype=torch.float64)
    with pytest.raises(ldru.LdruError, match="unknown backend 'fast'"):
        ldru.LDRU(dim=16, backend="fast")


@pytest.mark.parametrize("dim", [16, 80])
def test_tf32_errs_as_its_mantissa_does(dim):
    """SiLU, because a unit of ReLU near its kink makes any two gradients differ."""
    model = encoder(dim, "silu", 0.25)
    set_keys(model, batch=3, seed=1)
    x = torch.randn(3, 5, dim, device=DEVICE)
    lengths = torch.tensor([5, 1, 4], device=DEVICE)
    with tf32():
        found = gradients(model, x, lengths)
    exact = gradients(in_float64(model), x.double(), lengths)
    assert_agree(found, exact, tolerance=8 * 2**-11)
    error = (found["y"].double() - exact["y"]).norm() / exact["y"].norm()
    assert error > 2**-14, "these were no products of TF32 operands"


@pytest.mark.parametrize(("dim", "power"), [(16, 60), (80, -60)])
def test_gradients_of_any_size_keep_their_digits(dim, power):
    """Scaling by a power of two is exact, though half precision would under- or overflow."""
    model = encoder(dim, "relu")
    x = torch.randn(2, 3, dim, device=DEVICE, requires_grad=True)
    weights = [x, *model.parameters()]
    with tf32():
        y = model(x)
        one = torch.autograd.grad(y[:, 0].sum(), weights, retain_graph=True)
        scaled = torch.autograd.grad((y[:, 0] * 2.0**power).sum(), weights)
    for first, second in zip(one, scaled, strict=True):
        assert torch.equal(first * 2.0**power, second)


@pytest.mark.parametrize("dim", [16, 80])
def test_a_large_gradient_that_joins_at_a_lower_level_keeps_its_digits(dim):
    """The scale of a level comes from all that arrives there."""
    model = encoder(dim, "silu")
    x = torch.randn(2, 5, dim, device=DEVICE, requires_grad=True)
    weights = [x, *model.parameters()]

    def gradient_of(model, x, weights):
        levels = model.levels(x)
        root = levels[-1].nodes[:, 0]
        nodes = levels[1].nodes[..., 0].sum() * 2.0**40 + levels[2].nodes[..., 1].sum()
        return torch.autograd.grad(nodes + root[:, 0].sum() * 2.0**-40, weights)

    with tf32():
        found = gradient_of(model, x, weights)
    exact_model, exact_x = in_float64(model), x.detach().double().requires_grad_()
    exact = gradient_of(exact_model, exact_x, [exact_x, *exact_model.parameters()])
    for ours, theirs in zip(found, exact, strict=True):
        assert (ours.double() - theirs).norm() <= 8 * 2**-11 * theirs.norm()
