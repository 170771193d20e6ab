"""Fates that follow from the attributes of tuples, instead of chance."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from penstock.errors import ArrivalError
from penstock.network import Network


class Ranged(Protocol):
    """A predicate: a tuple passes whose attribute `column` lies in [low, low + selectivity), round the end."""

    @property
    def column(self) -> int:
        """The attribute."""

    @property
    def low(self) -> float:
        """Where the range begins, from 0 to below 1."""


@dataclass(frozen=True)
class Attributes:
    """Attributes of the tuples of each stream, one row per tuple, from 0 to below 1; and the predicates on them.

    An operator with a predicate passes a tuple by its attribute, the others by chance. So data can drift
    (SCLP08 §9.5), and two operators can depend on the same attribute.
    """

    values: Mapping[str, npt.NDArray[np.float64]]
    predicates: Mapping[str, Ranged] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        """How many attributes there are."""
        return max((array.shape[1] for array in self.values.values()), default=0)

    def check(self, net: Network, times: Mapping[str, npt.NDArray[np.float64]]) -> None:
        """Raise unless every arrival has a row, and every predicate belongs to an operator that filters."""
        for stream, array in self.values.items():
            net.stream(stream)
            if array.ndim != 2 or len(array) != len(times.get(stream, ())):
                raise ArrivalError(
                    f"the attributes of stream {stream!r} must be a row for each of its "
                    f"{len(times.get(stream, ()))} arrivals, not an array of shape {array.shape}"
                )
            if not ((array >= 0) & (array < 1)).all():
                raise ArrivalError(f"the attributes of stream {stream!r} must be from 0 to below 1")
        closes = {operator.name for operator in net.operators if operator.series}
        for name, predicate in self.predicates.items():
            operator = net.operator(name)
            if name in net.panes or any(close in below(net, name) for close in closes):
                raise ArrivalError(
                    f"operator {name!r} cannot pass tuples by an attribute: it has or reads windows"
                )
            if operator.windows or operator.selectivity > 1:
                raise ArrivalError(f"operator {name!r} cannot pass tuples by an attribute: it makes new ones")
            if not 0 <= predicate.column < self.columns:
                raise ArrivalError(f"operator {name!r} looks at attribute {predicate.column}, which is not there")
            if not 0 <= predicate.low < 1:
                raise ArrivalError(f"the range of operator {name!r} must begin from 0 to below 1")


def below(net: Network, name: str) -> set[str]:
    """Return an operator and everything below it."""
    reached = [name]
    for here in reached:
        reached.extend(edge.source for edge in net.in_edges.get(here, ()) if edge.source not in reached)
    return set(reached)
