"""Networks as the page is told of them: settings, weights, and where each class of words lies.

The page computes the nodes of a tree itself, from the weights. What it cannot know is which class
a vector stands for; for this the nodes of sampled words are averaged, class by class.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ldru.automata.machine import IntArray
from ldru.automata.monoid import Monoid
from ldru.base.json import Json
from ldru.models.ldru import LDRUClassifier
from ldru.models.settings import LDRUSpec
from ldru.runs.folder import WEIGHTS
from ldru.runs.run import Run
from ldru.runs.shipped import SHIPPED
from ldru.web.languages import describe, minimal, monoid_of
from ldru.web.limits import LARGEST_WEIGHTS, RequestError
from ldru.web.shelf import Shelf

SAMPLED = 192
"""Words by which the place of each class is found, of each of these lengths."""

LENGTHS = (1, 2, 3, 5, 8, 13, 21, 40)
KEPT_RUNS = 8
DIGITS = 4
"""Of a centre's coordinates; states have length sqrt(dim), and classes lie far apart."""

OPERATORS = ("mlp", "grc", "gated_sum", "linear", "element_sum")
"""What engine/operators.js computes."""


class Centres(NamedTuple):
    """The mean node of each class that a sample shows.

    vectors: [known, dim]; kinds: the class of each [known].
    """

    vectors: Tensor
    kinds: IntArray


class Models:
    """The runs of a shelf, opened; the last few stay in memory."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._opened = lru_cache(maxsize=KEPT_RUNS)(self._open)

    def open(self, name: str) -> Run:
        """A run by its name on the shelf."""
        return self._opened(name, self.shelf.written_at(name))

    def _open(self, name: str, written_at: float) -> Run:
        """A run that the page can show; `written_at` tells one from its successor."""
        run = Run.open(self.shelf.path(name))
        if not isinstance(run.model, LDRUClassifier):
            raise RequestError(f"{name!r} is no LDRU, and only an LDRU has a tree")
        assert isinstance(run.spec.model, LDRUSpec)
        if run.spec.model.operator not in OPERATORS:
            raise RequestError(f"the page does not know the operator {run.spec.model.operator!r}")
        minimal(run.language.machine)  # raises where it is too large
        return run

    def weights(self, name: str) -> bytes:
        """The weights as they lie on disk, in the safetensors format."""
        run = self.open(name)
        path = (run.folder or SHIPPED / name) / WEIGHTS
        if path.stat().st_size > LARGEST_WEIGHTS:
            raise RequestError(
                f"the weights of {name!r} have {path.stat().st_size:,} bytes; the page loads up "
                f"to {LARGEST_WEIGHTS:,}"
            )
        return path.read_bytes()


@lru_cache(maxsize=KEPT_RUNS)
def describe_model(run: Run) -> dict[str, Json]:
    """All that the page needs beside the weights."""
    spec, machine = run.spec.model, run.language.machine
    assert isinstance(spec, LDRUSpec)
    centres = centres_of(run)
    evaluation = run.record.evaluation
    found = {} if evaluation is None else evaluation.accuracy
    points = [[n, share] for n, share in found.items() if isinstance(n, int)]
    return {
        "language": describe(run.task.name, minimal(machine)),
        "operator": spec.operator,
        "activation": spec.activation,
        "trained": run.spec.train.max_length,
        "points": points,  # type: ignore[dict-item]
        "centres": None if centres is None else _centre_rows(centres),
    }


def _centre_rows(centres: Centres) -> dict[str, Json]:
    vectors = np.round(centres.vectors.double().numpy(), DIGITS)
    return {"kinds": centres.kinds.tolist(), "vectors": vectors.tolist()}


@lru_cache(maxsize=KEPT_RUNS)
def centres_of(run: Run) -> Centres | None:
    """The places of classes in a network; None where the monoid is too large to be shown."""
    monoid = monoid_of(minimal(run.language.machine))
    if monoid is None:
        return None
    states, kinds = zip(*sampled_nodes(run, monoid), strict=True)
    vectors, numbers = torch.cat(states), np.concatenate(kinds)
    known = np.unique(numbers)
    means = [vectors[torch.from_numpy(numbers == kind)].mean(dim=0) for kind in known]
    return Centres(torch.stack(means), known)


@torch.no_grad()
def sampled_nodes(run: Run, monoid: Monoid) -> Iterator[tuple[Tensor, IntArray]]:
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
