"""Sets of vectors, and sets that hold all that an LDRU's layers make of them, rounding included.

The vectors of a set are

    centre + left u + right v + box w      with |u| <= radius, |v| <= radius, every |w_i| <= 1

where u and v say how far two neighbours are from centres of their own. A linear layer maps such a
set exactly. Anything else (a unit that may be on or off, a product of two deviations, a rounded
sum) is bounded by a new column of the box, so that later layers may undo what earlier ones did.

The bounds hold for computations in float32, with sums in any order. They are computed in float64,
whose own rounding lies far below the slack that a certificate must have.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldru.layers.norm import EPSILON, AddNorm
from ldru.layers.residual_block import ResidualBlock
from ldru.operators.mlp import MLPOperator

UNIT = 2.0**-24
"""The largest relative error of one operation in float32."""

SQUARINGS = 5


def rounding(operations: int) -> float:
    """How far so many rounded operations can be off, relative to the sizes of what they add up."""
    return operations * UNIT / (1 - operations * UNIT)


def spectral_bound(matrix: Tensor) -> Tensor:
    """At least the largest singular value, and at most 4 % more at 64 columns: -> [...].

    |A| = |S^k|^(1/2k) with S = A^T A, here k = 2^5; a Frobenius norm is never below the norm.
    """
    power = matrix.mT @ matrix
    logarithm = torch.zeros_like(power[..., 0, 0])
    for number in range(SQUARINGS + 1):
        # Each power is scaled to one, so that nothing leaves the range of numbers.
        size = power.flatten(-2).norm(dim=-1).clamp_min(torch.finfo(power.dtype).tiny)
        logarithm = logarithm + size.log() / 2 ** (number + 1)
        power = power / size[..., None, None]
        power = power @ power
    return logarithm.exp()


@dataclass(frozen=True, kw_only=True, eq=False)
class VectorSet:
    """Sets of vectors, one for each row of a batch; see the module.

    centre: [batch, dim]; left, right: [batch, dim, inputs]; box: [batch, dim, columns].
    """

    centre: Tensor
    left: Tensor
    right: Tensor
    box: Tensor
    radius: float

    @property
    def reach(self) -> Tensor:
        """How far each coordinate can be from the centre's: -> [batch, dim]."""
        balls = self.left.norm(dim=-1) + self.right.norm(dim=-1)
        return self.radius * balls + self.box.abs().sum(dim=-1)

    @property
    def size(self) -> Tensor:
        """The largest absolute value of each coordinate: -> [batch, dim]."""
        return self.centre.abs() + self.reach

    @property
    def farthest(self) -> Tensor:
        """How far a vector can be from the centre: -> [batch]."""
        balls = spectral_bound(self.left) + spectral_bound(self.right)
        return self.radius * balls + self.box.abs().sum(dim=-1).norm(dim=-1)

    def mapped(self, matrix: Tensor) -> "VectorSet":
        """All vectors times a matrix [outputs, dim], or one for each row [batch, outputs, dim]."""
        return replace(
            self,
            centre=(matrix @ self.centre[..., None])[..., 0],
            left=matrix @ self.left,
            right=matrix @ self.right,
            box=matrix @ self.box,
        )

    def scaled(self, factor: Tensor) -> "VectorSet":
        """Every coordinate times its factor [batch, dim]."""
        each = factor[..., None]
        return replace(
            self,
            centre=factor * self.centre,
            left=each * self.left,
            right=each * self.right,
            box=each * self.box,
        )

    def moved(self, offset: Tensor) -> "VectorSet":
        """All vectors plus an offset [batch, dim]."""
        return replace(self, centre=self.centre + offset)

    def widened(self, error: Tensor) -> "VectorSet":
        """Every coordinate may be off by so much more [batch, dim], in columns of their own."""
        return replace(self, box=torch.cat([self.box, torch.diag_embed(error)], dim=-1))

    def plus(self, other: "VectorSet") -> "VectorSet":
        """Sums of vectors that came from the same pair of neighbours.

        Columns in one place are the same; a set with more of them was widened since.
        """
        columns = max(self.box.shape[-1], other.box.shape[-1])
        boxes = [functional.pad(x.box, (0, columns - x.box.shape[-1])) for x in (self, other)]
        return replace(
            self,
            centre=self.centre + other.centre,
            left=self.left + other.left,
            right=self.right + other.right,
            box=boxes[0] + boxes[1],
        )

    def part(self, begin: int, end: int) -> "VectorSet":
        """Some coordinates of the vectors."""
        return replace(
            self,
            centre=self.centre[:, begin:end],
            left=self.left[:, begin:end],
            right=self.right[:, begin:end],
            box=self.box[:, begin:end],
        )


class Bounded(NamedTuple):
    """Sets of vectors, and how far outside of them vectors may lie [batch]."""

    inside: VectorSet
    outside: Tensor

    def farthest_from(self, points: Tensor) -> Tensor:
        """How far a vector can be from points [batch, dim]: -> [batch]."""
        offset = (self.inside.centre - points).norm(dim=-1)
        return offset + self.inside.farthest + self.outside


