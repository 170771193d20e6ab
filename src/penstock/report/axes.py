"""Logarithmic axes with round numbers on them."""

import math
from collections.abc import Sequence

import plotly.graph_objects as go


def logarithmic(figure: go.Figure, values: Sequence[float | None]) -> go.Figure:
    """Give a plot of these values a logarithmic axis with round numbers on it."""
    shown = [value for value in values if value]
    marks = _marks(min(shown), max(shown)) if shown else []
    return figure.update_yaxes(type="log", tickvals=marks, ticktext=[_si(mark) for mark in marks])


def _marks(low: float, high: float) -> list[float]:
    """Return round numbers between two values for a logarithmic axis: 1, 2, 5, or only 1 where there are many.

    >>> _marks(3, 40), _marks(1, 200_000)
    ([2, 5, 10, 20, 50], [1, 10, 100, 1000, 10000, 100000])
    """
    first, last = math.floor(math.log10(low)), math.floor(math.log10(high))
    digits = (1, 2, 5) if last - first < 3 else (1,)
    marks = [digit * 10**power for power in range(first, last + 1) for digit in digits]
    return [mark for mark in marks if low / 2 <= mark <= high * 2]


def _si(value: float) -> str:
    """Return a round number in few characters.

    >>> [_si(value) for value in (0.02, 5, 2000, 50_000_000)]
    ['0.02', '5', '2k', '50M']
    """
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
