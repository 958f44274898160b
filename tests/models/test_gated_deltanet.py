import math

import pytest
import torch

import ldru
from ldru.models import gated_deltanet
from ldru.models.gated_deltanet import (
    CausalConvolution,
    GatedDeltaNetClassifier,
    chunked_delta_rule,
)
from ldru.models.settings import GatedDeltaNetSpec
from ldru.paper.settings import SIZES
from tests.models.agreement import assert_agrees, scrambled

SMALL = 1e-6


def make():
    return scrambled(
        GatedDeltaNetClassifier,
        scale=0.2,
        vocab_size=3,
        num_classes=4,
        dim=6,
        num_layers=2,
        num_heads=2,
        head_dim=3,
        hidden=5,
    )


def sigmoid(x):
    return 1 / (1 + torch.exp(-x))


def silu(x):
    return x * sigmoid(x)


def rms_norm(x, weight):
    return x / (x.square().mean() + SMALL).sqrt() * weight


def convolved(rows, weight):
    """Places before the word are zero."""
    outputs = []
    for place in range(len(rows)):
        y = torch.zeros_like(rows[0])
        for back in range(len(weight)):
            if place - back >= 0:
                y = y + weight[back] * rows[place - back]
        outputs.append(silu(y))
    return outputs


def recurrence(queries, keys, values, betas, alphas):
    """One head, place by place: lists of [dim], [values], numbers -> list of [values]."""
    memory = torch.zeros(len(values[0]), len(keys[0]), dtype=torch.double)
    read = []
    for q, k, v, beta, alpha in zip(queries, keys, values, betas, alphas, strict=True):
        forget = torch.eye(len(k), dtype=torch.double) - beta * torch.outer(k, k)
        memory = alpha * memory @ forget + beta * torch.outer(v, k)
        read.append(memory @ q)
    return read


def mixer(w, prefix, rows, num_heads):
    def project(name):
        return [w[f"{prefix}.{name}.weight"] @ x for x in rows]

    query, key, value = (
        convolved(project(name), w[f"{prefix}.{name}_conv.weight"])
        for name in ("query", "key", "value")
    )
    gates, strengths, fadings = project("gate"), project("strength"), project("fading")
    outputs = [[] for _ in rows]
    for head in range(num_heads):

        def part(vectors, head=head):
            return [vector.chunk(num_heads)[head] for vector in vectors]

        unit = [[x / (x @ x + SMALL).sqrt() for x in part(rows)] for rows in (query, key)]
        betas = [2 * sigmoid(x[head]) for x in strengths]
        alphas = []
        for x in fadings:
            rate = torch.log(1 + torch.exp(x[head] + w[f"{prefix}.fading_bias"][head]))
            alphas.append(torch.exp(-torch.exp(w[f"{prefix}.fading_rate"][head]) * rate))
        read = recurrence(*unit, part(value), betas, alphas)
        for output, y, gate in zip(outputs, read, part(gates), strict=True):
            y = y / math.sqrt(len(unit[0][0]))
            output.append(rms_norm(y, w[f"{prefix}.norm.weight"]) * silu(gate))
    return [w[f"{prefix}.out.weight"] @ torch.cat(parts) for parts in outputs]


def swiglu(w, prefix, x):
    hidden = silu(w[f"{prefix}.gate.weight"] @ x) * (w[f"{prefix}.up.weight"] @ x)
    return w[f"{prefix}.down.weight"] @ hidden


def score_word(w, word):
    rows = [w["inputs.weight"][symbol] for symbol in word]
    rows.append(w["empty"][0])
    for number in range(2):
        block = f"layers.{number}"
        normed = [rms_norm(x, w[f"{block}.mixer_norm.weight"]) for x in rows]
        mixed = mixer(w, f"{block}.mixer", normed, num_heads=2)
        rows = [x + y for x, y in zip(rows, mixed, strict=True)]
        normed = [rms_norm(x, w[f"{block}.mlp_norm.weight"]) for x in rows]
        rows = [x + swiglu(w, f"{block}.mlp", y) for x, y in zip(rows, normed, strict=True)]
    return w["head.weight"] @ rms_norm(rows[-1], w["norm.weight"]) + w["head.bias"]


@pytest.mark.parametrize("chunk", [4, 64])
def test_agrees_with_the_equations(chunk, monkeypatch):
    monkeypatch.setattr(gated_deltanet, "CHUNK", chunk)
    assert_agrees(make(), score_word)


