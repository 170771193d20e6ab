"""Skewed choice: a few values are frequent, most are rare (Zipf).

P(k) ∝ 1 ÷ (k + 1)^exponent,  k = 0 … choices − 1
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from penstock.errors import ArrivalError

MOST_CHOICES = 1_000_000
"""The maximum length of the table of probabilities."""


def zipf(random: np.random.Generator, exponent: float, choices: int, count: int) -> npt.NDArray[np.int64]:
    """Return `count` numbers below `choices`, 0 the most frequent.

    >>> drawn = zipf(np.random.Generator(np.random.PCG64(1)), exponent=2.0, choices=3, count=49_000)
    >>> (np.bincount(drawn) / 1000).round().tolist()  # 1 : 1/4 : 1/9
    [36.0, 9.0, 4.0]
    """
    if choices > MOST_CHOICES:
        raise ArrivalError(f"a skewed choice can have at most {MOST_CHOICES} values, not {choices}")
    return np.searchsorted(_table(exponent, choices), random.random(count), side="right")


@lru_cache(maxsize=8)
def _table(exponent: float, choices: int) -> npt.NDArray[np.float64]:
    """Return the probability of k or less, for every k but the last."""
    weights = np.arange(1, choices + 1, dtype=np.float64) ** -exponent
    table: npt.NDArray[np.float64] = weights.cumsum() / weights.sum()
    return table[:-1]
