"""Every Python example of the README runs, with fewer steps."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs(number):
    shorter = EXAMPLES[number].replace("steps=2_000", "steps=4")
    exec(compile(shorter, f"README example {number}", "exec"), {})


def test_the_two_commands_are_on_the_first_screen():
    first_screen = README[:1500]
    assert "make demo" in first_screen
    assert "make test" in first_screen
