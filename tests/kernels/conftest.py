"""Without a GPU, the tests of this folder, and no others, run the kernels on the CPU."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch):
    if torch.cuda.is_available():
        return
    monkeypatch.setenv("LDRU_INTERPRET_KERNELS", "1")
    pytest.importorskip("triton")
    from ldru.kernels.reduction import wide

    # The interpreter's time is that of its programs, whatever their size.
    monkeypatch.setattr(wide, "BETWEEN_ROWS", 128)
    monkeypatch.setattr(wide, "NORM_ROWS", 128)
