"""What a shell completes."""

import shutil
import subprocess
import sys

import pytest

from ldru.cli.completion import SCRIPTS, complete
from ldru.cli.dispatch import COMMANDS
from ldru.models.registry import MODELS
from ldru.tasks.regular import TASKS


def test_commands_options_tasks_and_models_are_known():
    assert complete([""]) == [*COMMANDS, "--help", "--version"]
    assert complete(["ev"]) == ["eval"]
    assert set(TASKS) <= set(complete(["train", ""]))
    assert complete(["train", "parity_check", "cyc"]) == ["cycle_navigation"]
    assert complete(["train", "--model", ""]) == list(MODELS)
    assert complete(["train", "parity_check", "--leaf"]) == ["--leaf-block"]
    assert complete(["train", "parity_check", "--model", "rnn", "--leaf"]) == []
    assert "--batch-size" in complete(["train", "--b"])
    assert complete(["reproduce", "p"]) == ["plan", "pack"]
    assert "--steps-scale" in complete(["reproduce", "run", "--s"])
    assert complete(["analyse", "run", "--what", ""]) == ["associativity", "embeddings"]
    assert complete(["bench", "fl"]) == ["fleet"]
    assert complete(["train", "--operator", "g"]) == ["grc", "gated_sum"]
    assert complete(["train", "--model", "nope", "--dim", "4", "par"]) == ["parity_check"]
    assert complete(["train", "--seeds", "0", "1", ""]) == []  # more seeds, or an option
    assert complete(["train", "--resume", "par"]) == ["parity_check"]
    assert complete(["completion", "b"]) == ["bash"]
    assert complete(["prepare", "qqp_"]) == ["qqp_subset"]


@pytest.mark.parametrize(
    "words", [["nonsense", ""], ["reproduce", "odd", ""], ["eval", "--plot", ""]]
)
def test_where_nothing_is_known_the_shell_offers_files(words):
    assert complete(words) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes(tmp_path):
    script = tmp_path / "completion.bash"
    script.write_text(
        f'ldru() {{ {sys.executable} -m ldru "$@"; }}\n{SCRIPTS["bash"]}'
        "COMP_WORDS=(ldru train parity_check --model trans)\nCOMP_CWORD=4\n_ldru\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [name for name in MODELS if name.startswith("trans")]
