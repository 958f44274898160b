"""Without a GPU, the tests of this folder, and no others, run the kernels on the CPU."""

from dataclasses import replace

import pytest
import torch


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch):
    if torch.cuda.is_available():
        yield
        return
    monkeypatch.setenv("LDRU_INTERPRET_KERNELS", "1")
    pytest.importorskip("triton")
    from ldru.kernels.reduction import operands, wide

    # The interpreter's time is that of its programs, whatever their size.
    monkeypatch.setattr(wide, "BETWEEN_ROWS", 128)
    monkeypatch.setattr(wide, "NORM_ROWS", 128)
    # The largest that still cuts the matrices of d = 80 into several tiles.
    monkeypatch.setattr(operands, "WEIGHT_TILE", 128)
    yield from hastened(monkeypatch)


def hastened(monkeypatch):
    """Spare the interpreter half of its work, which has no effect."""
    from triton.runtime import interpreter

    builder = interpreter.interpreter_builder
    # It computes whether integers overflow, and would say so in its debug mode alone.
    assert not builder.options.debug
    monkeypatch.setattr(builder, "options", replace(builder.options, sanitize_overflow=False))
    # At each launch, and each call of a kernel's functions, it looks through the whole language for
    # what to make its own. Here the first of a module does so, for the rest of a test.
    patch, patched = interpreter._patch_lang, {}

    def patch_once(function):
        if function.__module__ not in patched:
            patched[function.__module__] = patch(function)
        return interpreter._LangPatchScope()  # with nothing to restore

    monkeypatch.setattr(interpreter, "_patch_lang", patch_once)
    yield
    for scope in reversed(patched.values()):
        scope.restore()
