"""Texts of words for a model to answer, and expressions of ListOps."""

import functools
from pathlib import Path
from random import Random

import numpy as np

import ldru
from attack.attack import Attack
from attack.material import Material
from ldru.runs.predict import predict_growing, predict_stream
from ldru.runs.run import Run
from ldru.tasks.listops.expressions import TOKENS, encode, evaluate, values

LETTERS = "0011001100112 \t\n\0aé٣²🦉\ud800\u202e"


def make_words(number: int, random: Random, material: Material) -> list[object]:
    """Words, mostly of the alphabet; some long, empty, or no text at all."""
    letters = random.choice(("01", "01", "01", LETTERS))
    longest = random.choice((3, 10, 100))
    words: list[object] = [
        "".join(random.choice(letters) for _ in range(random.randrange(longest)))
        for _ in range(random.choice((0, 1, 3, 20)))
    ]
    if random.random() < 0.05:
        words.append("01" * random.choice((1_000, 20_000)))
    if random.random() < 0.05:
        words.append(random.choice((None, 5, b"01", ["0"], 1.5, np.int64(1))))
    return words


@functools.cache
def opened(folder: Path) -> Run:
    return Run.open(folder)


def answer(words: list, material: Material, box: Path) -> None:
    """All three ways to ask, which agree."""
    run = opened(material.run)
    answers = run.predict(words)
    assert [found.word for found in answers] == words
    streamed = list(predict_stream(run, iter(words), at_once=2))
    assert [found.label for found in streamed] == [found.label for found in answers]
    for _ in predict_growing(run, words):
        pass
    for found in answers:
        assert found.expected == (found.word.count("1") + 1) % 2


def make_expression(number: int, random: Random, material: Material) -> str:
    if random.random() < 0.01:
        depth = random.choice((10, 4_000, 50_000))
        return "[MAX 1 " * depth + "2 ]" * random.choice((depth, depth, depth - 1))
    text = grow(random, random.choice((0, 1, 2, 3, 5)))
    for _ in range(random.choice((0, 0, 1, 3))):
        place = random.randrange(len(text) + 1)
        piece = random.choice(
            (*TOKENS, "[", "]", "(", ")", "[SUM", "10", "-1", "٣", "\0", "\ud800")
        )
        text = text[:place] + piece + text[place + random.randrange(4) :]
    return text


def grow(random: Random, depth: int) -> str:
    if depth == 0:
        return str(random.randrange(10))
    inner = [grow(random, random.randrange(depth)) for _ in range(random.choice((1, 2, 3, 9)))]
    return f"[{random.choice(('MAX', 'MIN', 'MED', 'SM'))} {' '.join(inner)} ]"


def evaluate_it(expression: str, material: Material, box: Path) -> None:
    """Alone, and among others of very different lengths: the values agree."""
    value = evaluate(expression)
    others = [encode("3"), encode(expression), encode("[MIN 4 7 ]")]
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in others])])
    tokens = np.concatenate(others).astype(np.uint8)
    assert values(tokens, offsets).tolist() == [3, value, 4]
    assert ldru.task("listops_50").answer_all([others[1]]) == [value]


ATTACKS = (
    Attack(
        name="words",
        about="texts of words; answered at once, as a stream, and as they grow",
        cases=6_000,
        make=make_words,
        attempt=answer,
    ),
    Attack(
        name="listops",
        about="expressions of ListOps; evaluated alone and among others",
        cases=15_000,
        make=make_expression,
        attempt=evaluate_it,
    ),
)