def inputs(length, *, dim=3, values=2):
    torch.manual_seed(length)
    query, key = torch.randn(2, 2, length, dim, dtype=torch.double)
    key = key / key.norm(dim=-1, keepdim=True)
    value = torch.randn(2, length, values, dtype=torch.double)
    beta = 2 * torch.rand(2, length, dtype=torch.double)
    log_alpha = -torch.rand(2, length, dtype=torch.double)
    return query, key, value, beta, log_alpha


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 21, 64, 65, 150])
@pytest.mark.parametrize("chunk", [8, 64])
def test_chunks_are_the_recurrence(length, chunk, monkeypatch):
    monkeypatch.setattr(gated_deltanet, "CHUNK", chunk)
    query, key, value, beta, log_alpha = inputs(length)
    got = chunked_delta_rule(query, key, value, beta, log_alpha)
    for row in range(2):
        read = recurrence(query[row], key[row], value[row], beta[row], log_alpha[row].exp())
        torch.testing.assert_close(got[row], torch.stack(read), rtol=0, atol=1e-9)


@pytest.mark.parametrize("chunk", [3, 64])
def test_gradient_of_the_chunked_rule(chunk, monkeypatch):
    monkeypatch.setattr(gated_deltanet, "CHUNK", chunk)
    arguments = tuple(x.requires_grad_() for x in inputs(7))
    assert torch.autograd.gradcheck(chunked_delta_rule, arguments)


def test_fast_fading_overflows_nowhere():
    query, key, value, beta, log_alpha = (x.float().requires_grad_() for x in inputs(100))
    read = chunked_delta_rule(query, key, value, beta, 1000 * log_alpha)
    gradients = torch.autograd.grad(read.sum(), [query, key, value, beta, log_alpha])
    assert all(torch.isfinite(x).all() for x in (read, *gradients))


def memory_after(key, value, beta, alpha):
    """The memory behind the last place, read out by unit queries: [values, dim]."""
    length, dim = key.shape
    # Places that write nothing, one for each column.
    key = torch.cat([key, key.new_zeros(dim, dim)])
    value = torch.cat([value, value.new_zeros(dim, value.shape[-1])])
    beta = torch.cat([beta, beta.new_zeros(dim)])
    log_alpha = torch.cat([alpha.log(), alpha.new_zeros(dim)])
    query = torch.cat([key.new_zeros(length, dim), torch.eye(dim, dtype=key.dtype)])
    return chunked_delta_rule(query, key, value, beta, log_alpha)[-dim:].T


def test_what_a_step_does_to_the_memory():
    _, keys, values, betas, log_alphas = (x[0] for x in inputs(6))
    before = memory_after(keys[:5], values[:5], betas[:5], log_alphas[:5].exp())
    key, value = keys[5], values[5]

    def after(beta, alpha=1.0):
        last = torch.tensor([[beta], [alpha]], dtype=torch.double)
        betas_now = torch.cat([betas[:5], last[0]])
        return memory_after(keys, values, betas_now, torch.cat([log_alphas[:5].exp(), last[1]]))

    torch.testing.assert_close(after(0.0), before)
    torch.testing.assert_close(after(0.0, alpha=0.5), 0.5 * before)
    # At twice the strength the memory is reflected along the key, then the value is added twice.
    reflected = before - 2 * torch.outer(before @ key, key)
    torch.testing.assert_close(after(2.0), reflected + 2 * torch.outer(value, key))
    # At full strength the key reads the new value, whatever it read before.
    torch.testing.assert_close(after(1.0) @ key, value)


def test_convolution_is_causal_and_literal():
    torch.manual_seed(0)
    layer = CausalConvolution(dim=2, width=4).double()
    x = torch.randn(1, 6, 2, dtype=torch.double)
    expected = torch.stack(convolved(list(x[0]), layer.weight))
    torch.testing.assert_close(layer(x)[0], expected)
    later = x.clone()
    later[:, 4:] += 1
    assert torch.equal(layer(later)[:, :4], layer(x)[:, :4])
    assert not torch.equal(layer(later)[:, 4], layer(x)[:, 4])


def test_initialisation_is_as_stated():
    torch.manual_seed(0)
    model = gated_deltanet.DeltaMixer(
        dim=8, num_heads=500, head_dim=2, value_expansion=2, conv_width=4
    )
    rate, step = model.fading_rate.exp(), torch.nn.functional.softplus(model.fading_bias)
    assert rate.min() > 0
    assert rate.max() <= 16.001
    assert rate.mean().item() == pytest.approx(8, rel=0.1)
    assert step.min() > 0.000999
    assert step.max() < 0.1001
    assert step.log().mean().item() == pytest.approx(math.log(0.01), abs=0.2)


def test_size_is_the_papers():
    model = GatedDeltaNetSpec().build(vocab_size=2, num_classes=2)
    total = sum(parameter.numel() for parameter in model.parameters())
    assert total == 225_890
    assert round(total, -4) == SIZES["gated_deltanet"].paper


def test_bad_settings_are_one_clear_error():
    with pytest.raises(ldru.LdruError, match=r"at least 1, got .*conv_width=0"):
        GatedDeltaNetClassifier(vocab_size=2, num_classes=2, conv_width=0)
