"""What the interpreter runs has to pass the compiler too, GPU or not."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

from tests.kernels.compiling import GPUS


def compiled(folder, *arguments):
    """Lines about the kernels that were compiled, in a process without the interpreter."""
    environment = {
        **{k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"},
        "TRITON_CACHE_DIR": str(folder),
        "LDRU_DATA": str(folder / "data"),
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


def test_the_kernels_compile_for_a_gpu_with_little_memory(tmp_path):
    """Of 99 KiB a program, where others have 227."""
    lines = compiled(tmp_path, "RTX 4090", "small")
    found = {line.split()[0] for line in lines}
    assert {"fused_backward_kernel", "tree_backward_kernel", "weight_gradient_kernel"} <= found
    assert {"between_kernel", "short_attention_gradient_kernel", "delta_rule_kernel"} <= found
    assert len(found) > 40


@pytest.mark.slow
@pytest.mark.parametrize("name", GPUS)
def test_fleets_compile_for_each_kind_of_gpu(tmp_path, name):
    lines = compiled(tmp_path, name, "large")
    assert max(int(line.split()[-1]) for line in lines) > 10_000
