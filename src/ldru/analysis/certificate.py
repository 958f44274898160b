"""A proof that a trained LDRU itself, in float32, is right on words of every length.

The verdict on an exact machine is about its tables. A certificate ties the network to them: around
the point of each state there is a ball such that

    every leaf lies in the ball of its symbol's state,
    two nodes in two balls are joined into the ball that the tables name,
    a node that rises alone comes into the ball that the tables name, and
    the head reads the state's label everywhere in its ball.

So every node of every word lies in the ball of its state, by induction over the tree, and the label
is that of the tables. The four claims are checked by bounds on the layers (`ldru.analysis.bounds`).
"""

import copy
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ldru.analysis.algebra import Algebra
from ldru.analysis.bounds import (
    balls,
    pairs_of_balls,
    rounding,
    through_block,
    through_operator,
)
from ldru.analysis.extraction import Extraction
from ldru.analysis.points import points_of
from ldru.analysis.trained_ldru import check_ldru
from ldru.analysis.verdict import decide
from ldru.automata.monoid import monoid
from ldru.base.errors import LdruError, RunError
from ldru.base.files import write_text
from ldru.base.json import Json
from ldru.base.reading import explained, is_there, read_json
from ldru.models.ldru import LDRUClassifier
from ldru.operators.mlp import MLPOperator
from ldru.tasks.find import as_language
from ldru.tasks.regular_task import RegularTask

RADII = (0.01, 0.015, 0.02, 0.03, 0.045, 0.07, 0.1)
"""Those that are tried; states of width 64 have length 8."""

SAMPLE = 48
"""The pairs of states that a radius is chosen by."""

SLACK = 1e-6
"""Of the radius, what a bound must stay below it: float64 rounds by far less."""

