"""Clusters of priorities (SCLP08 §6.2.1): a few values are compared instead of one for each unit."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.errors import PolicyError
from penstock.network import Number

ROUNDING = 1e-12
MOST = 10_000


@dataclass(frozen=True)
class Clusters:
    """`count` ranges of the static priority, of equal width ("uniform") or of equal ratio ("log").

    A unit takes the lower bound of its range as its priority. Ranges are half open, the last one closed. The
    ratio of a logarithmic range is ε = Δ^(1/m), from m = log Δ / log ε; the example of §6.2.1:

    >>> Clusters(2, "log").assign([1, 9, 10, 100])
    ([1.0, 1.0, 10.0, 10.0], [1, 1, 2, 2])
    >>> Clusters(2, "uniform").assign([1, 50, 51, 100])
    ([1.0, 1.0, 50.5, 50.5], [1, 1, 2, 2])
    """

    count: int
    spacing: Literal["log", "uniform"] = "log"
    together: bool = True
    """Whether all units of the chosen cluster take its oldest tuple (§6.2.3), or only the best of them."""

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or not 1 <= self.count <= MOST:
            raise PolicyError(
                f"clustered(m) needs a whole number of clusters from 1 to {MOST:,}, not {shown(self.count)}"
            )
        if self.spacing not in ("log", "uniform"):
            raise PolicyError(f"the spacing of clusters must be 'log' or 'uniform', not {shown(self.spacing)}")
        if not isinstance(self.together, bool):
            raise PolicyError(f"together must be True or False, not {shown(self.together)}")

    def assign(self, priorities: Sequence[Number]) -> tuple[list[float], list[int]]:
        """Return the pseudo priority and the cluster number of each unit.

        Clusters are counted from 1. A unit without a positive priority, which has no logarithm, is in cluster 0,
        at 0.
        """
        values = [float(value) for value in priorities]
        positive = [value for value in values if value > 0]
        if not positive:
            return [0.0] * len(values), [0] * len(values)
        bounds = self._bounds(min(positive), max(positive))
        # A value that differs from a bound only by rounding belongs to the range that begins there.
        numbers = [bisect_right(bounds, value * (1 + ROUNDING)) if value > 0 else 0 for value in values]
        return [bounds[number - 1] if number else 0.0 for number in numbers], numbers

    def _bounds(self, least: float, most: float) -> list[float]:
        if self.spacing == "log":
            ratio = most ** (1 / self.count) / least ** (1 / self.count)
            return [least * ratio**i for i in range(self.count)]
        width = (most - least) / self.count
        return [least + width * i for i in range(self.count)]


def shown(value: object) -> str:
    """Return a value for a message, cut to 40 characters.

    >>> shown(99999999999999999999), shown("x" * 100)[-5:], shown(10**5000)
    ('99999999999999999999', 'xxxx…', 'a number of thousands of digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python does not print numbers of several thousand digits
        return "a number of thousands of digits"
    return text if len(text) <= 40 else f"{text[:39]}…"
