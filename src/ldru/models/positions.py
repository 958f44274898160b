"""Position encodings of the transformer: how the places of a word enter it."""

import math

import torch
from torch import Tensor, nn

from ldru.base.errors import LdruError, unknown_name
from ldru.base.randomness import bits, fold, seed_key
from ldru.layers.dropout import Keyed
from ldru.models.words import is_word

BASE = 10_000
"""The slowest wave of the sinusoidal and rotary encodings is nearly this long, over 2 pi."""
LIMIT = 2048
"""Random positions lie below this."""

VARIANTS = ("benchmark", "original")


class Positions(nn.Module):
    """The three places of a transformer where an encoding can act; this one acts in none.

    In every method x is [batch, length, dim] and gives length, device and precision. Lengths count
    the token that the transformer appends.

    width: of a head.
    variant: "benchmark", as the code that the paper took its transformers from has it, or
        "original". Some encodings are alike in both.
    """

    is_added = False
    """Whether it is added to the embeddings, on whose sum there is dropout then."""

    def __init__(
        self, *, num_blocks: int, num_heads: int, width: int, variant: str = "benchmark"
    ) -> None:
        super().__init__()
        if variant not in VARIANTS:
            raise unknown_name("variant", variant, VARIANTS)
        self.num_blocks, self.num_heads, self.width = num_blocks, num_heads, width
        self.is_benchmarks = variant == "benchmark"

    def embed(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """Embeddings that know their place: -> [batch, length, dim]."""
        return x

    def bias(self, x: Tensor) -> Tensor | None:
        """A bias on the scores of every block: -> [heads, length, length]."""
        return None

    def angles(self, x: Tensor, lengths: Tensor | None, *, block: int) -> Tensor | None:
        """By how much the queries and keys of a block turn: -> [batch or 1, length, width / 2]."""
        return None


class NoPositions(Positions):
    """No encoding: a word is the set of its tokens (NoPE)."""


class Sinusoidal(Positions):
    """Waves of the place, added to the embeddings: half of the channels sines, half cosines.

    The benchmark counts places down, from the word's own length to 1, and has dropout on the sum;
    originally they are counted up from 0.
    """

    def __init__(
        self, *, num_blocks: int, num_heads: int, width: int, variant: str = "benchmark"
    ) -> None:
        super().__init__(num_blocks=num_blocks, num_heads=num_heads, width=width, variant=variant)
        _check_even(dim=num_heads * width)
        self.is_added = self.is_benchmarks

    def embed(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        places = torch.arange(x.shape[1], dtype=x.dtype, device=x.device)
        if self.is_benchmarks:
            places = (x.shape[1] if lengths is None else lengths[:, None]) - places
        angles = places[..., None] * _frequencies(x, width=x.shape[2])
        return x + torch.cat([angles.sin(), angles.cos()], dim=-1)


class Alibi(Positions):
    """Scores fall in proportion to the distance, to the left as to the right.

    In the benchmark tokens on the left are half a place nearer, so that the two sides differ, and
    the slopes of the heads follow `alibi_slopes`. Originally they are geometric, 2**(-8 / heads) to
    2**-8, for any number of heads, and the sides look the same.
    """

    slopes: Tensor

    def __init__(
        self, *, num_blocks: int, num_heads: int, width: int, variant: str = "benchmark"
    ) -> None:
        super().__init__(num_blocks=num_blocks, num_heads=num_heads, width=width, variant=variant)
        geometric = [2 ** (-8 * head / num_heads) for head in range(1, num_heads + 1)]
        chosen = alibi_slopes(num_heads) if self.is_benchmarks else geometric
        self.register_buffer("slopes", torch.tensor(chosen), persistent=False)

    def bias(self, x: Tensor) -> Tensor:
        places = torch.arange(x.shape[1], dtype=x.dtype, device=x.device)
        ahead = places - places[:, None]
        nearer = 0.5 if self.is_benchmarks else 0.0
        distance = torch.where(ahead < 0, -ahead - nearer, ahead)
        return -self.slopes.to(x.dtype)[:, None, None] * distance


def alibi_slopes(heads: int) -> list[float]:
    """The slopes of ALiBi: geometric for a power of two, 2**(-8 / heads) to 2**-8.

    Other numbers take those of the power of two below, and then every second one of the power
    above.
    """
    power = 1 << (heads.bit_length() - 1)
    found = [2 ** (-8 * place / power) for place in range(1, power + 1)]
    between = [2 ** (-8 * place / (2 * power)) for place in range(1, 2 * power + 1, 2)]
    return found + between[: heads - power]


class RandomRotary(Positions):
    """Queries and keys turn by random positions in rising order, drawn anew for every block."""

    def __init__(
        self, *, num_blocks: int, num_heads: int, width: int, variant: str = "benchmark"
    ) -> None:
        super().__init__(num_blocks=num_blocks, num_heads=num_heads, width=width, variant=variant)
        _check_even(dim_of_a_head=width)
        self.draws = nn.ModuleList(RandomPositions(number=block) for block in range(num_blocks))

    def angles(self, x: Tensor, lengths: Tensor | None, *, block: int) -> Tensor:
        positions = self.draws[block](x.shape[1], lengths)
        return positions[..., None] * _frequencies(x, width=self.width)


class RandomPositions(Keyed):
    """As many distinct numbers below `LIMIT` as a word is long, in rising order.

    A draw puts all numbers below `LIMIT` in a random order, and a word of n takes the first n: a
    function of a key and the word's own length, so that padding cannot change it. In training, the
    batch shares the key of its first word. In evaluation the key depends on `number` alone: there
    is one draw per block and length, the same in every run.
    """

    evaluation_key: Tensor

    def __init__(self, *, number: int) -> None:
        super().__init__()
        key = fold(seed_key(0), number)
        self.register_buffer("evaluation_key", key, persistent=False)

    def forward(self, length: int, lengths: Tensor | None = None) -> Tensor:
        """The positions: lengths [batch] -> [batch, length], or [1, length] for full words.

        Behind a word stands `LIMIT`.
        """
        if length > LIMIT:
            raise LdruError(
                f"there are {LIMIT} random positions, for words of at most {LIMIT - 1} tokens and "
                f"the appended one; got words padded to {length - 1}"
            )
        chosen = torch.argsort(bits(self._key(), LIMIT), stable=True)[None, :length]
        if lengths is not None:
            chosen = torch.where(is_word(lengths, length=length), chosen, LIMIT)
        return chosen.sort(dim=-1).values

    def _key(self) -> Tensor:
        if not self.training:
            return self.evaluation_key
        if self.keys is not None:
            return self.keys[0]
        device = self.evaluation_key.device
        return torch.randint(-(2**31), 2**31, (2,), dtype=torch.int32, device=device)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Turn every pair of neighbouring channels in its plane.

    x [batch, heads, length, width], angles [batch or 1, length, width / 2] -> as x.
    """
    cosine, sine = (part[:, None].to(x.dtype) for part in (angles.cos(), angles.sin()))
    first, second = x[..., 0::2], x[..., 1::2]
    turned = (first * cosine - second * sine, first * sine + second * cosine)
    return torch.stack(turned, dim=-1).flatten(start_dim=-2)


def _frequencies(x: Tensor, *, width: int) -> Tensor:
    """Radians per place, from 1 down to almost 1 / BASE: [width / 2]."""
    channels = torch.arange(0, width, 2, dtype=x.dtype, device=x.device)
    return torch.exp(channels * (-math.log(BASE) / width))


def _check_even(**sizes: int) -> None:
    for name, size in sizes.items():
        if size % 2:
            raise LdruError(f"this position encoding needs an even {name}, got {size}")


POSITIONS: dict[str, type[Positions]] = {
    "nope": NoPositions,
    "alibi": Alibi,
    "rope": RandomRotary,
    "sinusoidal": Sinusoidal,
}
"""Every encoding by its name."""