SETTLING = 20
CHUNK = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate:
    """Balls around the states of an exact machine, and how well the network keeps to them.

    algebra: the tables of the machine.
    points: of its states, the centres of the balls [states, dim], in float64.
    radius: of all balls.
    farthest: how far from its point a node can come at most; below the radius, if it is a proof.
    lead: by how much the right label's score leads at least, in every ball.
    weights: the SHA-256 of the network's weights.

    >>> run = ldru.Run.open("parity_check")
    >>> found = ldru.extract(run.model, run.task, tolerances=[0.5])
    >>> ldru.certify(run.model, found).is_certified
    False
    >>> model = ldru.consolidate(run.model, found, steps=500)
    >>> certificate = ldru.certify(model, found)
    >>> certificate.summary[:40]
    'certified at every length: all nodes lie'
    >>> certificate.check(model, "parity_check")
    """

    algebra: Algebra
    points: Tensor
    radius: float
    farthest: float
    lead: float
    weights: str

    def __repr__(self) -> str:
        return f"Certificate({self.summary})"

    @property
    def is_certified(self) -> bool:
        """Whether every node of every word stays in its ball, where the head reads its label."""
        return self.farthest <= (1 - SLACK) * self.radius and self.lead > 0

    @property
    def margin(self) -> float:
        """The share of the radius that no node ever needs."""
        return 1 - self.farthest / self.radius

    @property
    def summary(self) -> str:
        """The outcome in a sentence."""
        around = f"{self.radius:g} around {len(self.points):,} points"
        if self.is_certified:
            return (
                f"certified at every length: all nodes lie within {around} (margin "
                f"{self.margin:.0%}), labels lead by {self.lead:.2f}"
            )
        if self.farthest > (1 - SLACK) * self.radius:
            return f"not certified: nodes within {around} may come {self.farthest:.3g} away"
        return f"not certified: within {around} labels may fall behind by {-self.lead:.3g}"

    def check(self, model: nn.Module, task: str | RegularTask) -> None:
        """Raise unless this is a proof that the model answers every word of the task rightly.

        Nothing that the certificate says of itself is believed: the tables are judged by the task's
        machine, and all bounds are computed again.
        """
        model, task = check_certifiable(model), as_language(task)
        if self.weights != weights_digest(model):
            raise RunError(
                f"the certificate is of other weights: SHA-256 {self.weights[:12]}..., the model's "
                f"is {weights_digest(model)[:12]}...; certify this model itself"
            )
        shape = (self.algebra.num_states, model.encoder.dim)
        if self.points.shape != shape:
            raise RunError(
                f"the certificate needs a point for each state, {list(shape)} numbers, and has "
                f"{list(self.points.shape)}"
            )
        if not decide(self.algebra, monoid(task.machine.minimal())).is_correct:
            raise RunError(f"the certificate's tables are not right on every word of {task.name}")
        found = _bounded(model, self.algebra, self.points, radius=self.radius)
        if not found.is_certified:
            raise RunError(f"the certificate does not hold: {found.summary}")

    def save(self, path: str | Path) -> None:
        """Write it to a new file of JSON."""
        if is_there(Path(path)):
            raise LdruError(f"{str(path)!r} is already there and is not overwritten")
        write_text(Path(path), json.dumps(self.to_json()) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        """Read what `save` wrote."""
        data = read_json(Path(path))
        with explained(path):
            return cls.from_json(data)  # type: ignore[arg-type]

    def to_json(self) -> dict[str, Json]:
        """As JSON data."""
        return {
            "summary": self.summary,
            "radius": self.radius,
            "farthest": self.farthest,
            "lead": self.lead,
            "weights": self.weights,
            "algebra": self.algebra.to_json(),
            "points": self.points.tolist(),
        }

    @classmethod
    def from_json(cls, data: dict) -> "Certificate":
        """From what `to_json` gave."""
        try:
            algebra = Algebra(**{name: np.array(table) for name, table in data["algebra"].items()})
            return cls(
                algebra=algebra,
                points=torch.tensor(data["points"], dtype=torch.float64),
                radius=float(data["radius"]),
                farthest=float(data["farthest"]),
                lead=float(data["lead"]),
                weights=str(data["weights"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
            raise LdruError(f"this is no certificate: {problem!r}") from problem


def certify(model: nn.Module, found: Extraction) -> Certificate:
    """Look for balls that prove an LDRU to be its machine, which `extract` found, in float32.

    A network as it was trained hardly ever has such balls; `consolidate` it first. The proof covers
    computations in float32 with products in full precision, in any order, not TF32.

    >>> run = ldru.Run.open("parity_check")
    >>> found = ldru.extract(run.model, run.task, tolerances=[0.5])
    >>> ldru.certify(run.model, found).is_certified  # as it was trained
    False
    """
    model = check_certifiable(model)
    if not found.is_correct:
        raise RunError(f"there is nothing to certify: {found.summary}")
    algebra = found.algebra
    points = _settled(model, algebra)
    count = len(algebra.moves.left)
    chosen = np.random.default_rng(0).permutation(count)[:SAMPLE]
    some = torch.from_numpy(chosen).to(points.device)

    def farthest(radius: float) -> float:
        """How far nodes can come in balls of a radius, by a sample of the pairs."""
        pairs = _pair_distances(model, algebra, points, radius, only=some)
        others = _other_distances(model, algebra, points, radius)
        return float(torch.cat([pairs, others]).max())

    radius = min(RADII, key=lambda radius: farthest(radius) / radius)
    if farthest(radius) > radius:  # then all pairs need not be bounded
        return _certificate(model, algebra, points, radius=radius, farthest=farthest(radius))
    return _bounded(model, algebra, points, radius=radius)


def check_certifiable(model: nn.Module) -> LDRUClassifier:
    """The model, which must be an LDRU of the kind that bounds are known for."""
    model = check_ldru(model)
    encoder = model.encoder
    activations = {encoder.block.activation, getattr(encoder.operator, "activation", "relu")}
    if not isinstance(encoder.operator, MLPOperator) or activations != {"relu"}:
        raise LdruError(
            "bounds are known for the MLP operator with ReLU alone; this LDRU has "
            f"{type(encoder.operator).__name__} and {', '.join(sorted(activations))}"
        )
    if model.head.weight.dtype != torch.float32:
        raise LdruError(
            "a certificate is about computations in float32, the model has "
            f"{model.head.weight.dtype}"
        )
    return model


def weights_digest(model: nn.Module) -> str:
    """The SHA-256 of all weights, in the order of their names."""
    found = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        found.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


@torch.no_grad()
def _settled(model: LDRUClassifier, algebra: Algebra) -> Tensor:
    """Points in the middle of what the maps make of them: [states, dim], in float64."""
    exact = copy.deepcopy(model).double()
    encoder, points = exact.encoder, points_of(exact, algebra)
    left, right, joined, rising, risen, leaf = (
        torch.from_numpy(table).to(points.device) for table in (*algebra.moves, algebra.leaf)
    )
    into = torch.cat([leaf, joined, risen])
    count = torch.bincount(into, minlength=len(points)).clamp_min(1)[:, None]
    for _ in range(SETTLING):
        pairs = encoder.block(encoder.operator(points[left], points[right]))
        images = torch.cat([exact.symbol_leaves(), pairs, encoder.block(points[rising])])
        points = torch.zeros_like(points).index_add_(0, into, images) / count
    return points


def _bounded(
    model: LDRUClassifier,
    algebra: Algebra,
    points: Tensor,
    *,
    radius: float,
) -> Certificate:
    """All that can be said with balls of a radius around these points."""
    points = points.to(model.head.weight.device)
    pairs = _pair_distances(model, algebra, points, radius)
    others = _other_distances(model, algebra, points, radius)
    farthest = float(torch.cat([pairs, others]).max())
    return _certificate(model, algebra, points, radius=radius, farthest=farthest)


def _certificate(
    model: LDRUClassifier, algebra: Algebra, points: Tensor, *, radius: float, farthest: float
) -> Certificate:
    return Certificate(
        algebra=algebra,
        points=points.cpu(),
        radius=radius,
        farthest=farthest,
        lead=_lead(model.head, algebra, points, radius),
        weights=weights_digest(model),
    )


@torch.no_grad()
def _pair_distances(
    model: LDRUClassifier,
    algebra: Algebra,
    points: Tensor,
    radius: float,
    *,
    only: Tensor | None = None,
) -> Tensor:
    """How far from its point each pair of neighbours can come: -> [pairs], or of some of them."""
    block, operator, moves = model.encoder.block, model.encoder.operator, algebra.moves
    assert isinstance(operator, MLPOperator)
    left, right, joined = (torch.from_numpy(table).to(points.device) for table in moves[:3])
    rows = torch.arange(len(left), device=points.device) if only is None else only
    # Filled in place: results of their own, left between the large sets of a chunk and those of the
    # next one, keep the heap from being used again, until 86,352 pairs run out of 22 GB.
    found = points.new_empty(len(rows))
    for some, distances in zip(rows.split(CHUNK), found.split(CHUNK), strict=True):
        pairs = pairs_of_balls(points[left[some]], points[right[some]], radius=radius)
        nodes = through_block(through_operator(pairs, operator), block)
        distances.copy_(nodes.farthest_from(points[joined[some]]))
    return found


@torch.no_grad()
def _other_distances(
    model: LDRUClassifier, algebra: Algebra, points: Tensor, radius: float
) -> Tensor:
    """How far from its point each leaf, and each node that rises alone, can come: -> [both]."""
    encoder, moves = model.encoder, algebra.moves
    rising, risen = (torch.from_numpy(table).to(points.device) for table in moves[3:])
    embedded = model.embedding.weight.double()
    leaves = points[torch.from_numpy(algebra.leaf).to(points.device)]
    found = [(embedded - leaves).norm(dim=-1)]
    if encoder.leaf_block is not None:
        # A symbol's vector is exact: a ball without a radius.
        found = [
            through_block(balls(embedded, radius=0.0), encoder.leaf_block).farthest_from(leaves)
        ]
    for some, there in zip(rising.split(CHUNK), risen.split(CHUNK), strict=True):
        nodes = through_block(balls(points[some], radius=radius), encoder.block)
        found.append(nodes.farthest_from(points[there]))
    return torch.cat(found)


@torch.no_grad()
def _lead(head: nn.Linear, algebra: Algebra, points: Tensor, radius: float) -> float:
    """By how much the label of a state leads at least, in the ball around its point."""
    weight, bias = head.weight.double(), head.bias.double()
    answer = torch.from_numpy(algebra.answer).to(points.device)
    scores = points @ weight.mT + bias
    ahead = scores.gather(1, answer[:, None]) - scores
    apart = (weight[answer][:, None] - weight).norm(dim=-1)
    sizes = (points.abs() + radius) @ weight.abs().mT + bias.abs()
    error = 2 * rounding(head.in_features + 1) * sizes.amax(dim=1, keepdim=True)
    lead = ahead - radius * apart - error
    return float(lead.scatter(1, answer[:, None], torch.inf).min())
