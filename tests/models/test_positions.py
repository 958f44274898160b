import math

import pytest
import torch

from ldru.base.errors import LdruError
from ldru.base.randomness import bits, fold, seed_key
from ldru.models.positions import (
    LIMIT,
    Alibi,
    RandomPositions,
    RandomRotary,
    Sinusoidal,
    alibi_slopes,
    rotate,
)


def words(length, dim=8):
    return torch.randn(3, length, dim, dtype=torch.double)


def test_alibi_falls_with_the_distance_and_the_left_is_half_a_place_nearer():
    bias = Alibi(num_blocks=1, num_heads=8, width=1).bias(words(9))
    for head in range(8):
        for to in range(9):
            for source in range(9):
                distance = to - source - 0.5 if source < to else source - to
                expected = -(2.0 ** -(head + 1)) * distance
                assert bias[head, to, source].item() == pytest.approx(expected, abs=1e-15)


def test_the_slopes_of_alibi_are_geometric_or_interleaved():
    """Worked out by hand for one to six heads."""
    assert alibi_slopes(1) == [2**-8]
    assert alibi_slopes(2) == [2**-4, 2**-8]
    assert alibi_slopes(3) == [2**-4, 2**-8, 2**-2]
    assert alibi_slopes(4) == [2**-2, 2**-4, 2**-6, 2**-8]
    assert alibi_slopes(6) == [2**-2, 2**-4, 2**-6, 2**-8, 2**-1, 2**-3]


def test_the_original_alibi_has_sides_alike_and_geometric_slopes():
    bias = Alibi(num_blocks=1, num_heads=6, width=1, variant="original").bias(words(5))
    assert torch.equal(bias, bias.mT)
    slope = -bias[:, 0, 1]
    torch.testing.assert_close(slope[1:] / slope[:-1], torch.full((5,), 2.0 ** (-8 / 6)).double())
    assert slope[-1].item() == pytest.approx(2**-8)


@pytest.mark.parametrize("variant", ["benchmark", "original"])
@pytest.mark.parametrize("lengths", [None, (30, 1, 12)])
def test_sinusoidal_adds_waves_of_the_place(variant, lengths):
    """The benchmark counts down to 1 at the end of each word, the original up from 0."""
    x = words(30)
    encoding = Sinusoidal(num_blocks=1, num_heads=2, width=4, variant=variant)
    added = encoding.embed(x, None if lengths is None else torch.tensor(lengths)) - x
    for row, length in zip(added, lengths or (30, 30, 30), strict=True):
        for place in range(length):
            number = length - place if variant == "benchmark" else place
            for channel in range(4):
                angle = number / 10_000 ** (channel / 4)
                assert row[place, channel].item() == pytest.approx(math.sin(angle), abs=1e-12)
                assert row[place, channel + 4].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_an_unknown_variant_is_one_clear_error():
    with pytest.raises(LdruError, match=r"unknown variant 'mine'.*benchmark, original"):
        Alibi(num_blocks=1, num_heads=8, width=1, variant="mine")


def test_rotary_scores_depend_on_differences_of_positions_alone():
    query, key = torch.randn(2, 3, 2, 7, 6, dtype=torch.double)
    frequencies = torch.tensor([1.0, 0.3, 0.01], dtype=torch.double)
    positions = torch.tensor([[0, 3, 4, 9, 11, 40, 500]], dtype=torch.double)

    def scores(shift):
        angles = (positions + shift)[..., None] * frequencies
        return rotate(query, angles) @ rotate(key, angles).mT

    torch.testing.assert_close(scores(0), scores(123))
    assert not torch.allclose(scores(0), query @ key.mT)
    # Turning changes no length, and position 0 changes nothing.
    angles = positions[..., None] * frequencies
    torch.testing.assert_close(rotate(query, angles).norm(dim=-1), query.norm(dim=-1))
    torch.testing.assert_close(rotate(query, angles)[:, :, 0], query[:, :, 0])


def test_rotary_frequencies_have_base_10000():
    encoding = RandomRotary(num_blocks=2, num_heads=2, width=8).eval()
    for block in range(2):
        angles = encoding.angles(words(50), None, block=block)
        positions = encoding.draws[block](50)
        for pair in range(4):
            expected = positions.double() / 10_000 ** (pair / 4)
            torch.testing.assert_close(angles[..., pair], expected)


@pytest.mark.parametrize("is_training", [False, True])
@pytest.mark.parametrize("length", [1, 2, 41, 700, LIMIT])
def test_positions_are_distinct_sorted_and_below_the_limit(is_training, length):
    positions = RandomPositions(number=0).train(is_training)(length)
    assert positions.shape == (1, length)
    assert (positions.diff() > 0).all()
    assert positions.min() >= 0
    assert positions.max() < LIMIT


def test_positions_are_the_stated_function_of_key_and_own_length():
    layer = RandomPositions(number=3)
    layer.keys = fold(seed_key(5)[None], torch.arange(4))
    lengths = torch.tensor([1, 3, 8, 10])

    def expected(key, length):
        value = bits(key, LIMIT).tolist()
        return sorted(sorted(range(LIMIT), key=lambda position: value[position])[:length])

    for is_training, key in ((True, layer.keys[0]), (False, fold(seed_key(0), 3))):
        positions = layer.train(is_training)(10, lengths)
        for row, length in zip(positions.tolist(), lengths.tolist(), strict=True):
            assert row[:length] == expected(key, length)
            assert row[length:] == [LIMIT] * (10 - length)
            assert layer(length).tolist() == [expected(key, length)]


def test_draws_differ_in_training_and_repeat_in_evaluation():
    layer, other = RandomPositions(number=0), RandomPositions(number=1)
    assert not torch.equal(layer(20), layer(20))
    before = torch.get_rng_state()
    assert torch.equal(layer.eval()(20), layer(20))
    assert not torch.equal(layer(20), other.eval()(20))
    assert torch.equal(before, torch.get_rng_state())
    assert not layer.state_dict()


def test_positions_are_spread_evenly():
    layer = RandomPositions(number=0)
    torch.manual_seed(0)
    drawn = torch.cat([layer(16)[0] for _ in range(500)])
    counts = drawn.bincount(minlength=LIMIT).reshape(8, -1).sum(dim=1)
    assert (counts - 1000).abs().max() < 5 * 1000**0.5


def test_too_long_a_word_and_odd_widths_are_clear_errors():
    with pytest.raises(LdruError, match=r"at most 2047.*got words padded to 2048"):
        RandomPositions(number=0)(LIMIT + 1)
    with pytest.raises(LdruError, match="even dim_of_a_head, got 3"):
        RandomRotary(num_blocks=1, num_heads=2, width=3)
    with pytest.raises(LdruError, match="even dim, got 9"):
        Sinusoidal(num_blocks=1, num_heads=3, width=3)
