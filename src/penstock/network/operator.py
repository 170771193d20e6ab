"""The parts of a network: streams, operators, windows, queues and queries. Each checks itself when built."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast, get_args

from penstock.errors import NetworkError
from penstock.network.numbers import Number, checked

Kind = Literal["select", "project", "lookup", "join", "aggregate", "close", "order"]
"""``lookup`` joins a stream with a stored table; ``join`` joins streams with each other. ``aggregate`` makes
partial aggregates of the rows of a pane; ``close`` merges those of a window when it closes. ``order`` puts the
rows of a derived stream in the order of time."""

NOT_GIVEN = cast(Number, None)
"""The default of a number that follows from others."""

MOST_GROUPS = 2**53
"""The largest number of groups: above it, not every whole number is a float."""


class Edge(NamedTuple):
    """A queue: tuples from `source` (a stream or an operator) for input `port` of the operator `target`."""

    source: str
    target: str
    port: int

    def __str__(self) -> str:
        return f"{self.source}→{self.target}" + (f"#{self.port}" if self.port else "")


@dataclass(frozen=True)
class Window:
    """A window of one input of a join: the last `size` seconds (range) or tuples (rows)."""

    kind: Literal["range", "rows"]
    size: Number

    def __post_init__(self) -> None:
        if self.kind not in ("range", "rows"):
            raise NetworkError(f"a window is 'range' or 'rows', not {self.kind!r}")
        object.__setattr__(self, "size", checked(self.size, f"the size of a {self.kind} window", above=0))


@dataclass(frozen=True)
class SlidingWindow:
    """The windows of an aggregate: [k·slide, k·slide + size) for k = 0, 1, …, in seconds or in tuples.

    The default slide is the size: tumbling windows. A slide above the size leaves gaps.

    >>> SlidingWindow("range", 10).slide
    10
    """

    kind: Literal["range", "rows"]
    size: Number
    slide: Number = NOT_GIVEN

    def __post_init__(self) -> None:
        if self.kind not in ("range", "rows"):
            raise NetworkError(f"a sliding window is 'range' or 'rows', not {self.kind!r}")
        if self.slide is None:
            object.__setattr__(self, "slide", self.size)
        for part in ("size", "slide"):
            what = f"the {part} of a sliding {self.kind} window"
            value = checked(getattr(self, part), what, above=0)
            if self.kind == "rows" and value != int(value):
                raise NetworkError(f"{what} is a whole number of rows, not {value}")
            object.__setattr__(self, part, value)


@dataclass(frozen=True)
class Stream:
    """A source of tuples: its average `rate` per second, if known, and the `size` of a tuple."""

    name: str
    rate: Number | None = None
    size: Number = 1

    def __post_init__(self) -> None:
        check_name(self.name, "a stream")
        size = checked(self.size, f"the tuple size of stream {self.name!r}", above=0)
        object.__setattr__(self, "size", size)
        if self.rate is not None:
            rate = checked(self.rate, f"the rate of stream {self.name!r}", above=0)
            object.__setattr__(self, "rate", rate)


@dataclass(frozen=True)
class Operator:
    """A pipelined operator: `cost` seconds per input tuple, `selectivity` output tuples per input tuple.

    A join may have a different cost for each input.

    With `windows`, one for each input, it is a sliding-window join: a tuple is compared with every tuple in the
    windows of the other inputs, and `selectivity` is the share of combinations that pass. `size` is that of an
    output tuple; None means the size of the input. `expression` says what it computes, if known.

    An operator of kind ``close`` with a `series` closes these windows. Its queue holds closed windows, and its
    cost is per partial row of a window. The ``aggregate`` below it makes a partial row per pane and group, of
    `groups` distinct keys (None: 1). If their selectivity is not given, it is `derived`: the network computes it.
    """

    name: str
    inputs: tuple[str, ...]
    cost: Number | tuple[Number, ...]
    selectivity: Number = NOT_GIVEN
    """1, if it is neither given nor derived."""
    kind: Kind = "select"
    size: Number | None = None
    windows: tuple[Window, ...] = ()
    expression: str = ""
    groups: int | None = None
    series: SlidingWindow | None = None
    derived: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "an operator")
        label = f"operator {self.name!r}"
        if self.selectivity is None:
            object.__setattr__(self, "selectivity", 1)
            object.__setattr__(self, "derived", self.kind == "aggregate" or self.series is not None)
        object.__setattr__(self, "inputs", _names(self.inputs, label))
        object.__setattr__(self, "windows", listed(self.windows, f"the windows of {label}"))
        if not isinstance(self.expression, str):
            raise NetworkError(f"the expression of {label} must be a string, not {self.expression!r}")
        object.__setattr__(self, "cost", _cost(self.cost, len(self.inputs), label))
        selectivity = checked(self.selectivity, f"the selectivity of {label}", at_least=0)
        object.__setattr__(self, "selectivity", selectivity)
        if self.size is not None:
            size = checked(self.size, f"the output tuple size of {label}", at_least=0)
            object.__setattr__(self, "size", size)
        self._check_kind(label)

    @property
    def costs(self) -> tuple[Number, ...]:
        """Time per tuple of each input."""
        return self.cost if isinstance(self.cost, tuple) else (self.cost,) * len(self.inputs)

    @property
    def identity(self) -> tuple[object, ...]:
        """The key of equal operators, regardless of measures.

        Operators are equal if they compute the same expression from the same inputs. Without an expression, all
        fields must be equal.
        """
        if self.expression:
            return self.kind, self.inputs, self.windows, self.expression, self.groups, self.series
        return (replace(self, selectivity=1) if self.derived else self,)

    def _check_kind(self, label: str) -> None:
        if self.kind not in get_args(Kind):
            raise NetworkError(
                f"{label} has the unknown kind {self.kind!r}; the kinds are {', '.join(get_args(Kind))}"
            )
        if self.kind == "join" and len(self.inputs) < 2:
            raise NetworkError(f"{label} is a join and needs at least two inputs, not {len(self.inputs)}")
        if self.kind not in ("join", "order") and len(self.inputs) != 1:
            raise NetworkError(f"{label} is a {self.kind} and needs one input, not {len(self.inputs)}")
        if self.kind in ("select", "project", "aggregate") and self.selectivity > 1:
            raise NetworkError(
                f"{label} is a {self.kind} and cannot have a selectivity above 1 ({self.selectivity}); "
                "a join with a stored table is a 'lookup'"
            )
        self._check_aggregate(label)
        if not all(isinstance(window, Window) for window in self.windows):
            raise NetworkError(f"the windows of {label} must be Window values, not {self.windows!r}")
        if self.windows and self.kind != "join":
            raise NetworkError(f"{label} is a {self.kind} and cannot have windows")
        if self.windows and len(self.windows) != len(self.inputs):
            raise NetworkError(
                f"{label} has {len(self.inputs)} inputs and {len(self.windows)} windows; every input needs one"
            )

    def _check_aggregate(self, label: str) -> None:
        if self.groups is not None:
            if self.kind != "aggregate":
                raise NetworkError(f"{label} is a {self.kind} and has no groups; an 'aggregate' has")
            groups = checked(self.groups, f"the groups of {label}", at_least=1)
            if groups != int(groups) or groups > MOST_GROUPS:
                raise NetworkError(f"the groups of {label} are a whole number up to 2⁵³, not {self.groups}")
            object.__setattr__(self, "groups", int(groups))
        if self.series is not None:
            if self.kind != "close":
                raise NetworkError(f"{label} is a {self.kind} and closes no windows; a 'close' does")
            if not isinstance(self.series, SlidingWindow):
                raise NetworkError(f"the series of {label} must be a SlidingWindow, not {self.series!r}")
        if self.derived and self.kind not in ("aggregate", "close"):
            raise NetworkError(f"the selectivity of {label}, a {self.kind}, cannot be derived: give it")


@dataclass(frozen=True)
class Query:
    """A continuous query: a name, and the operator whose output is its result.

    `ideal` is the measured time of a result when nothing else runs; None: the sum over its operators. `weight`
    is the weight of its results compared with those of other queries. For a query that stands for a group,
    `weight` is the average and `greatest` the greatest of the members' weights.
    """

    name: str
    root: str
    ideal: Number | None = None
    weight: Number = 1
    greatest: Number | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "a query")
        check_name(self.root, f"the root of query {self.name!r}")
        if self.ideal is not None:
            ideal = checked(self.ideal, f"the ideal time of query {self.name!r}", above=0)
            object.__setattr__(self, "ideal", ideal)
        for part in ("weight", "greatest"):
            if getattr(self, part) is not None:
                weight = checked(getattr(self, part), f"the weight of query {self.name!r}", at_least=0)
                object.__setattr__(self, part, weight)


def check_name(name: object, what: str) -> None:
    """Raise unless `name` is a string that is not blank."""
    if not isinstance(name, str) or not name.strip():
        raise NetworkError(f"the name of {what} must be a non-empty string, not {name!r}")


def _cost(cost: object, inputs: int, label: str) -> Number | tuple[Number, ...]:
    if not isinstance(cost, Sequence) or isinstance(cost, str):
        return checked(cost, f"the cost of {label}", above=0)
    if len(cost) != inputs:
        raise NetworkError(
            f"{label} has {inputs} inputs and {len(cost)} costs; give one cost for all, or one for each"
        )
    return tuple(checked(each, f"the cost of input {port} of {label}", above=0) for port, each in enumerate(cost))


def _names(names: object, label: str) -> tuple[str, ...]:
    checked_names = listed(names, f"the inputs of {label}")
    for name in checked_names:
        check_name(name, f"an input of {label}")
    return checked_names


def listed(values: object, what: str) -> tuple[Any, ...]:
    """Return `values` as a tuple, or raise if it is a string or not iterable."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise NetworkError(f"{what} must be a list, not {values!r}")
    return tuple(values)
