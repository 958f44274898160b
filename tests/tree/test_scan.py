import pytest
import torch

import ldru
from ldru.operators import OPERATORS, build_operator
from ldru.tree.reference import reduce_word

LONGEST = 70


def words(batch=2, length=LONGEST, dim=4):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(batch, length, dim, dtype=torch.double, generator=generator)


def operator_named(name):
    torch.manual_seed(1)
    return build_operator(name, dim=4, activation="relu").double()


def finish(nodes):
    """Like the residual block, it changes risen nodes, too."""
    return torch.tanh(nodes + 0.3)


def by_loop(combine, x, finish):
    """Every prefix alone, by the recursive definition."""
    return torch.stack(
        [
            torch.stack([reduce_word(combine, word[:end], finish) for word in x])
            for end in range(1, x.shape[1] + 1)
        ],
        dim=1,
    )


@pytest.mark.parametrize("last", [None, finish], ids=["bare", "finished"])
@pytest.mark.parametrize("name", OPERATORS)
def test_every_entry_is_the_reduction_of_its_prefix(name, last):
    combine, x = operator_named(name), words()
    with torch.no_grad():
        want = by_loop(combine, x, last)
        for length in range(1, LONGEST + 1):
            got = ldru.tree_scan(combine, x[:, :length], finish=last)
            torch.testing.assert_close(got, want[:, :length], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", OPERATORS)
def test_gradients_are_those_of_the_loop(name):
    combine, x = operator_named(name), words(length=21).requires_grad_()
    weights = words(length=21) - 1
    inputs = [x, *combine.parameters()]
    got = (ldru.tree_scan(combine, x, finish=finish) * weights).sum()
    want = (by_loop(combine, x, finish) * weights).sum()
    pairs = zip(torch.autograd.grad(got, inputs), torch.autograd.grad(want, inputs), strict=True)
    for found, expected in pairs:
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("order", ["balanced", "blelloch"])
@pytest.mark.parametrize("garbage", [0.0, float("nan"), float("inf")])
def test_padding_never_leaks(garbage, order):
    def shaky(left, right):
        """No finite derivative at zero."""
        return (left.abs().sqrt() + right.abs().sqrt()) * 0.5 + 1

    x, lengths = words(batch=5, length=9).abs() + 0.5, torch.tensor([1, 2, 5, 8, 9])
    is_real = torch.arange(9) < lengths[:, None]
    padded = torch.where(is_real[..., None], x, garbage).requires_grad_()
    got = ldru.tree_scan(shaky, padded, lengths, finish=finish, order=order)
    (gradient,) = torch.autograd.grad(got.square().sum(), padded)
    for row, length in enumerate(lengths.tolist()):
        word = x[row : row + 1, :length].clone().requires_grad_()
        want = ldru.tree_scan(shaky, word, finish=finish, order=order)
        (of_word,) = torch.autograd.grad(want.square().sum(), word)
        torch.testing.assert_close(got[row, :length], want[0], rtol=0, atol=1e-12)
        torch.testing.assert_close(gradient[row, :length], of_word[0], rtol=0, atol=1e-12)
    assert not got[~is_real].any()
    assert not gradient[~is_real].any()


@pytest.mark.parametrize("length", [*range(1, 18), 64, 65, 100])
def test_both_orders_agree_for_matrices(length):
    """Products of matrices are associative, but not commutative."""

    def product(left, right):
        return (left.unflatten(-1, (2, 2)) @ right.unflatten(-1, (2, 2))).flatten(-2)

    x = words(length=length) / 1.5
    cheap = ldru.tree_scan(product, x, order="blelloch")
    torch.testing.assert_close(cheap, ldru.tree_scan(product, x), rtol=1e-9, atol=1e-12)
    assert ldru.scan_gap(product, x).max() < 1e-9


@pytest.mark.parametrize(("order", "bound"), [("balanced", "n/2 log n"), ("blelloch", "2n")])
@pytest.mark.parametrize("length", [2, 3, 7, 16, 33, 100])
def test_the_number_of_merges(order, bound, length):
    merges = []

    def combine(left, right):
        merges.append(left.shape[1])
        return left + right

    ldru.tree_scan(combine, words(length=length), order=order)
    depth = (length - 1).bit_length()
    if bound == "2n":
        assert sum(merges) <= 2 * length
        assert len(merges) <= 2 * depth
    else:
        assert sum(merges) == sum(bin(number).count("1") for number in range(length))
        assert len(merges) == depth


def test_the_gap_shows_an_operator_that_is_not_associative():
    gap = ldru.scan_gap(lambda left, right: left - right / 2, words(length=12))
    assert gap[:, :6].max() < 1e-12  # the brackets are still the same
    assert gap[:, 6].min() > 0


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (torch.zeros(2, 0, 3), {}, "at least 1"),
        (torch.zeros(2, 3, 4), {"lengths": torch.tensor([0, 3])}, "between 1 and the padded"),
        (torch.zeros(2, 3, 4), {"order": "sklansky"}, "unknown order of a scan 'sklansky'"),
    ],
)
def test_bad_words_are_one_clear_error(x, options, message):
    with pytest.raises(ldru.LdruError, match=message):
        ldru.tree_scan(torch.add, x, **options)
