"""What kernels do on GPUs that are not there: whether they run, and in which tilings."""

import itertools

import pytest
import torch

import ldru
from ldru.base.precision import products_in

pytest.importorskip("triton")
from ldru.kernels import gpu, support
from ldru.kernels.gpu import Gpu
from ldru.kernels.reduction import narrow, operands
from ldru.kernels.reduction.launch import Settings, Tiling, Tilings

ADA = Gpu("RTX 4090", True, (8, 9), processors=128, memory=99 * 1024)
HOPPER = Gpu("H200", True, (9, 0), processors=132, memory=227 * 1024)
AMD = Gpu("MI300X", False, (9, 4), processors=304, memory=64 * 1024)
SETTINGS = [
    Settings(is_silu=False, is_tf32=is_tf32, is_bounded=is_bounded)
    for is_tf32, is_bounded in itertools.product((True, False), repeat=2)
]


@pytest.fixture(params=[ADA, HOPPER, AMD], ids=lambda found: found.name)
def here(request, monkeypatch):
    monkeypatch.setattr(gpu, "current", lambda: request.param)
    return request.param


def test_an_old_gpu_leaves_words_to_pytorch(monkeypatch):
    old = Gpu("T4", True, (7, 5), processors=40, memory=64 * 1024)
    monkeypatch.setattr(gpu, "current", lambda: old)
    reason = "T4 has compute capability 7.5, the kernels want 8.0"
    assert support.why_not(torch.device("cpu")) == reason
    x = torch.randn(2, 5, 16)
    model = ldru.LDRU(dim=16)
    assert model(x).shape == (2, 16)
    model.backend = "fused"
    with pytest.raises(ldru.LdruError, match=reason):
        model(x)


def test_a_compiler_need_not_follow_the_driver(monkeypatch):
    """It takes what is said of the GPU for constant, and asks again where products change."""

    def asked():
        with open("/dev/null", "rb", buffering=0) as driver:  # such as no compiler follows
            return HOPPER._replace(processors=1 + len(driver.read()))

    def seen(graph, inputs):
        (call,) = [node for node in graph.graph.nodes if "fused_reduce" in str(node.target)]
        precisions.append(call.args[-1])
        return graph.forward

    monkeypatch.setattr(gpu, "current", asked)
    precisions = []
    model, x = ldru.LDRU(dim=16).eval(), torch.randn(2, 5, 16)
    compiled = torch.compile(model, fullgraph=True, backend=seen)
    torch.testing.assert_close(compiled(x), model(x))
    with products_in("tf32", device=torch.device("cuda")):
        compiled(x)
    assert precisions == [False, True]


def test_gpus_of_amd_run_kernels_when_asked_to(monkeypatch):
    monkeypatch.setattr(gpu, "current", lambda: AMD)
    assert "LDRU_UNTRIED_KERNELS=1" in support.why_not(torch.device("cpu"))
    monkeypatch.setenv("LDRU_UNTRIED_KERNELS", "1")
    assert support.why_not(torch.device("cpu")) is None


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("table", [narrow.FORWARD, narrow.BACKWARD, operands.WEIGHT])
def test_tilings_fit_and_fill_the_gpu(here, table, settings):
    listed = table.half if settings.is_half else table.full
    for rows, others in itertools.product((1, 256, 5120, 10**6), (1, 15, 48)):
        found = table.fitting(settings, rows=rows, others=others)
        assert found in listed
        assert found.memory * 1024 <= here.memory
        # Tried one after the other, as somebody would by hand.
        for tiling in listed:
            fits = tiling.memory * 1024 <= here.memory
            fills = -(-rows // tiling.rows) * others >= here.processors
            if fits and fills:
                assert found == tiling
                break
        else:
            room = [tiling for tiling in listed if tiling.memory * 1024 <= here.memory]
            assert found.rows == min(tiling.rows for tiling in room)


def test_few_rows_take_the_preferred_of_the_smallest_tilings(monkeypatch):
    monkeypatch.setattr(gpu, "current", lambda: HOPPER)
    large, small, slower = (
        Tiling(rows, stages, memory=90) for rows, stages in ((64, 3), (16, 3), (16, 1))
    )
    table = Tilings(half=(large, small, slower), full=(large,))
    assert table.fitting(SETTINGS[0], rows=16, others=1) == small
    assert table.fitting(SETTINGS[0], rows=64 * 132, others=1) == large


def test_products_are_named_as_a_compiler_knows_them(here):
    name = here.precision(is_tf32=True), here.precision(is_tf32=False)
    assert name == (("tf32", "tf32x3") if here.is_nvidia else ("ieee", "ieee"))
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("highest")
        assert gpu.layer_precision() == "ieee"
        torch.set_float32_matmul_precision("high")
        assert gpu.layer_precision() == name[0]
    finally:
        torch.set_float32_matmul_precision(before)
