"""`JoinPlan`: a tree of joins with its drop boxes, rate and utilization."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.optimizer.problem import JoinProblem

Tree: TypeAlias = "str | tuple[Tree, Tree]"
"""A stream, or the join of two trees."""


@dataclass(frozen=True)
class JoinPlan:
    """How to join the streams of a problem.

    `keep` is the share of each stream that its drop box lets through, `rate` the results per second, `utilization`
    the share of a processor that the plan needs; without drop boxes it would be `demand`.
    """

    tree: Tree
    keep: Mapping[str, float]
    rate: float
    utilization: float
    demand: float
    problem: JoinProblem = field(repr=False, compare=False)

    @property
    def order(self) -> tuple[str, ...]:
        """The streams in the order in which they are joined; in a bushy plan, from left to right."""
        return tuple(leaves(self.tree))

    @property
    def feasible(self) -> bool:
        """Whether nothing had to be dropped."""
        return all(share == 1.0 for share in self.keep.values())

    @property
    def is_left_deep(self) -> bool:
        """Whether every join has a stream on its right."""
        tree = self.tree
        while isinstance(tree, tuple):
            if not isinstance(tree[1], str):
                return False
            tree = tree[0]
        return True


def leaves(tree: Tree) -> Iterator[str]:
    """Yield the streams of a tree from left to right.

    >>> list(leaves((("B", "C"), "A")))
    ['B', 'C', 'A']
    """
    if isinstance(tree, str):
        yield tree
    else:
        for side in tree:
            yield from leaves(side)
