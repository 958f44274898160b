"""Without a GPU, the tests of this folder, and no others, run the kernels on the CPU."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch):
    if not torch.cuda.is_available():
        monkeypatch.setenv("LDRU_INTERPRET_KERNELS", "1")
