"""What the page shows of a network: the tree over a word, with what each node has become."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ldru.automata.machine import UNLABELLED, IntArray
from ldru.automata.monoid import Monoid
from ldru.base.json import Json
from ldru.models.ldru import LDRUClassifier
from ldru.runs.folder import SETTINGS
from ldru.runs.run import Run
from ldru.runs.shipped import shipped_names
from ldru.tasks.regular_task import RegularTask
from ldru.web.languages import monoid_of
from ldru.web.limits import RequestError, check_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SAMPLED = 192
"""Words by which the place of each class is found, of each of these lengths."""

LENGTHS = (1, 2, 3, 5, 8, 13, 21, 40)
KEPT_RUNS = 8
LEAF, OPEN, CLOSE = ".", "(", ")"


class Node(NamedTuple):
    """A node over the symbols from `begin` to `end`; right is None where left rises alone."""

    begin: int
    end: int
    left: int | None
    right: int | None


class Models:
    """The shipped models, and the runs of one folder; nothing else can be opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open = lru_cache(maxsize=KEPT_RUNS)(self._opened)

    def names(self) -> list[dict[str, Json]]:
        """What can be chosen."""
        shipped: list[dict[str, Json]] = [
            {"name": name, "task": name, "kind": "shipped"} for name in shipped_names()
        ]
        return shipped + [{"name": name, "task": None, "kind": "run"} for name in self.runs()]

    def runs(self) -> list[str]:
        """The names of the run folders, newest first."""
        if not self.folder.is_dir():
            return []
        found = [p for p in self.folder.iterdir() if (p / SETTINGS).is_file()]
        return [p.name for p in sorted(found, key=lambda p: -p.stat().st_mtime)]

    def open(self, name: str) -> Run:
        """A model by the name that the list gives it."""
        if name not in shipped_names() and name not in self.runs():
            raise RequestError(
                f"there is no model {name[:60]!r} among the shipped ones and the runs here"
            )
        return self._open(name)

    def _opened(self, name: str) -> Run:
        path = name if name in shipped_names() else self.folder / name
        run = Run.open(path)
        if not isinstance(run.model, LDRUClassifier):
            raise RequestError(f"{name!r} is no LDRU, and only an LDRU has a tree")
        run.language  # noqa: B018 - raises for data sets
        return run


@dataclass(frozen=True, eq=False)
class Classes:
    """Where the nodes of each class of the monoid lie, as far as a sample shows.

    centres: [known, dim]; kinds: the class of each [known].
    """

    centres: Tensor
    kinds: IntArray

    def nearest(self, states: Tensor) -> tuple[list[Json], list[Json]]:
        """The nearest class of each state, and how far its centre is, relative to its length."""
        found = torch.cdist(states, self.centres).min(dim=1)
        share = found.values / states.norm(dim=1).clamp_min(1e-9)
        kinds = self.kinds[found.indices.numpy()].tolist()
        return kinds, [round(value, 3) for value in share.tolist()]


@lru_cache(maxsize=KEPT_RUNS)
def classes_of(run: Run) -> Classes | None:
    """The places of classes in a network; None where the monoid is too large to be shown."""
    monoid = monoid_of(run.language)
    if monoid is None:
        return None
    states, kinds = zip(*_sampled(run, monoid), strict=True)
    vectors, numbers = torch.cat(states), np.concatenate(kinds)
    known = np.unique(numbers)
    centres = torch.stack([vectors[torch.from_numpy(numbers == k)].mean(dim=0) for k in known])
    return Classes(centres, known)


@torch.no_grad()
def _sampled(run: Run, monoid: Monoid) -> "Iterator[tuple[Tensor, IntArray]]":
    """Nodes of sampled words with their true classes, level by level."""
    model = run.model
    assert isinstance(model, LDRUClassifier)
    for length in LENGTHS:
        batch = run.language.draw_test(length, words=SAMPLED, seed=2)
        kinds = monoid.step[0][batch.tokens.numpy()]
        for level in model.levels(batch.tokens):
            yield level.nodes.flatten(0, 1), kinds.reshape(-1)
            pairs = kinds.shape[1] // 2 * 2
            joined = monoid.table[kinds[:, 0:pairs:2], kinds[:, 1:pairs:2]]
            kinds = np.concatenate([joined, kinds[:, pairs:]], axis=1)


def balanced(length: int) -> list[Node]:
    """The nodes of the balanced tree, leaves first, the root last."""
    nodes = [Node(n, n + 1, None, None) for n in range(length)]
    level = list(range(length))
    while len(level) > 1:
        above = []
        for place in range(0, len(level), 2):
            pair = level[place : place + 2]
            right = pair[1] if len(pair) == 2 else None
            nodes.append(Node(nodes[pair[0]].begin, nodes[pair[-1]].end, pair[0], right))
            above.append(len(nodes) - 1)
        level = above
    return nodes


