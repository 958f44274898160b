import numpy as np
import pytest
import torch
from scipy import stats

from ldru.base.randomness import Stream, beginning_at, below, bits, fold, seed_key, words

# ---- the same hash in unsigned numpy arithmetic ----


def mix(x):
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
    x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def numpy_fold(key, word):
    offsets = np.array([0x9E3779B9, 0x7F4A7C15], dtype=np.uint32)
    return mix(key ^ mix(np.uint32(word % 2**32) + offsets))


def numpy_seed_key(seed):
    root = np.array([0x243F6A88, 0x13198A2E], dtype=np.uint32)
    return numpy_fold(numpy_fold(root, seed), seed >> 32)


def numpy_words(key, count):
    return mix(np.arange(count, dtype=np.uint32) * (key[1] | np.uint32(1)) + key[0])


@pytest.mark.parametrize("seed", [0, 1, 123456789, 2**40 + 5])
@pytest.mark.parametrize("count", [1, 7, 8, 1000])
def test_bits_equal_unsigned_arithmetic(seed, count):
    key = fold(fold(seed_key(seed), Stream.TOKENS), torch.tensor(77))
    expected = numpy_fold(numpy_fold(numpy_seed_key(seed), Stream.TOKENS), 77)
    assert (key.numpy().view(np.uint32) == expected).all()
    assert (words(key, (count,)).numpy() == numpy_words(expected, count)).all()


def test_keys_fold_side_by_side():
    together = fold(seed_key([3, 4, 5]), torch.tensor(9))
    assert torch.equal(together[1], fold(seed_key(4), 9))
    rows = fold(seed_key(4)[None], torch.arange(5))
    assert torch.equal(rows[3], fold(seed_key(4), 3))
    assert torch.equal(words(together, (2, 3))[1], words(together[1], (2, 3)))
    assert torch.equal(bits(seed_key(1), 5, begin=10), bits(seed_key(1), 15)[10:])


def test_a_key_that_begins_at_a_place_has_the_bits_from_there():
    keys, places = seed_key([3, 4, 5]), torch.tensor([0, 7, 5 * 2**24 + 1])
    found = bits(beginning_at(keys, places), 6)
    for row, place in enumerate(places.tolist()):
        assert torch.equal(found[row], bits(keys[row], 6, begin=place))


def test_bits_pass_simple_statistics():
    draws = words(seed_key(1), (1_000_000,)).numpy()
    # Each of the 32 bits is fair, and so is each byte.
    ones = ((draws[:, None] >> np.arange(32)) & 1).sum(axis=0)
    assert np.abs(ones - 500_000).max() < 6 * 500
    for shift in (0, 8, 16, 24):
        counts = np.bincount((draws >> shift) & 255, minlength=256)
        assert stats.chisquare(counts).pvalue > 1e-4
    # Neighbours are uncorrelated, also as pairs of the top four bits.
    unit = draws / 2**32
    assert abs(np.corrcoef(unit[:-1], unit[1:])[0, 1]) < 6e-3
    pairs = (draws[:-1:2] >> 28) * 16 + (draws[1::2] >> 28)
    assert stats.chisquare(np.bincount(pairs, minlength=256)).pvalue > 1e-4


def test_neighbouring_keys_are_unrelated():
    """Keys that differ in one step, seed or stream: same index, uncorrelated words."""
    by_step = fold(fold(seed_key(0), Stream.DROPOUT)[None], torch.arange(100_000))
    by_seed = fold(seed_key(list(range(100_000))), Stream.DROPOUT)
    for keys in (by_step, by_seed):
        draws = words(keys, (2,)).numpy()
        for column in draws.T:
            assert stats.chisquare(np.bincount(column >> 24, minlength=256)).pvalue > 1e-4
            unit = column / 2**32
            assert abs(np.corrcoef(unit[:-1], unit[1:])[0, 1]) < 0.02
        assert len(np.unique(draws[:, 0] * 2**32 + draws[:, 1])) == len(draws)


def test_one_changed_input_bit_changes_half_of_the_output():
    index = torch.arange(20_000)
    before = words(fold(seed_key(7)[None], index), (1,))
    for bit in range(0, 32, 5):
        after = words(fold(seed_key(7)[None], index ^ (1 << bit)), (1,))
        changed = (before ^ after).numpy()[:, 0]
        flips = ((changed[:, None] >> np.arange(32)) & 1).mean(axis=0)
        assert np.abs(flips - 0.5).max() < 0.03


def test_below_is_uniform():
    draws = below(seed_key(5), 7, (70_000,))
    assert stats.chisquare(np.bincount(draws.numpy(), minlength=7)).pvalue > 1e-4
