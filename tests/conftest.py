"""Settings of the whole test run."""

import os

import pytest
import torch

from ldru.tasks.listops import data as listops_data

# The tests are many and small, and run in one process per core: threads would only wait.
torch.set_num_threads(1)

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it once, when it is imported


@pytest.fixture
def small_listops(monkeypatch, tmp_path):
    """ListOps with few words to validate and test with, in a folder of the test's own."""
    monkeypatch.setenv("LDRU_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(listops_data, "VALIDATION_WORDS", 30)
    monkeypatch.setattr(listops_data, "TEST_WORDS", 20)
