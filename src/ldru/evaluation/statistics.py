"""How sure one can be of an accuracy, and of a difference between two models."""

import math
import statistics
from collections.abc import Sequence

from ldru.base.errors import MissingExtraError

Z = 1.959964
"""Of a 95 % interval."""


def wilson_interval(correct: int, words: int, *, z: float = Z) -> tuple[float, float]:
    """Wilson's interval for a share, 95 % by default."""
    share = correct / words
    middle = (share + z * z / (2 * words)) / (1 + z * z / words)
    spread = math.sqrt(share * (1 - share) / words + z * z / (4 * words * words))
    half = z / (1 + z * z / words) * spread
    # Rounding must not push an end past what was seen.
    return min(max(0.0, middle - half), share), max(min(1.0, middle + half), share)


def p_value(differences: Sequence[float]) -> float:
    """Two-sided, of the mean being zero; both of the paper's tests are this one.

    (Where the reference is 100.0 for every seed, the difference to it is that to the constant.)
    """
    try:
        from scipy import stats
    except ImportError as problem:
        raise MissingExtraError(package="scipy", extra="") from problem
    count = len(differences)
    mean, spread = statistics.mean(differences), statistics.stdev(differences)
    if spread == 0:
        return 1.0 if mean == 0 else 0.0
    statistic = mean / (spread / math.sqrt(count))
    return float(2 * stats.t.sf(abs(statistic), count - 1))
