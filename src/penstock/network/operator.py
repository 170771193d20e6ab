"""The parts of a network, as values that check themselves when built."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from penstock.errors import NetworkError
from penstock.network.numbers import Number, checked

Kind = Literal["select", "project", "lookup", "join"]
"""``lookup`` joins a stream with a stored table; ``join`` joins streams with each other."""


class Edge(NamedTuple):
    """A queue: what `source` (a stream or an operator) sends to input `port` of the operator `target`."""

    source: str
    target: str
    port: int

    def __str__(self) -> str:
        return f"{self.source}→{self.target}" + (f"#{self.port}" if self.port else "")


@dataclass(frozen=True)
class Window:
    """How much of one input a join remembers: the last `size` seconds (range) or tuples (rows)."""

    kind: Literal["range", "rows"]
    size: Number

    def __post_init__(self) -> None:
        if self.kind not in ("range", "rows"):
            raise NetworkError(f"a window is 'range' or 'rows', not {self.kind!r}")
        object.__setattr__(self, "size", checked(self.size, f"the size of a {self.kind} window", above=0))


@dataclass(frozen=True)
class Stream:
    """A source of tuples: its mean `rate` per second, where known, and the `size` of a tuple."""

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

    A join may have a cost for each input, where a tuple of one side takes longer than one of the other.

    With `windows`, one for each input, it is a sliding-window join: a tuple meets every tuple that the other
    inputs' windows hold, and `selectivity` is the share of those combinations that it passes. `size` is that
    of an output tuple; None means as large as the input. `expression` says what it computes, where known.
    """

    name: str
    inputs: tuple[str, ...]
    cost: Number | tuple[Number, ...]
    selectivity: Number = 1
    kind: Kind = "select"
    size: Number | None = None
    windows: tuple[Window, ...] = ()
    expression: str = ""

    def __post_init__(self) -> None:
        check_name(self.name, "an operator")
        label = f"operator {self.name!r}"
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
        """What makes it the same operator as another, whatever their measures.

        That is what it computes, of what. Where no expression says so, only its name and numbers can.
        """
        return (self.kind, self.inputs, self.windows, self.expression) if self.expression else (self,)

    def _check_kind(self, label: str) -> None:
        if self.kind not in get_args(Kind):
            raise NetworkError(f"{label} has the unknown kind {self.kind!r}; known: {', '.join(get_args(Kind))}")
        if self.kind == "join" and len(self.inputs) < 2:
            raise NetworkError(f"{label} is a join and needs two inputs or more, not {len(self.inputs)}")
        if self.kind != "join" and len(self.inputs) != 1:
            raise NetworkError(f"{label} is a {self.kind} and needs one input, not {len(self.inputs)}")
        if self.kind in ("select", "project") and self.selectivity > 1:
            raise NetworkError(
                f"{label} is a {self.kind} and cannot make more of its input (selectivity {self.selectivity}); "
                "a join with a stored table is a 'lookup'"
            )
        if not all(isinstance(window, Window) for window in self.windows):
            raise NetworkError(f"the windows of {label} must be Window values, not {self.windows!r}")
        if self.windows and self.kind != "join":
            raise NetworkError(f"{label} is a {self.kind} and has no windows")
        if self.windows and len(self.windows) != len(self.inputs):
            raise NetworkError(
                f"{label} has {len(self.inputs)} inputs and {len(self.windows)} windows; every input needs one"
            )


@dataclass(frozen=True)
class Query:
    """A continuous query: a name, and the operator whose output is its result.

    `ideal` is the time a result takes alone, where an engine has measured it; None: what its operators take.
    `weight` says how much a result of it counts beside those of others. Where it stands for several queries,
    `weight` is their average and `greatest` the greatest of their weights.
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
    """Raise unless `name` is a string with something in it."""
    if not isinstance(name, str) or not name.strip():
        raise NetworkError(f"the name of {what} must be a string that is not empty, not {name!r}")


def _cost(cost: object, inputs: int, label: str) -> Number | tuple[Number, ...]:
    if not isinstance(cost, Sequence) or isinstance(cost, str):
        return checked(cost, f"the cost of {label}", above=0)
    if len(cost) != inputs:
        raise NetworkError(f"{label} has {inputs} inputs and {len(cost)} costs; give one for all, or one each")
    return tuple(checked(each, f"the cost of input {port} of {label}", above=0) for port, each in enumerate(cost))


def _names(names: object, label: str) -> tuple[str, ...]:
    checked_names = listed(names, f"the inputs of {label}")
    for name in checked_names:
        check_name(name, f"an input of {label}")
    return checked_names


def listed(values: object, what: str) -> tuple[Any, ...]:
    """Return `values` as a tuple, or raise: a string is one value, not many."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise NetworkError(f"{what} must be a list, not {values!r}")
    return tuple(values)
