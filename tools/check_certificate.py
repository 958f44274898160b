"""Check the certificate of a run with NumPy alone: none of the library's own bounds are used.

`python -m tools.check_certificate RUN` reads weights.safetensors and certificate.json of a folder.
A set of vectors is a centre and columns. The first `dim` columns are what the left neighbour can
add, times a vector of at most length one; the next `dim` are the same for the right one. Every
other column counts for itself, times a number between -1 and 1. Whatever a step leaves out, a
rounded sum or a bend, becomes a new column.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.linalg import norm
from numpy.typing import NDArray

from ldru.base.json import Json
from ldru.base.safetensors import load_tensors

Array = NDArray[np.float64]
UNIT = 2.0**-24  # of float32


class Vectors(NamedTuple):
    """A set of vectors: centre [n], columns [n, 2 dim + more]."""

    centre: Array
    columns: Array
    dim: int

    def reach(self) -> Array:
        """How far each coordinate can be from the centre's."""
        left, right, rest = np.split(self.columns, [self.dim, 2 * self.dim], axis=1)
        return norm(left, axis=1) + norm(right, axis=1) + abs(rest).sum(axis=1)

    def length(self) -> float:
        """How far a vector can be from the centre."""
        left, right, rest = np.split(self.columns, [self.dim, 2 * self.dim], axis=1)
        return float(norm(left, 2) + norm(right, 2) + norm(abs(rest).sum(axis=1)))

    def size(self) -> Array:
        return abs(self.centre) + self.reach()

    def like(self, centre: Array, columns: Array, error: Array) -> "Vectors":
        """Another centre, other columns, and one more for each coordinate's error."""
        return Vectors(centre, np.hstack([columns, np.diag(error)]), self.dim)

    def padded(self, other: "Vectors") -> Array:
        """The columns, with zeros for those that only another set has."""
        return np.pad(self.columns, ((0, 0), (0, other.columns.shape[1] - self.columns.shape[1])))


def linear(x: Vectors, weight: Array, *biases: Array) -> Vectors:
    """W x + b; n + 4 roundings are more than adding up in any order needs."""
    error = abs(weight) @ x.size() + sum(abs(bias) for bias in biases)
    error = (weight.shape[1] + 4) * UNIT * 1.001 * error
    return x.like(weight @ x.centre + sum(biases), weight @ x.columns, error)


def relu(x: Vectors) -> Vectors:
    """Where a unit may be on or off, relu lies within `half` of the line slope x + half."""
    low, high = x.centre - x.reach(), x.centre + x.reach()
    bends = (low < 0) & (high > 0)
    slope = np.where(bends, high / np.where(bends, high - low, 1), low >= 0)
    half = np.where(bends, -slope * low / 2, 0)
    return x.like(slope * x.centre + half, slope[:, None] * x.columns, half)


def product(x: Vectors, y: Vectors) -> Vectors:
    """x y, coordinate by coordinate; y has columns that x has not."""
    columns = y.centre[:, None] * x.padded(y) + x.centre[:, None] * y.columns
    error = x.reach() * y.reach() + UNIT * x.size() * y.size()
    return x.like(x.centre * y.centre, columns, error)


def farthest(x: Vectors, weight: Array, bias: Array, point: Array) -> float:
    """How far from a point the layer norm of a set can come, along its derivative at the centre."""
    dim, root = x.dim, np.sqrt(x.dim)
    centring = np.eye(dim) - 1 / dim
    p = Vectors(centring @ x.centre, centring @ x.columns, dim)
    length = np.sqrt(p.centre @ p.centre + dim * 1e-5)
    least = length - p.length()
    if least <= 0:
        return np.inf
    direction = p.centre / length
    slope = weight[:, None] * (np.eye(dim) - np.outer(direction, direction)) * root / length
    image = Vectors(weight * root * direction + bias, slope @ p.columns, dim)
    bend = root * p.length() ** 2 / least**2 / np.sqrt(3)
    size = x.size().max() * root / least
    rounded = root * (2 * dim + 8) * UNIT * 1.001 * (1 + size + size**2)
    last = 2 * UNIT * norm(abs(weight) * root + abs(bias))
    offset = norm(image.centre - point)
    return float(offset + image.length() + abs(weight).max() * (bend + rounded) + last)


