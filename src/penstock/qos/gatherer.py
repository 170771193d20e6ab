"""The statistics gatherer of P04 §3.2.5: averages of the statistics, for each policy and overall.

    average ← w · average + (1 − w) · newest        w = 0.875                                              (3.1)

Each policy has a view that changes only while the policy runs. Another view covers the whole run. Views have the
plan's statistics. Those of operators, queues and queries are computed on request, from the engine's counts since
the run began.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from penstock.errors import QosError
from penstock.qos.interval_statistics import IntervalStatistics, added
from penstock.qos.statistics import STATISTICS, Of, Statistic

WEIGHT = 0.875
"""Weight of the older value in an average, P04 §6.1."""

MADE = ("output_rate", "throughput")
"""Statistics that count only results that were made."""


class View:
    """Averages of the plan's statistics, with the least and the greatest value so far."""

    def __init__(self, weight: float = WEIGHT) -> None:
        self._weight = weight
        self.mean: dict[str, float] = {}
        self.low: dict[str, float] = {}
        self.high: dict[str, float] = {}
        self.seconds = 0.0
        self.count = 0

    def add(self, values: Mapping[str, float], seconds: float) -> None:
        """Add the statistics of an interval."""
        self.seconds += seconds
        self.count += 1
        for name, value in values.items():
            old = self.mean.get(name, value)
            self.mean[name] = old * self._weight + value * (1 - self._weight)
            self.low[name] = min(self.low.get(name, value), value)
            self.high[name] = max(self.high.get(name, value), value)


class Statistics:
    """All views, and the newest interval."""

    def __init__(self, weight: float = WEIGHT, on_error: Callable[[str], object] = lambda text: None) -> None:
        self.policies: dict[str, View] = {}
        self.overall = View(weight)
        self.current: dict[str, float] = {}
        self.interval: IntervalStatistics | None = None
        self.failed: dict[str, str] = {}
        """Users' statistics that raised, with the error."""
        self._weight = weight
        self._on_error = on_error

    def add(self, policy: str, interval: IntervalStatistics) -> dict[str, float]:
        """Add an interval in which a policy ran, and return its statistics."""
        self.interval = interval
        self.current = self.computed("plan", interval)
        self.policies.setdefault(policy, View(self._weight)).add(self.current, interval.seconds)
        self.overall.add(self.current, interval.seconds)
        return self.current

    def with_pending(self, interval: IntervalStatistics) -> dict[str, float]:
        """Return the plan's statistics with the results expected of waiting tuples, as if they came now.

        Otherwise a policy that leaves tuples waiting looks good: their responses are never counted.
        """
        values = self.computed("plan", replace(interval, results=added([interval.results, interval.pending])))
        made = {name: value for name, value in self.computed("plan", interval).items() if name in MADE}
        return values | made

    def computed(self, of: Of, what: object) -> dict[str, float]:
        """Return the defined statistics of one interval, query, operator or queue."""
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
        """Return the statistics of a queue at the end of the newest interval."""
        return self.computed("queue", self._known("queue", name))

    def _known(self, what: Literal["operator", "query", "queue"], name: str) -> object:
        interval = self.interval
        known: Mapping[str, object] = {}
        if interval is not None:
            known = {"operator": interval.operators, "query": interval.queries, "queue": interval.queues}[what]
        if name not in known:
            raise QosError(f"there are no statistics of {what} {name!r} yet")
        return known[name]
