"""Values of stretches of expressions, against expressions that are written out and evaluated."""

import re

import numpy as np
import pytest
import torch

import ldru
from ldru.tasks.listops.expressions import OPERATORS, decode
from ldru.tasks.listops.generator import Generator, Grammar, draw_distinct
from ldru.tasks.listops.stretches import stretch_values

LENGTH = 24
EMPTY_LIST = re.compile(rf"({'|'.join(map(re.escape, OPERATORS))}) \] ?")


def completed(stretch):
    """The expression that a stretch becomes, as text; None where nothing is left of it."""
    opened = unopened = 0
    for token in stretch.split():
        if token in OPERATORS:
            opened += 1
        elif token == "]":
            unopened, opened = unopened + (opened == 0), max(0, opened - 1)
    text = " ".join([*["[SM"] * (unopened + 1), stretch, *["]"] * (opened + 1)])
    while EMPTY_LIST.search(text):
        text = EMPTY_LIST.sub("", text)
    return text or None


@pytest.mark.parametrize("max_depth", [2, 3, 4])
def test_every_stretch_has_the_value_of_its_expression(max_depth):
    generator = Generator(Grammar(max_depth=max_depth, max_arguments=5), longest=LENGTH)
    random = np.random.PCG64(max_depth)
    words = draw_distinct(generator, low=4, high=LENGTH, count=30, random=random)
    tokens = torch.zeros(len(words), LENGTH, dtype=torch.int64)
    places, expected = [(0, 0)], [-1]
    for row, word in enumerate(words):
        tokens[row, : len(word)] = torch.tensor(list(word))
        assert completed(decode(word)).startswith("[SM [")
        for begin in range(len(word)):
            for end in range(begin + 1, len(word) + 1):
                text = completed(decode(word[begin:end]))
                places.append((row * LENGTH + begin, row * LENGTH + end))
                expected.append(-1 if text is None else ldru.listops.evaluate(text))
    begin, end = torch.tensor(places).T
    found = stretch_values(tokens, begin, end, most_open=max_depth - 1)
    assert found.tolist() == expected
    # Members of a fleet are one more axis, and may have their own stretches.
    flipped = stretch_values(
        tokens.expand(2, -1, -1),
        torch.stack([begin, begin.flip(0)]),
        torch.stack([end, end.flip(0)]),
        most_open=max_depth - 1,
    )
    assert flipped.tolist() == [expected, expected[::-1]]
