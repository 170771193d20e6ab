"""The statistics gatherer of P04 §3.2.5: what each statistic is, and how it fared under each policy.

    average ← w · average + (1 − w) · newest        w = 0.875                                              (3.1)

Every policy has a view that is written only while it runs, one view holds everything, and the current one what was
read last. Views have the plan's statistics; those of operators, queues and queries are computed when they are
asked for, from what the engine has counted since it began.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from penstock.errors import QosError
from penstock.qos.interval import IntervalStatistics, added

WEIGHT = 0.875
"""Of the older value in an average, P04 §6.1."""

MADE = ("output_rate", "throughput")
"""Statistics that count only what was made."""

Of = Literal["plan", "query", "operator", "queue"]
Compute = Callable[[Any], float | None]


@dataclass(frozen=True)
class Statistic:
    """A number computed of a reading (plan), the results of a query, the work of an operator, or a queue."""

    name: str
    of: Of
    compute: Compute
    sense: Literal["minimize", "maximize"] = "minimize"
    about: str = ""
    is_own: bool = False
    """Whether it was registered by a user: it may raise, and then the others go on."""


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

    It is given `IntervalStatistics`, `ResultSums`, `OperatorWork` or `QueueSize`.

    It returns a number above 0, or None where there is nothing to say. If it raises, that is told once, it is not
    computed any more, and everything else goes on.

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


class View:
    """Averages of the plan's statistics, with the least and the greatest value ever read."""

    def __init__(self, weight: float = WEIGHT) -> None:
        self._weight = weight
        self.mean: dict[str, float] = {}
        self.low: dict[str, float] = {}
        self.high: dict[str, float] = {}
        self.seconds = 0.0
        self.count = 0

    def add(self, values: Mapping[str, float], seconds: float) -> None:
        """Take an interval in."""
        self.seconds += seconds
        self.count += 1
        for name, value in values.items():
            old = self.mean.get(name, value)
            self.mean[name] = old * self._weight + value * (1 - self._weight)
            self.low[name] = min(self.low.get(name, value), value)
            self.high[name] = max(self.high.get(name, value), value)


class Statistics:
    """All views, and what was read last."""

    def __init__(self, weight: float = WEIGHT, on_error: Callable[[str], object] = lambda text: None) -> None:
        self.policies: dict[str, View] = {}
        self.overall = View(weight)
        self.current: dict[str, float] = {}
        self.interval: IntervalStatistics | None = None
        self.failed: dict[str, str] = {}
        """Statistics of users that raised, with what they raised."""
        self._weight = weight
        self._on_error = on_error

    def add(self, policy: str, interval: IntervalStatistics) -> dict[str, float]:
        """Take in an interval in which a policy ran, and return its statistics."""
        self.interval = interval
        self.current = self.computed("plan", interval)
        self.policies.setdefault(policy, View(self._weight)).add(self.current, interval.seconds)
        self.overall.add(self.current, interval.seconds)
        return self.current

    def whole(self, interval: IntervalStatistics) -> dict[str, float]:
        """Return the plan's statistics with what waits counted as if it came now.

        Otherwise a policy shines by what it puts off: the response of what it never serves is never seen.
        """
        values = self.computed("plan", replace(interval, results=added([interval.results, interval.pending])))
        made = {name: value for name, value in self.computed("plan", interval).items() if name in MADE}
        return values | made

    def computed(self, of: Of, what: object) -> dict[str, float]:
        """Return the statistics of one thing: those that are known of it."""
        found = {}
        for each in list(STATISTICS.values()):
            if each.of == of and each.name not in self.failed:
                value = self._value(each, what)
                if value is not None and math.isfinite(value):
                    found[each.name] = value
        return found

    def _value(self, each: Statistic, what: object) -> float | None:
        if not each.is_own:
            return each.compute(what)
        try:
            value = each.compute(what)
            return None if value is None else float(value)
        except Exception as error:
            self.failed[each.name] = f"{type(error).__name__}: {error}"
            self._on_error(
                f"statistic {each.name!r} raised {self.failed[each.name]}. It is no longer computed; "
                "goals use its values so far"
            )
            return None

    def of_operator(self, name: str) -> dict[str, float]:
        """Return the statistics of an operator over the whole run."""
        return self.computed("operator", self._known("operator", name))

    def of_query(self, name: str) -> dict[str, float]:
        """Return the statistics of a query over the whole run."""
        return self.computed("query", self._known("query", name))

    def of_queue(self, name: str) -> dict[str, float]:
        """Return the statistics of a queue as it was when last read."""
        return self.computed("queue", self._known("queue", name))

    def _known(self, what: Literal["operator", "query", "queue"], name: str) -> object:
        interval = self.interval
        known: Mapping[str, object] = {}
        if interval is not None:
            known = {"operator": interval.operators, "query": interval.queries, "queue": interval.queues}[what]
        if name not in known:
            raise QosError(f"there are no statistics of {what} {name!r} yet")
        return known[name]
