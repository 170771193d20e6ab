"""Selections on one stream: their best order, their load, and the drop box under overload (AN04 4.1)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.errors import PlanError
from penstock.network import Number, checked


@dataclass(frozen=True)
class Filter:
    """A selection: `cost` seconds per tuple; the share `selectivity` of tuples passes. A projection passes all."""

    cost: Number
    selectivity: Number = 1.0
    name: str = ""

    def __post_init__(self) -> None:
        label = f"filter {self.name!r}" if self.name else "a filter"
        object.__setattr__(self, "cost", checked(self.cost, f"the cost of {label}", at_least=0, error=PlanError))
        object.__setattr__(self, "selectivity", checked_share(self.selectivity, f"the selectivity of {label}"))


@dataclass(frozen=True)
class FilterPlan:
    """Filters in the order they run, with their utilization before shedding (`demand`) and after.

    `keep` is the drop box before the first of them: no other place is better (AN04 Observation 2).
    """

    filters: tuple[Filter, ...]
    keep: float
    rate: float
    utilization: float
    demand: float

    @property
    def feasible(self) -> bool:
        """Whether nothing had to be dropped."""
        return self.keep == 1.0


def checked_share(value: object, what: str) -> Number:
    """Return `value` if it lies in (0, 1], or raise."""
    number = checked(value, what, above=0, error=PlanError)
    if number > 1:
        raise PlanError(f"{what} must be at most 1, not {value}")
    return number


def by_rank(filters: Iterable[Filter]) -> tuple[Filter, ...]:
    """Return the filters in the cheapest order: by the share that each drops, per second of its cost.

    >>> [f.name for f in by_rank([Filter(0.001, 0.5, "expensive"), Filter(0.0005, 0.25, "good")])]
    ['good', 'expensive']
    """
    return tuple(sorted(filters, key=_rank, reverse=True))


def _rank(each: Filter) -> float:
    return float((1 - each.selectivity) / each.cost) if each.cost else float("inf")


def cost_per_tuple(filters: Sequence[Filter]) -> tuple[float, float]:
    """Return the average seconds per input tuple, and the share of tuples that pass all filters. AN04 (13, 14)."""
    cost, share = 0.0, 1.0
    for each in filters:
        cost += share * float(each.cost)
        share *= float(each.selectivity)
    return cost, share


def filter_plan(rate: Number, filters: Sequence[Filter], capacity: Number = 1.0) -> FilterPlan:
    """Return the plan of these filters in this order, with a drop box at the source if they need one.

    AN04 Figure 1: at 1000 tuples per second, one order has a utilization of 0.75; the other would need 1.25
    processors, and loses a fifth of the tuples.

    >>> good, expensive = Filter(0.0005, 0.25), Filter(0.001, 0.5)
    >>> filter_plan(1000, [good, expensive]).utilization
    0.75
    >>> plan = filter_plan(1000, [expensive, good])
    >>> plan.demand, plan.keep, plan.rate
    (1.25, 0.8, 100.0)
    """
    speed = float(checked(rate, "the rate of the stream", above=0, error=PlanError))
    most = float(checked(capacity, "the capacity", above=0, error=PlanError))
    cost, share = cost_per_tuple(filters)
    demand = speed * cost
    keep = 1.0 if demand <= most else most / demand  # AN04 (16)
    return FilterPlan(tuple(filters), keep, speed * share * keep, demand * keep, demand)
