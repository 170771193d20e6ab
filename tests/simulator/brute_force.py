"""Optimal schedules by exhaustive search, in a dozen lines each, sharing nothing with the engine."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations


def least_memory(sizes: Sequence[Sequence[Fraction]], arrivals: Sequence[Sequence[int]], horizon: int):
    """For each instant, the least memory that any schedule can have then, even one that knows the future.

    `sizes[path][k]` is what is left of a tuple after k time units of work on it; a schedule gives each time
    unit to one tuple, or to none. Every reachable state is followed.
    """
    states = {tuple(() for _ in sizes)}
    best = []
    for now in range(horizon + 1):
        new = [tuple(0 for time in times if time == now) for times in arrivals]
        states = {
            tuple(tuple(sorted(old + more)) for old, more in zip(state, new, strict=True)) for state in states
        }
        best.append(min(sum(sizes[p][k] for p, done in enumerate(state) for k in done) for state in states))
        following = set(states)
        for state in states:
            for path, done in enumerate(state):
                for place, k in enumerate(done):
                    if k + 1 < len(sizes[path]):
                        moved = tuple(sorted((*done[:place], k + 1, *done[place + 1 :])))
                        following.add((*state[:path], moved, *state[path + 1 :]))
        states = following
    return best


def least_total_latency(work: Sequence[Sequence[Fraction]]) -> Fraction:
    """The least sum of completion times of tuples that are all present, over every interleaving of operators.

    `work[tuple]` lists the time each of its operators takes, one after the other.
    """

    @cache
    def rest(progress: tuple[int, ...]) -> Fraction:
        spent = sum((sum(steps[:k], Fraction(0)) for steps, k in zip(work, progress, strict=True)), Fraction(0))
        options = []
        for index, (steps, k) in enumerate(zip(work, progress, strict=True)):
            if k < len(steps):
                done = spent + steps[k] if k + 1 == len(steps) else Fraction(0)
                options.append(done + rest((*progress[:index], k + 1, *progress[index + 1 :])))
        return min(options, default=Fraction(0))

    return rest(tuple(0 for _ in work))


def least_path_memory(capacities: Sequence[Fraction], arrivals: Sequence[Sequence[int]], horizon: int):
    """For each instant, the least memory of any schedule that serves whole paths, tuples of size 1.

    In each time unit the paths are served in some order, each until its queue is empty or the unit is over; a
    path consumes as many tuples per unit as its capacity says. All orders in all units are tried.
    """
    states = {tuple(Fraction(0) for _ in capacities)}
    best = []
    for now in range(horizon + 1):
        states = {tuple(q + list(a).count(now) for q, a in zip(s, arrivals, strict=True)) for s in states}
        best.append(min(sum(state) for state in states))
        following = set()
        for state in states:
            for order in permutations(range(len(capacities))):
                queues, left = list(state), Fraction(1)
                for path in order:
                    spent = min(left, queues[path] / capacities[path])
                    queues[path] -= spent * capacities[path]
                    left -= spent
                following.add(tuple(queues))
        states = following
    return best
