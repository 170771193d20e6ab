"""Which queries share panes, and how many panes make a block.

Queries share panes that are not much smaller than those of each.
"""

from collections import Counter
from collections.abc import Sequence
from math import gcd, isqrt

import numpy as np

from penstock.language.statements import WindowDef

MOST_PANES = 16
"""Queries share panes that are smaller than their own by this factor at most."""
_MAKING = 2.0
"""Merges for each pane if there are blocks: one into its block, and one with its own rows."""


def panes_fit(one: int, other: int) -> bool:
    """Return whether panes of these sizes are replaced by panes of their greatest common divisor.

    >>> panes_fit(10, 15), panes_fit(1_000, 7)
    (True, False)
    """
    pane = gcd(one, other)
    return not pane or max(one, other) <= MOST_PANES * pane


def block_of(pane: int, windows: Sequence[WindowDef]) -> int:
    """Return the size of blocks of panes with which windows take at most half of the merges; 0 if none has.

    A window that begins every m panes and has n is merged from the blocks that it covers and the panes beside
    them; without blocks, from n panes. Blocks themselves take a merge of each pane.

    >>> [block_of(1, [WindowDef("rows", *each)]) for each in ((60, 60), (3600, 1), (3600, 60))]
    [0, 60, 60]
    """
    shapes = Counter((window.size // pane, (window.slide or 0) // pane) for window in windows)
    if sum(count * size / slide for (size, slide), count in shapes.items()) <= 2 * _MAKING:
        return 0
    sizes, slides = np.array(list(shapes)).T[:, :, None]
    counts = np.array(list(shapes.values()))[:, None]
    most = int(sizes.max())
    factors = np.union1d(np.arange(1, min(3 * isqrt(most) + 2, most)), np.union1d(sizes, slides))
    # A window begins anywhere in a block that the slide allows; on average that leaves
    before, after = (factors - np.gcd(factors, slides)) / 2, (factors - np.gcd(np.gcd(factors, slides), sizes)) / 2
    merged = np.minimum(before + after + np.maximum(sizes - before - after, 0) / factors, sizes)
    made = np.where(factors > 1, _MAKING, 0)
    merges = made + (counts * np.where(factors > 1, merged, sizes) / slides).sum(axis=0)
    best = int(merges.argmin())
    return int(factors[best]) * pane if merges[best] <= merges[0] / 2 else 0
