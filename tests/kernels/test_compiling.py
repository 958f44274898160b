"""What the interpreter runs has to pass the compiler too, GPU or not."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")


def compiled(folder, *arguments):
    """Lines about the kernels that were compiled, in a process without the interpreter."""
    environment = {
        **{k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"},
        "TRITON_CACHE_DIR": str(folder),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.compiling", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_the_kernels_compile_for_a_gpu(tmp_path):
    assert compiled(tmp_path)[-1] == "trees 16"


@pytest.mark.slow
def test_narrow_kernels_compile_in_the_sizes_of_a_fleet(tmp_path):
    assert compiled(tmp_path, "narrow") == ["narrow 64", "trees 64", "narrow 48", "trees 48"]
