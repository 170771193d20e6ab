"""Aggregates over windows: how many partial rows and results they make, and the work of closing a window.

An operator of kind ``aggregate`` keeps one partial row for each pane and group. An operator of kind ``close``
merges the partial rows of a window when the window closes. Formulas: docs/concepts.md, "Aggregates over windows".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, expm1, log1p

from penstock.errors import NetworkError
from penstock.network.joins import Rates, outputs_per_tuple
from penstock.network.numbers import Number
from penstock.network.operator import Edge, Operator, SlidingWindow, Stream
from penstock.network.panes import Panes


def expected_groups(groups: int, tuples: Number) -> Number:
    """Return how many of `groups` equally likely keys occur among a Poisson number of tuples of this mean.

    >>> round(expected_groups(10, 20), 4), expected_groups(10, 0)
    (8.6466, 0.0)
    """
    return -groups * expm1(-float(tuples) / groups)


def groups_in_rows(groups: int, rows: Number, share: Number) -> Number:
    """Return how many keys occur in `rows` rows of a stream, of which a share comes to the aggregate.

    >>> round(groups_in_rows(10, 20, 1), 4), groups_in_rows(1, 20, 1)
    (8.7842, 1.0)
    """
    draws, hit = float(rows) * max(float(share), 1.0), min(float(share), 1.0) / groups
    return groups * (1 - exp(draws * log1p(-hit))) if hit < 1 else float(groups)


@dataclass(frozen=True)
class Supply:
    """What comes to an aggregate: tuples per second, and tuples per tuple of its stream, where they are known."""

    rate: Number | None
    share: Number | None

    def tuples(self, panes: Panes, length: Number) -> Number | None:
        """Return the expected tuples in a pane or window of this length."""
        pace = self.share if panes.kind == "rows" else self.rate
        return None if pace is None else pace * length

    def groups(self, panes: Panes, groups: int, length: Number) -> Number | None:
        """Return the expected groups in a pane or window of this length."""
        tuples = self.tuples(panes, length)
        if tuples is None:
            return None
        if panes.kind == "rows":
            assert self.share is not None
            return groups_in_rows(groups, length, self.share)
        return expected_groups(groups, tuples)


def shares(streams: Sequence[Stream], operators: Sequence[Operator]) -> Mapping[str, Number | None]:
    """Return the tuples out of every operator per tuple of its only stream; None above joins and windows."""
    found: dict[str, Number | None] = {stream.name: 1 for stream in streams}
    for operator in operators:
        found[operator.name] = _share_out(operator, found)
    return found


def _share_out(operator: Operator, shares: Mapping[str, Number | None]) -> Number | None:
    """Return the tuples out of an operator per tuple of its only stream, given those of its inputs."""
    below = shares[operator.inputs[0]]
    if below is None or operator.kind == "close" or len(operator.inputs) > 1:
        return None
    return below * operator.selectivity


def derived(
    streams: Sequence[Stream], operators: tuple[Operator, ...], panes: Mapping[str, Panes]
) -> tuple[Operator, ...]:
    """Return the operators with the selectivities that follow from rates, panes and groups; inputs come first."""
    if not any(operator.derived for operator in operators):
        return operators
    rates: dict[str, Number | None] = {stream.name: stream.rate for stream in streams}
    found: dict[str, Operator] = {}
    part: dict[str, Number | None] = {stream.name: 1 for stream in streams}
    for operator in operators:
        below = operator.inputs[0]
        if operator.derived:
            if operator.kind == "aggregate":
                made = _partial_rows(operator, Supply(rates[below], part[below]), panes)
            else:
                source = found[below].inputs[0]
                made = _results(operator, found[below], Supply(rates[source], part[source]), panes[below])
            operator = replace(operator, selectivity=made)
        found[operator.name] = operator
        rates[operator.name] = _rate_out(operator, rates)
        part[operator.name] = _share_out(operator, part)
    return tuple(found.values())


def _rate_out(operator: Operator, rates: Rates) -> Number | None:
    known = [(port, rate) for port, name in enumerate(operator.inputs) if (rate := rates[name]) is not None]
    if len(known) < len(operator.inputs):
        return None
    return sum(rate * outputs_per_tuple(operator, port, rates) for port, rate in known)


def _partial_rows(operator: Operator, supply: Supply, panes: Mapping[str, Panes]) -> Number:
    """Return the partial rows of an aggregate per tuple: g (1 − e^(−rp/g)) / (rp)."""
    if operator.name not in panes:
        raise NetworkError(
            f"operator {operator.name!r} is an aggregate without windows: give its selectivity, or let a 'close' "
            "with windows (series=) read it"
        )
    here = panes[operator.name]
    tuples = supply.tuples(here, here.size)
    made = supply.groups(here, operator.groups or 1, here.size)
    if tuples is None or made is None:
        raise _unknown(operator, here)
    return here.covered * (min(made / tuples, 1) if tuples else 1)


def _results(operator: Operator, below: Operator, supply: Supply, panes: Panes) -> Number:
    """Return the results of a close per partial row that is made: groups of a window ÷ partial rows of a slide."""
    assert operator.series is not None
    made = supply.groups(panes, below.groups or 1, operator.series.size)
    slid = supply.tuples(panes, operator.series.slide)
    if made is None or slid is None:
        raise _unknown(operator, panes)
    rows = slid * below.selectivity
    return made / rows if rows else operator.series.size / operator.series.slide / panes.covered


@dataclass(frozen=True)
class WindowWork:
    """The work of a close, in partial rows: how many a window merges, and how many are made in a slide."""

    rows: Number
    per_slide: Number


def all_window_work(
    streams: Sequence[Stream], operators: Sequence[Operator], rates: Rates, panes: Mapping[str, Panes]
) -> Mapping[Edge, WindowWork]:
    """Return the work of every close, by its queue. Panes in gaps have no partial rows."""
    per_row = shares(streams, operators)
    found = {}
    for name, here in panes.items():
        pace = (per_row if here.kind == "rows" else rates)[name]
        for reader, window in here.readers.items():
            if pace is None:
                raise NetworkError(
                    f"the partial rows in a window of operator {reader!r} are unknown: give the streams below it "
                    "rates"
                )
            slide = pace * window.slide
            found[Edge(name, reader, 0)] = WindowWork(slide * here.merges(reader), slide)
    return found


def _unknown(operator: Operator, panes: Panes) -> NetworkError:
    if panes.kind == "range":
        return NetworkError(
            f"the selectivity of operator {operator.name!r} is that of windows of time over a stream whose rate "
            "is unknown: give the stream a rate, or the operator a selectivity"
        )
    return NetworkError(
        f"operator {operator.name!r} has windows of rows, which count the tuples of one stream, above a join or "
        "other windows: use windows of time"
    )


def check_rows(operators: Sequence[Operator], streams: Sequence[Stream], panes: Mapping[str, Panes]) -> None:
    """Raise if windows of rows are above a join or other windows, where tuples have no position in a stream."""
    if any(each.kind == "rows" for each in panes.values()):
        known = shares(streams, operators)
        for operator in operators:
            if (
                operator.name in panes
                and panes[operator.name].kind == "rows"
                and known[operator.inputs[0]] is None
            ):
                raise _unknown(operator, panes[operator.name])


def windowed_aggregate(
    name: str, source: str, *, cost: Number, window: SlidingWindow, groups: int, by: str, close_cost: Number,
    having: Number, size: Number | None, result_size: Number | None,
) -> tuple[Operator, Operator, Operator | None]:  # fmt: skip
    """Return the operators of an aggregate over windows: partial aggregates, the close, and HAVING if it selects.

    The last of them has the name of the aggregate. The first is equal to that of another aggregate of the same
    source, kind of window, `by` and groups.
    """
    if not isinstance(by, str):
        raise NetworkError(f"what aggregate {name!r} groups by is a text, not {by!r}")
    if not isinstance(window, SlidingWindow):
        raise NetworkError(f"the window of aggregate {name!r} must be a SlidingWindow, not {window!r}")
    what = f"{window.kind} panes" + (f" by {by}" if by else "")
    partial = Operator(
        f"{name}.partial", (source,), cost, kind="aggregate", size=size, expression=what, groups=groups
    )
    top = name if having == 1 else f"{name}.close"
    close = Operator(top, (partial.name,), close_cost, kind="close", size=result_size, series=window)
    return partial, close, None if having == 1 else Operator(name, (top,), close_cost, having)


def merged(partial: Operator, known: Operator | None, name: str) -> Operator:
    """Return the partial aggregates that the aggregate `name` reads: those that exist already, if they fit."""
    if known is None or known.name == partial.name:
        return partial
    if (known.cost, known.size) != (partial.cost, partial.size):
        raise NetworkError(
            f"aggregate {name!r} shares the partial aggregates {known.name!r}, which have another cost or size: "
            "give the same, or say that it groups by something else (by=)"
        )
    return known
