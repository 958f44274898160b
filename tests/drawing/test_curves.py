"""Accuracy by length, as it is drawn."""

import numpy as np

from ldru.drawing.curves import Curve, curves_figure


def lines(shares, lengths):
    ones = [1.0] * len(lengths)
    curve = Curve(lengths=lengths, accuracy=ones, low=ones, high=ones, majority_share=shares)
    (axes,) = curves_figure({"mine": curve}, max_length=40).axes
    return {line.get_label(): line for line in axes.lines}


def test_the_majority_share_is_one_quiet_line():
    lengths = list(range(1, 201))
    noise = 0.5 + 0.1 * np.random.default_rng(0).random(200)
    found = lines(noise.tolist(), lengths)["majority share"]
    drawn = np.asarray(found.get_ydata())
    assert np.asarray(found.get_xdata()).tolist() == lengths
    assert drawn.std() < 0.2 * (100 * noise).std()
    assert abs(drawn.mean() - 100 * noise.mean()) < 0.5


def test_even_and_odd_lengths_are_apart_where_they_differ():
    lengths = list(range(41, 101))
    shares = [0.5 if length % 2 == 0 else 1.0 for length in lengths]
    found = lines(shares, lengths)
    even = found["majority share, even lengths"]
    odd = found["majority share, odd lengths"]
    assert set(even.get_ydata()) == {50.0}
    assert set(odd.get_ydata()) == {100.0}
    assert list(even.get_xdata()) == list(range(42, 101, 2))


def test_few_lengths_are_drawn_as_they_are():
    found = lines([0.5, 0.75, 0.5], [50, 100, 150])["majority share"]
    assert len(found.get_xdata()) == 3