class Network:
    """The maps of an LDRU with MLP operator and ReLU, on sets of vectors."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self.weights = {name: np.asarray(w, dtype=np.float64) for name, w in weights.items()}

    def layer(self, name: str) -> tuple[Array, Array]:
        return self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]

    def block(self, x: Vectors, name: str, point: Array) -> float:
        """How far from a point LayerNorm(x + FFN(x)) can come."""
        update = linear(relu(linear(x, *self.layer(f"{name}.up"))), *self.layer(f"{name}.down"))
        both = Vectors(x.centre + update.centre, x.padded(update) + update.columns, x.dim)
        both = both.like(both.centre, both.columns, UNIT * both.size())
        return farthest(both, *self.layer(f"{name}.norm"), point)

    def operator(self, pair: Vectors) -> Vectors:
        """What the operator makes of two neighbours, one behind the other."""
        layers = {
            name: self.layer(f"encoder.operator.{name}")
            for name in ("expand", "hidden", "gates", "left", "right", "out")
        }
        hidden = relu(linear(relu(linear(pair, *layers["expand"])), *layers["hidden"]))
        gated = product(pair, linear(hidden, *layers["gates"]))
        (left, bias_left), (right, bias_right) = layers["left"], layers["right"]
        return linear(
            linear(gated, np.hstack([left, right]), bias_left, bias_right), *layers["out"]
        )


def check(weights: Mapping[str, Array], certificate: dict) -> tuple[float, float]:
    """The largest distance of a node from its point, and the least lead of a label."""
    network = Network(weights)
    points, radius = np.array(certificate["points"]), certificate["radius"]
    dim, tables = points.shape[1], certificate["algebra"]
    ball, none = radius * np.eye(dim), np.zeros((dim, dim))
    leaves, goals = network.weights["embedding.weight"], points[tables["leaf"]]
    distances = [float(norm(leaves - goals, axis=1).max())]
    if "encoder.leaf_block.up.weight" in network.weights:
        exact = np.hstack([none, none])
        distances = [
            network.block(Vectors(leaf, exact, dim), "encoder.leaf_block", goal)
            for leaf, goal in zip(leaves, goals, strict=True)
        ]
    for state, there in enumerate(tables["carry"]):
        if there >= 0:
            alone = Vectors(points[state], np.hstack([ball, none]), dim)
            distances.append(network.block(alone, "encoder.block", points[there]))
    for left, right in zip(*np.nonzero(np.array(tables["pair"]) >= 0), strict=True):
        both = Vectors(np.hstack([points[left], points[right]]), radius * np.eye(2 * dim), dim)
        goal = points[tables["pair"][left][right]]
        distances.append(network.block(network.operator(both), "encoder.block", goal))
    weight, bias = network.layer("head")
    leads = []
    for point, label in zip(points, tables["answer"], strict=True):
        error = 2 * (dim + 4) * UNIT * (abs(weight) @ (abs(point) + radius) + abs(bias)).max()
        apart = weight[label] - weight
        lead = apart @ point + bias[label] - bias - radius * norm(apart, axis=1) - error
        leads.append(np.delete(lead, label).min())
    return max(distances), min(leads)


def main() -> None:
    folder = Path(sys.argv[1])
    certificate: dict[str, Json] = json.loads((folder / "certificate.json").read_text())
    weights = load_tensors(folder / "weights.safetensors")[0]
    distance, lead = check({name: w.numpy() for name, w in weights.items()}, certificate)
    radius = certificate["radius"]
    holds = distance < radius and lead > 0  # type: ignore[operator]
    print(
        f"{'holds' if holds else 'DOES NOT HOLD'}: nodes come within {distance:.4f} of their "
        f"points, the radius is {radius}; labels lead by {lead:.2f}"
    )
    sys.exit(not holds)


if __name__ == "__main__":
    main()