def balls(centres: Tensor, *, radius: float) -> VectorSet:
    """A ball around each centre: [batch, dim] -> sets of vectors [dim]."""
    batch, dim = centres.shape
    eye = torch.eye(dim, dtype=centres.dtype, device=centres.device).expand(batch, dim, dim)
    none = torch.zeros_like(eye)
    return VectorSet(centre=centres, left=eye, right=none, box=none[..., :0], radius=radius)


def pairs_of_balls(left: Tensor, right: Tensor, *, radius: float) -> VectorSet:
    """A ball around each of two neighbours: [batch, dim] twice -> sets of vectors [2 dim]."""
    first, second = balls(left, radius=radius), balls(right, radius=radius)
    return VectorSet(
        centre=torch.cat([left, right], dim=1),
        left=torch.cat([first.left, first.right], dim=1),
        right=torch.cat([second.right, second.left], dim=1),
        box=torch.cat([first.box, second.box], dim=1),
        radius=radius,
    )


def through_operator(pair: VectorSet, operator: MLPOperator) -> VectorSet:
    """The MLP operator on pairs of neighbours."""
    dim = operator.dim
    hidden = _through_relu(_through_relu(pair, operator.expand), operator.hidden)
    gates, error = _linear(hidden, operator.gates)
    gated = _product(gates.widened(error), pair)
    left, error_left = _linear(gated.part(0, dim), operator.left)
    right, error_right = _linear(gated.part(dim, 2 * dim), operator.right)
    sums = left.plus(right)
    sums = sums.widened(error_left + error_right + UNIT * (sums.size + error_left + error_right))
    out, error = _linear(sums, operator.out)
    return out.widened(error)


def through_block(x: VectorSet, block: ResidualBlock) -> Bounded:
    """The block of a tree: LayerNorm(h + FFN(h))."""
    update, error = _linear(_through_relu(x, block.up), block.down)
    sums = x.plus(update)
    return _through_norm(sums.widened(error + UNIT * (sums.size + error)), block.norm)


def _linear(x: VectorSet, layer: nn.Linear) -> tuple[VectorSet, Tensor]:
    """W x + b, and how far rounding can be off: -> sets, [batch, outputs]."""
    weight, bias = layer.weight.double(), layer.bias.double()
    error = rounding(layer.in_features + 1) * (x.size @ weight.abs().mT + bias.abs())
    return x.mapped(weight).moved(bias), error


def _through_relu(x: VectorSet, layer: nn.Linear) -> VectorSet:
    """max(W x + b, 0): exact where a unit's sign is known, else a narrowest strip about a line."""
    units, error = _linear(x, layer)
    reach = units.reach + error
    low, high = units.centre - reach, units.centre + reach
    is_open = (low < 0) & (high > 0)
    slope = torch.where(is_open, high / (high - low), (low >= 0).to(low.dtype))
    half = torch.where(is_open, -slope * low / 2, 0)
    return units.scaled(slope).moved(half).widened(half + slope * error)


def _product(x: VectorSet, y: VectorSet) -> VectorSet:
    """x y, coordinate by coordinate: x0 y + (x - x0) y0 + (x - x0) (y - y0)."""
    deviation = replace(x, centre=torch.zeros_like(x.centre))
    error = x.reach * y.reach + UNIT * x.size * y.size
    return y.scaled(x.centre).plus(deviation.scaled(y.centre)).widened(error)


def _through_norm(x: VectorSet, layer: AddNorm) -> Bounded:
    """weight sqrt(d) p / |q| + bias, with p = x - mean(x) and q = (p, sqrt(d epsilon)).

    It is followed along its derivative at the centre. The second derivative of q / |q| is at most
    2 / sqrt(3) / |q|^2, so the rest is at most |step|^2 / sqrt(3) / |q|^2, at the least |q|.
    """
    dim, weight, bias = layer.dim, layer.weight.double(), layer.bias.double()
    eye = torch.eye(dim, dtype=weight.dtype, device=weight.device)
    p = x.mapped(eye - 1 / dim)
    length = (p.centre.square().sum(dim=-1) + dim * EPSILON).sqrt()
    direction = p.centre / length[:, None]
    across = eye - direction[:, :, None] * direction[:, None, :]
    slopes = weight[:, None] * across * (dim**0.5 / length)[:, None, None]
    inside = replace(p.mapped(slopes), centre=weight * dim**0.5 * direction + bias)
    step = p.farthest
    shortest = (length - step).clamp_min(0)
    rest = dim**0.5 * step.square() / 3**0.5 / shortest.square()
    # In units of the deviation: mean and variance add up terms of this size, and of its square.
    size = x.size.amax(dim=-1) * dim**0.5 / shortest
    rounded = dim**0.5 * rounding(2 * dim + 8) * (1 + size + size.square())
    last = 2 * UNIT * (weight.abs() * dim**0.5 + bias.abs()).norm()
    return Bounded(inside, weight.abs().max() * (rest + rounded) + last)
