"""The statistics that goals can name, and the registration of a user's own.

Each is a function of one interval: of the plan, a query, an operator or a queue.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from penstock.errors import QosError

Of = Literal["plan", "query", "operator", "queue"]
Compute = Callable[[Any], float | None]


@dataclass(frozen=True)
class Statistic:
    """A number computed from an interval (plan), a query's results, an operator's work, or a queue."""

    name: str
    of: Of
    compute: Compute
    sense: Literal["minimize", "maximize"] = "minimize"
    about: str = ""
    is_own: bool = False
    """Whether a user registered it: it may raise, and the others are still computed."""


def _table(*statistics: Statistic) -> dict[str, Statistic]:
    return {each.name: each for each in statistics}


STATISTICS: dict[str, Statistic] = _table(
    Statistic(
        "output_rate", "plan", lambda r: r.results.count / r.seconds, "maximize", "results per second, P04 (3.7)"
    ),
    Statistic("throughput", "plan", lambda r: r.results.count, "maximize", "results of the interval, P04 (3.6)"),
    Statistic("avg_response", "plan", lambda r: r.results.avg_response, about="P04's delay: arrival to result"),
    Statistic("max_response", "plan", lambda r: r.results.max_response or None, about="the longest response"),
    Statistic("l2_response", "plan", lambda r: r.results.l2_response or None, about="ℓ2 norm of responses"),
    Statistic("avg_slowdown", "plan", lambda r: r.results.avg_slowdown, about="response ÷ ideal time"),
    Statistic("max_slowdown", "plan", lambda r: r.results.max_slowdown or None, about="the largest slowdown"),
    Statistic("l2_slowdown", "plan", lambda r: r.results.l2_slowdown or None, about="ℓ2 norm of slowdowns"),
    Statistic("queue_memory", "plan", lambda r: r.memory, about="average memory of all queues"),
    Statistic("peak_memory", "plan", lambda r: r.peak, about="largest memory of all queues"),
    Statistic("queue_size", "plan", lambda r: r.waiting, about="tuples in all queues, P04 (3.8)"),
    Statistic("oldest_age", "plan", lambda r: r.oldest, about="age of the oldest waiting tuple"),
    Statistic(
        "selectivity", "operator", lambda w: w.made / w.taken if w.taken else None, about="made ÷ taken, P04 (3.2)"
    ),
    Statistic(
        "cost",
        "operator",
        lambda w: w.seconds / w.taken if w.taken else None,
        about="seconds per tuple, P04 (3.4), which is printed inverted",
    ),
    Statistic(
        "operator_rate",
        "operator",
        lambda w: w.made / w.seconds if w.seconds else None,
        "maximize",
        "made per second, P04 (3.3)",
    ),
    Statistic("length", "queue", lambda q: q.tuples, about="waiting tuples"),
    Statistic("memory", "queue", lambda q: q.memory, about="memory of waiting tuples"),
    Statistic("response", "query", lambda r: r.avg_response, about="average response of the query"),
    Statistic("slowdown", "query", lambda r: r.avg_slowdown, about="average slowdown of the query"),
    Statistic("results", "query", lambda r: r.count, "maximize", "results of the query"),
)
"""All statistics by name; `statistic` adds more."""


def statistic(
    name: str, of: Of = "plan", *, sense: Literal["minimize", "maximize"] = "minimize", about: str = ""
) -> Callable[[Compute], Compute]:
    """Register a function as a statistic of the plan, a query, an operator or a queue.

    It is called with `IntervalStatistics`, `ResultSums`, `OperatorWork` or `QueueSize`.

    It returns a number above 0, or None if the statistic is undefined. If it raises, that is reported once, it is
    no longer computed, and everything else continues.

    >>> @statistic("backlog_s", about="seconds of work that wait")
    ... def backlog_s(interval):
    ...     return interval.waiting * 0.01
    >>> STATISTICS.pop("backlog_s").about
    'seconds of work that wait'
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise QosError(f"a statistic's name must consist of letters, digits and underscores, not {name!r}")
    if name in STATISTICS and not STATISTICS[name].is_own:
        raise QosError(f"statistic {name!r} exists already and cannot be replaced")
    if of not in ("plan", "query", "operator", "queue"):
        raise QosError(f"a statistic is of the plan, a query, an operator or a queue, not of {of!r}")

    def register(compute: Compute) -> Compute:
        if not callable(compute):
            raise QosError(f"statistic {name!r} needs a function, not {compute!r}")
        STATISTICS[name] = Statistic(name, of, compute, sense, about, is_own=True)
        return compute

    return register
