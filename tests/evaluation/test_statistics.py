"""Intervals and tests against other ways to compute them."""

import pytest
from scipy import stats

from ldru.evaluation.statistics import p_value, wilson_interval


@pytest.mark.parametrize(("correct", "words"), [(0, 9), (9, 9), (3, 11), (500, 512)])
def test_the_interval_is_wilsons(correct, words):
    want = stats.binomtest(correct, words).proportion_ci(0.95, method="wilson")
    assert wilson_interval(correct, words) == pytest.approx((want.low, want.high), abs=1e-6)


def test_the_p_value_is_that_of_a_one_sample_t_test():
    differences = [-0.3, 0.1, -0.9, -0.2]
    assert p_value(differences) == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert p_value([0.0, 0.0]) == 1
    assert p_value([-2.0, -2.0]) == 0
