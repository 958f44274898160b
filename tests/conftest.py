"""Settings of the whole test run."""

import os
from pathlib import Path

import pytest
import torch

from ldru.analysis import consolidation, extract, extraction
from ldru.tasks.listops import data as listops_data
from tests.small_texts import write_texts

# The tests are many and small, and run in one process per core: threads would only wait.
torch.set_num_threads(1)

# Some virtual machines announce AMX and forbid it: the first product in bfloat16 would end the
# process there. oneDNN reads this when it multiplies first.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it once, when it is imported


@pytest.fixture(scope="module")
def few_words():
    """Extraction that compares a sixteenth of its words, where its machine is not in question."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SYMBOLS_PER_LENGTH", "WORDS_PER_LENGTH", "SHORT_WORDS"):
            patch.setattr(extract, name, getattr(extract, name) // 16)
        patch.setattr(extraction, "COMPARED_SYMBOLS", extraction.COMPARED_SYMBOLS // 16)
        yield


@pytest.fixture(scope="module")
def few_entries():
    """Consolidation with few entries a step: the tables of parity have four."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consolidation, "PAIRS", 32)
        patch.setattr(consolidation, "RISES", 16)
        yield


@pytest.fixture
def small_listops(monkeypatch, tmp_path):
    """ListOps with few words to validate and test with, in a folder of the test's own."""
    monkeypatch.setenv("LDRU_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(listops_data, "VALIDATION_WORDS", 30)
    monkeypatch.setattr(listops_data, "TEST_WORDS", 20)


@pytest.fixture
def small_texts(monkeypatch, tmp_path):
    """A folder with a vocabulary and a few texts as official files; an empty store beside it."""
    monkeypatch.setenv("LDRU_DATA", str(tmp_path / "data"))
    return write_texts(tmp_path / "texts")


@pytest.fixture
def real_texts(monkeypatch, tmp_path):
    """The data folder with the real texts, where there is one; an empty store."""
    beside = Path(__file__).parents[2] / "shared" / "data" / "text"
    folder = Path(os.environ.get("LDRU_TEXTS") or beside)
    if not folder.is_dir():
        pytest.skip("no data folder of texts: set LDRU_TEXTS")
    monkeypatch.setenv("LDRU_DATA", str(tmp_path / "data"))
    return folder
