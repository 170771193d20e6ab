"""Which queries share panes: those whose panes are not much smaller together than those of each."""

from math import gcd

MOST_PANES = 16
"""Queries share panes that are smaller than their own by this factor at most."""


def panes_fit(one: int, other: int) -> bool:
    """Return whether panes of these sizes are replaced by panes of their greatest common divisor.

    >>> panes_fit(10, 15), panes_fit(1_000, 7)
    (True, False)
    """
    pane = gcd(one, other)
    return not pane or max(one, other) <= MOST_PANES * pane
