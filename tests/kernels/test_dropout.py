"""The kernel of dropout against the plain layer: the same elements are dropped, to the bit."""

import pytest
import torch
from torch.func import functional_call, vmap

from ldru.base.randomness import bits
from ldru.kernels.support import can_run
from ldru.layers.dropout import PLACES, Dropout, rate_buffers

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def buffers(members, words):
    generator = torch.Generator().manual_seed(0)
    keys = torch.randint(-(2**31), 2**31, (members, words, 2), generator=generator)
    rates = torch.tensor([0.0, 0.1, 0.75])[:members]
    made = {"keys": keys.to(torch.int32), **rate_buffers(rates, dtype=torch.float32)}
    return {name: tensor.to(DEVICE) for name, tensor in made.items()}


@pytest.mark.parametrize("call", [0, 5])
def test_members_drop_what_their_keys_say(call):
    torch.manual_seed(0)
    x = torch.randn(3, 4, 9, 120, device=DEVICE, requires_grad=True)
    slopes = torch.randn_like(x)
    layer, given = Dropout(rate=0.1).train(), buffers(3, 4)
    assert can_run(x)
    got = vmap(lambda own, x: functional_call(layer, own, (x, call)))(given, x)
    drawn = bits(given["keys"], 9 * 120, begin=call * PLACES).reshape(x.shape)
    is_kept = drawn >= given["cut"][:, None, None, None]
    factor = torch.where(is_kept, given["scale"][:, None, None, None], 0.0)
    assert torch.equal(got, x * factor)
    (gradient,) = torch.autograd.grad((got * slopes).sum(), x)
    assert torch.equal(gradient, slopes * factor)
    assert is_kept[0].all()
    shares = (~is_kept[1:]).double().mean(dim=(1, 2, 3))
    assert torch.allclose(shares.cpu(), torch.tensor([0.1, 0.75]).double(), atol=0.03)


def test_one_model_needs_no_fleet():
    x = torch.randn(4, 7, device=DEVICE, requires_grad=True)
    own = {name: tensor[1] for name, tensor in buffers(3, 4).items()}
    got = functional_call(Dropout(rate=0.1).train(), own, x)
    is_kept = bits(own["keys"], 7) >= own["cut"]
    assert torch.equal(got, x * torch.where(is_kept, own["scale"], 0.0))
    got.sum().backward()
    assert torch.equal(x.grad, torch.where(is_kept, own["scale"], 0.0))
