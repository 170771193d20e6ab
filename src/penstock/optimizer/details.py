"""The joins of a plan one by one: output rate, window, utilization and methods of each."""

from dataclasses import dataclass

import numpy as np

from penstock.optimizer.plan import JoinPlan, Tree
from penstock.optimizer.stream_sets import Sets


@dataclass(frozen=True)
class JoinDetail:
    """One join of a plan, after drop boxes: results per second, tuples in its window, utilization."""

    tree: Tree
    rate: float
    window: float
    utilization: float
    methods: tuple[str, str]
    """The join methods of its left and its right side."""


def details(plan: JoinPlan) -> list[JoinDetail]:
    """Return the joins of a plan, bottom up."""
    problem = plan.problem
    sets = Sets.of(problem).keeping(np.array([plan.keep[name] for name in problem.streams]))
    names = [method.name for method in problem.join_methods]
    found: list[JoinDetail] = []

    def visit(tree: Tree) -> int:
        if isinstance(tree, str):
            return 1 << problem.streams.index(tree)
        left, right = visit(tree[0]), visit(tree[1])
        made = left | right
        rates = {
            some: float(sets.windows[some] * sets.full[sets.members[some]].sum()) for some in (left, right, made)
        }
        chosen = [sets.method(own, other) for own, other in ((left, right), (right, left))]
        cost = 0.0
        for (probe, scan, insert), (own, other) in zip(chosen, ((left, right), (right, left)), strict=True):
            cost += rates[other] * (probe + scan * float(sets.windows[own])) + rates[own] * insert
        kept_by = [names[sets.methods.index(each)] for each in chosen]
        found.append(JoinDetail(tree, rates[made], float(sets.windows[made]), cost, (kept_by[0], kept_by[1])))
        return made

    visit(plan.tree)
    return found