def bracketed(text: str, length: int) -> list[Node]:
    """The nodes of a tree that is written as brackets, such as ((..).): a dot for each symbol."""
    nodes = [Node(n, n + 1, None, None) for n in range(length)]
    stack: list[list[int]] = [[]]
    symbols = 0
    for sign in text:
        if sign == LEAF and symbols < length:
            stack[-1].append(symbols)
            symbols += 1
        elif sign == OPEN:
            stack.append([])
        elif sign == CLOSE and len(stack) > 1 and len(stack[-1]) == 2:
            left, right = stack.pop()
            nodes.append(Node(nodes[left].begin, nodes[right].end, left, right))
            stack[-1].append(len(nodes) - 1)
        else:
            raise _no_tree(text, length)
    if len(stack) != 1 or len(stack[0]) != 1 or symbols != length:
        raise _no_tree(text, length)
    return nodes


def _no_tree(text: str, length: int) -> RequestError:
    return RequestError(
        f"brackets over {length} symbols are a dot for each and a pair of brackets around every "
        f"two parts, such as ((..).); got {text[:40]!r}"
    )


@torch.no_grad()
def tree(run: Run, tokens: list[int], brackets: str | None = None) -> dict[str, Json]:
    """A word's tree: for every node its stretch, its true class and the class that it lies near.

    brackets: another tree than the balanced one; a part without a partner is passed on as it is.
    """
    model, task = run.model, run.language
    assert isinstance(model, LDRUClassifier)
    check_word(tokens)
    nodes = bracketed(brackets, len(tokens)) if brackets else balanced(len(tokens))
    states = _states(model, tokens, nodes)
    scores = model.head(states)
    monoid, places = monoid_of(task), classes_of(run)
    nothing: list[Json] = [None] * len(nodes)
    near, distance = (nothing, nothing) if places is None else places.nearest(states)
    labels = scores.argmax(dim=1).tolist()
    kinds = [None] * len(nodes) if monoid is None else _true_classes(monoid, tokens, nodes)
    rows: list[dict[str, Json]] = [
        {**node._asdict(), "class": kind, "near": close, "distance": away, "label": label}
        for node, kind, close, away, label in zip(nodes, kinds, near, distance, labels, strict=True)
    ]
    truth = int(task.machine.run(np.array(tokens)))
    shares = scores[-1].softmax(dim=0)
    return {
        "symbols": [task.machine.alphabet[token] for token in tokens],
        "nodes": list(rows),
        "answer": labels[-1],
        "probability": round(float(shares.max()), 6),
        "truth": None if truth == UNLABELLED else truth,
        "representatives": _representatives(monoid, [*kinds, *near]),
    }


def _states(model: LDRUClassifier, tokens: list[int], nodes: list[Node]) -> Tensor:
    """The vector of every node: [nodes, dim]."""
    encoder = model.encoder
    found = list(model.symbol_leaves()[torch.tensor(tokens)])
    for node in nodes[len(tokens) :]:
        assert node.left is not None
        state = found[node.left]
        if node.right is not None:
            state = encoder.operator(state[None], found[node.right][None])[0]
        found.append(encoder.block(state[None])[0])
    return torch.stack(found)


def _true_classes(monoid: Monoid, tokens: list[int], nodes: list[Node]) -> list[Json]:
    """The class of each node's stretch of the word."""
    word = np.array(tokens)
    return [int(monoid.classify(word[node.begin : node.end])) for node in nodes]


def _representatives(monoid: Monoid | None, kinds: "Iterable[Json]") -> dict[str, Json]:
    """A shortest word of each class that occurs."""
    if monoid is None:
        return {}
    found = sorted({kind for kind in kinds if isinstance(kind, int)})
    words = [monoid.machine.decode(list(monoid.representatives[kind])) for kind in found]
    return {str(kind): word or "empty word" for kind, word in zip(found, words, strict=True)}


def curve(run: Run) -> dict[str, Json]:
    """Accuracy by length as the record has it, and the longest training word."""
    evaluation = run.record.evaluation
    found = {} if evaluation is None else evaluation.accuracy
    points = [[n, share] for n, share in found.items() if isinstance(n, int)]
    return {"points": points, "trained": run.spec.train.max_length}  # type: ignore[dict-item]


@torch.no_grad()
def at_length(run: Run, *, length: int, seed: int) -> dict[str, Json]:
    """A test word of a length with the network's answer, and how many of a few are right."""
    task: RegularTask = run.language
    words = 2 if length > 1_000 else 16
    batch = task.draw_test(length, words=words, seed=seed)
    answers = run.model(batch.tokens).argmax(dim=1)
    pick = seed % len(batch.labels)
    return {
        "word": task.machine.decode(batch.tokens[pick].numpy()),
        "length": batch.tokens.shape[1],
        "answer": int(answers[pick]),
        "truth": int(batch.labels[pick]),
        "right": int((answers == batch.labels).sum()),
        "words": len(batch.labels),
    }
