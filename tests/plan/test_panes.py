"""Blocks of panes: their size is nearly the best there is, by counting what windows are merged from."""

from random import Random

import numpy as np
import pytest

from penstock.language.statements import WindowDef
from penstock.plan.panes import block_of


def merges(windows: list[tuple[int, int]], block: int) -> float:
    """Merges for each pane: of windows (size, slide), counted one by one, and of the blocks."""
    if block == 1:
        return sum(size / slide for size, slide in windows)
    total = 2.0
    for size, slide in windows:
        starts = slide * np.arange(block)
        first, last = -(-starts // block), (starts + size) // block
        whole = np.maximum(last - first, 0)
        total += (whole + size - whole * block).mean() / slide
    return total


@pytest.mark.parametrize("seed", range(60))
def test_blocks_take_few_merges(seed):
    random = Random(seed)
    windows = []
    for _ in range(random.randint(1, 3)):
        slide = random.choice([1, 1, 2, 5, 30])
        windows.append((slide * random.randint(1, random.choice([4, 300])), slide))
    pane = random.choice([1, 1_000_000])
    found = block_of(pane, [WindowDef("range", size * pane, slide * pane) for size, slide in windows])
    assert found % pane == 0
    costs = {block: merges(windows, block) for block in range(1, max(size for size, _ in windows) + 1)}
    best = min(costs.values())
    if found:
        assert costs[found // pane] <= 1.25 * best
        assert costs[found // pane] <= 0.6 * costs[1]
    else:
        assert best >= 0.4 * costs[1]


def test_windows_of_few_panes_have_no_blocks():
    assert block_of(10, [WindowDef("range", 100, 10), WindowDef("range", 60, 60)]) == 0
