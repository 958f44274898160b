"""What the interpreter runs has to pass the compiler too, GPU or not."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")


def test_wide_kernels_compile_for_a_gpu(tmp_path):
    environment = {
        **{k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"},
        "TRITON_CACHE_DIR": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.compiling"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 21
