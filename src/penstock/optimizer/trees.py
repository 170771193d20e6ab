"""Trees of joins for the searches: streams by their place, sets of streams as bit masks."""

from collections.abc import Iterable, Sequence
from itertools import permutations

import numpy as np

from penstock.optimizer.plan import Tree
from penstock.optimizer.stream_sets import Ints, Joins, Shape


def orders(n: int) -> Ints:
    """Return the orders in which n streams can be joined, one per row; the first two are sorted.

    >>> orders(3).tolist()
    [[0, 1, 2], [0, 2, 1], [1, 2, 0]]
    """
    return np.array([order for order in permutations(range(n)) if order[0] < order[1]])


def left_deep(order: Iterable[int]) -> Shape:
    """Return the left-deep tree that joins streams in this order.

    >>> left_deep([1, 2, 0])
    ((1, 2), 0)
    """
    first, *others = (int(each) for each in order)
    shape: Shape = first
    for each in others:
        shape = (shape, each)
    return shape


def retraced(last: Sequence[int] | Ints) -> list[int]:
    """Return the order in which all streams are joined, given the stream that each set joins last.

    >>> retraced([0, 0, 0, 1, 0, 2, 2, 1])  # of all three the second is last; of the others, the third
    [0, 2, 1]
    """
    joined, some = [], len(last) - 1
    while some & (some - 1):
        joined.append(int(last[some]))
        some ^= 1 << joined[-1]
    return [some.bit_length() - 1, *reversed(joined)]


def joins_of(shape: Shape) -> Joins:
    """Return the joins of one tree, bottom up, as an argument of `Sets.cheapest`."""
    found: Joins = []

    def visit(part: Shape) -> int:
        if isinstance(part, int):
            return 1 << part
        left, right = visit(part[0]), visit(part[1])
        found.append((np.array([left | right]), np.array([[left]]), np.array([[right]])))
        return left | right

    visit(shape)
    return found


def named(shape: Shape, names: Sequence[str]) -> Tree:
    """Return the tree with the streams' names.

    >>> named(((1, 2), 0), "ABC")
    (('B', 'C'), 'A')
    """
    return names[shape] if isinstance(shape, int) else (named(shape[0], names), named(shape[1], names))


def placed(tree: Tree, names: Sequence[str]) -> Shape:
    """Return the tree with the streams' places: the inverse of `named`."""
    return names.index(tree) if isinstance(tree, str) else (placed(tree[0], names), placed(tree[1], names))
