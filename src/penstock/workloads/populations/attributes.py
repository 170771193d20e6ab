"""Attributes of the tuples in SCLP08's experiments: two values in 1 … 100, which predicates read (§8, §9.5).

    attribute in [0, 1) = (value − 1) ÷ 100, circular: 101 is 1 again

One column for selects, one for joins; `Predicate` reads them on [0, 1).
"""

import numpy as np
import numpy.typing as npt

from penstock.workloads.checks import generator, number, whole

Attributes = npt.NDArray[np.float64]
"""One row per tuple, one column per attribute, in [0, 1)."""

COLUMNS = 2


def uniform_values(count: int, seed: int) -> Attributes:
    """Return uniform attributes of `count` tuples: every predicate has the selectivity of its operator (§8).

    >>> uniform_values(3, seed=1).round(2).tolist()
    [[0.51, 0.95], [0.14, 0.95], [0.31, 0.42]]
    """
    return generator(seed).random((whole(count, "the number of tuples"), COLUMNS))


def drifting_gaussian(count: int, seed: int, deviation: float, intervals: int = 100) -> Attributes:
    """Return attributes of `count` tuples that are Gaussian, with a mean that drifts (§9.5).

    The tuples are divided into equal intervals; in the first the mean is 50, and one more in each that follows.
    Both attributes have the same mean and are independent. The paper does not say what happens to a value above
    100 or below 1 (the mean itself reaches 149): here the domain is circular, so the mean keeps drifting, and a
    predicate that nothing passes for a while passes tuples again later.

    >>> drifting_gaussian(4, seed=1, deviation=0.001, intervals=2).round(2).tolist()
    [[0.49, 0.49], [0.49, 0.49], [0.5, 0.5], [0.5, 0.5]]
    """
    tuples = whole(count, "the number of tuples")
    parts = whole(intervals, "the number of intervals", least=1)
    spread = number(deviation, "the standard deviation", at_least=0)
    mean = 50.0 + np.arange(tuples) * parts // max(tuples, 1)
    values = mean[:, None] + spread * generator(seed).standard_normal((tuples, COLUMNS))
    circular: Attributes = ((values - 1) / 100) % 1.0
    return np.where(circular < 1, circular, 0.0)  # −1e−20 % 1 is 1 in doubles
