"""AN04 written down plainly: a join at a time by (3), (4) and (8), drop boxes by scipy's linear program.

It shares no code with the optimizer: rates and windows go up the tree, as in the paper, and are not looked up
by set.
"""

from itertools import combinations, permutations, product

import numpy as np
from scipy.optimize import linprog

from penstock.network import Window


def all_trees(names, bushy):
    """Every tree; the sides of a join are interchangeable."""
    if not bushy:
        for order in permutations(names):
            if order.index(order[0]) == 0 and names.index(order[0]) < names.index(order[1]):
                tree = order[0]
                for name in order[1:]:
                    tree = (tree, name)
                yield tree
        return
    if len(names) == 1:
        yield names[0]
        return
    first, others = names[0], names[1:]
    for chosen in product([False, True], repeat=len(others)):
        left = (first, *(n for n, c in zip(others, chosen, strict=True) if c))
        right = tuple(n for n, c in zip(others, chosen, strict=True) if not c)
        if right:
            for one in all_trees(left, True):
                for other in all_trees(right, True):
                    yield (one, other)


def figures(problem, tree, keep, methods=None):
    """Return (rate, cost) of a tree that keeps these shares; `methods` by (join, side), the first if None."""
    spent = []

    def visit(part):
        if isinstance(part, str):
            rate, window = float(problem.rates[part]) * keep[part], problem.windows[part]
            size = float(window.size) * (rate if window.kind == "range" else 1.0)
            for each in problem.filters[part]:
                spent.append(rate * float(each.cost))
                rate, size = rate * float(each.selectivity), size * float(each.selectivity)
            return {part}, rate, size
        (left, left_rate, left_size), (right, right_rate, right_size) = visit(part[0]), visit(part[1])
        share = 1.0
        for (one, other), each in problem.selectivities.items():
            if (one in left and other in right) or (one in right and other in left):
                share *= float(each)
        for side, (probing, held, inserted) in enumerate(
            [(right_rate, left_size, left_rate), (left_rate, right_size, right_rate)]
        ):
            chosen = problem.join_methods[methods[part, side] if methods else 0]
            cost = probing * (float(chosen.probe) + float(chosen.scan) * held)
            spent.append(cost + inserted * (float(chosen.insert) + float(chosen.invalidate)))
        rate = share * (right_size * left_rate + left_size * right_rate)
        return left | right, rate, share * left_size * right_size

    _, rate, _ = visit(tree)
    return rate, sum(spent) / float(problem.share)


def inner(tree):
    return [] if isinstance(tree, str) else [*inner(tree[0]), *inner(tree[1]), tree]


def shed(problem, tree):
    """Return (rate, cost) of a tree with the best drop boxes, and any choice of methods; windows of rows only."""
    best = (-1.0, 0.0)
    sides = [(join, side) for join in inner(tree) for side in (0, 1)]
    for choice in product(range(len(problem.join_methods)), repeat=len(sides)):
        methods = dict(zip(sides, choice, strict=True))
        gains, prices = [], []
        for name in problem.streams:
            rate, cost = figures(problem, tree, {n: float(n == name) for n in problem.streams}, methods)
            gains.append(rate)
            prices.append(cost)
        if sum(prices) <= problem.budget:
            found = (sum(gains), sum(prices))
        else:
            scale = max(gains)
            solved = linprog(-np.array(gains) / scale, [np.array(prices) / problem.budget], [1.0], bounds=(0, 1))
            assert solved.status == 0
            found = (float(np.dot(gains, solved.x)), problem.budget)
        if found[0] > best[0] * (1 + 1e-9) or (found[0] > best[0] * (1 - 1e-9) and found[1] < best[1]):
            best = found
    return best


def best(problem, bushy=False):
    """Return (rate, cost) of the best of all trees."""
    found = [shed(problem, tree) for tree in all_trees(problem.streams, bushy)]
    most = max(rate for rate, _ in found)
    return most, min(cost for rate, cost in found if rate >= most * (1 - 1e-9))


def heuristic(problem):
    """Return (tree, rate) of AN04 5.2: the best plan of a set is built of those of smaller sets, boxes and all."""
    found = {(name,): (name, dict.fromkeys(problem.streams, 1.0), 0.0) for name in problem.streams}
    for size in range(2, len(problem.streams) + 1):
        for some in combinations(problem.streams, size):
            tried = []
            for last in reversed(some):
                left, boxes, _ = found[tuple(name for name in some if name != last)]
                tree, keep = (left, last), dict(boxes)
                alone = {n: {**dict.fromkeys(keep, 0.0), n: keep[n]} for n in some}
                gains, prices = np.array([figures(problem, tree, alone[n]) for n in some]).T
                boxes = np.ones(size)
                if prices.sum() > problem.budget:
                    scaled = -gains / gains.max()
                    boxes = linprog(scaled, [prices / problem.budget], [1.0], bounds=(0, 1)).x
                keep.update({n: keep[n] * share for n, share in zip(some, boxes, strict=True)})
                tried.append((gains @ boxes / (prices @ boxes), tree, keep, float(gains @ boxes)))
            found[some] = max(tried, key=lambda each: each[0])[1:]
    tree, _, rate = found[problem.streams]
    return tree, rate


def rows(size):
    return Window("rows", size)
