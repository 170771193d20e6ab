"""Reads a network from a TOML or JSON file: streams, operators, aggregates, queries (docs/simulator.md)."""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from penstock.cli.join_problem import seconds, window
from penstock.errors import NetworkError, PlanError, nearest
from penstock.network import Network, Operator, Query, SlidingWindow, Stream
from penstock.network.aggregates import merged, windowed_aggregate
from penstock.network.operator import Kind

LARGEST_FILE = 50_000_000
"""Bytes; a network of ten thousand queries has a few million."""

_PARTS = ("stream", "operator", "aggregate", "query")
_STREAM = ("name", "rate", "size")
_OPERATOR = ("name", "input", "inputs", "cost", "selectivity", "kind", "size", "windows")
_AGGREGATE = (
    "name",
    "input",
    "window",
    "slide",
    "groups",
    "by",
    "cost",
    "close_cost",
    "having",
    "size",
    "result_size",
)
_QUERY = ("name", "root", "stream", "operators")
_Given = Mapping[str, Any]
_Made = TypeVar("_Made")


def network_from(file: Path) -> Network:
    """Return the network that a file describes, or raise with what is wrong and where."""
    try:
        return network_of(_read(file))
    except (NetworkError, PlanError) as error:
        raise NetworkError(f"{file}: {error}") from error


def network_of(given: _Given) -> Network:
    """Return the network of a file's content.

    >>> query = {"stream": "s", "operators": [["2ms", 0.5], [0.001, 1]]}
    >>> net = network_of({"stream": [{"name": "s", "rate": 10}], "query": [query]})
    >>> [(operator.name, operator.cost) for operator in net.operators]
    [('q1.o1', 0.002), ('q1.o2', 0.001)]
    """
    _check_keys(given, _PARTS, "a network")
    streams = [_stream(each, at) for each, at in _listed(given, "stream")]
    operators = [_operator(each, at) for each, at in _listed(given, "operator")]
    operators += _aggregates(_listed(given, "aggregate"))
    queries = []
    for number, (each, at) in enumerate(_listed(given, "query"), start=1):
        query, own = _query(each, at, number)
        queries.append(query)
        operators += own
    if not queries:
        raise NetworkError("there is no [[query]]: a network needs one at least")
    return Network(tuple(streams), tuple(operators), tuple(queries))


def _read(file: Path) -> _Given:
    if file.suffix not in (".toml", ".json"):
        raise NetworkError("a network must be a .toml or .json file (`penstock run` runs SQL scripts)")
    if file.stat().st_size > LARGEST_FILE:
        raise NetworkError(f"too large for a network: more than {LARGEST_FILE // 1_000_000} MB")
    kind = "JSON" if file.suffix == ".json" else "TOML"
    try:
        text = file.read_text(encoding="utf-8")
        found = json.loads(text) if kind == "JSON" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise NetworkError(f"cannot be read as {kind}: {error}") from None
    if not isinstance(found, dict):
        raise NetworkError("a network must be a mapping with stream, operator and query")
    return found


def _listed(given: _Given, part: str) -> list[tuple[_Given, str]]:
    """Return the mappings of a part, each with its name for error messages."""
    found = given.get(part, [])
    if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
        raise NetworkError(f"{part} must be a list of mappings: in TOML, [[{part}]] above each")
    called = []
    for number, each in enumerate(found, start=1):
        name = each.get("name")
        called.append((each, f"{part} {name!r}" if isinstance(name, str) else f"[[{part}]] number {number}"))
    return called


def _stream(given: _Given, at: str) -> Stream:
    _check_keys(given, _STREAM, at)
    _check_has(given, ["name"], at)
    return _named(at, lambda: Stream(given["name"], given.get("rate"), given.get("size", 1)))


def _operator(given: _Given, at: str) -> Operator:
    _check_keys(given, _OPERATOR, at)
    _check_has(given, ["name", "cost"], at)
    if ("input" in given) == ("inputs" in given):
        raise NetworkError(f"{at} needs either an input, one name, or inputs, a list of names")
    inputs = (given["input"],) if "input" in given else given["inputs"]
    cost = given["cost"]
    costs = tuple(seconds(each, f"a cost of {at}") for each in cost) if isinstance(cost, list) else None
    windows = given.get("windows", [])
    if not isinstance(windows, list):
        raise NetworkError(
            f'the windows of {at} are a list, one for each input, such as ["5 s", 100], not {windows!r}'
        )
    held = tuple(window(each, f"a window of {at}") for each in windows)
    for each in held:
        if each.kind == "rows" and each.size != int(each.size):
            raise NetworkError(f"a window of {at} holds {each.size:g} rows, which is not a whole number")
    selectivity = given.get("selectivity", 1)
    if held and isinstance(selectivity, int | float) and selectivity > 1:
        raise NetworkError(
            f"the selectivity of {at}, {selectivity}, is above 1: it is the share of pairs that match"
        )
    joins = isinstance(inputs, Sequence) and len(inputs) > 1
    return _named(
        at,
        lambda: Operator(
            given["name"],
            inputs,
            costs or seconds(cost, f"the cost of {at}"),
            selectivity,
            given.get("kind", "join" if joins else _kind(selectivity)),
            given.get("size"),
            held,
        ),
    )


def _aggregates(given: Sequence[tuple[_Given, str]]) -> list[Operator]:
    """Return the operators of aggregates; those that sum up the same share their partial rows."""
    operators: list[Operator] = []
    known: dict[tuple[object, ...], Operator] = {}
    for each, at in given:
        partial, close, select = _aggregate(each, at)
        below = merged(partial, known.setdefault(partial.identity, partial), close.name)
        operators += [partial] if below is partial else []
        operators += [replace(close, inputs=(below.name,)), *([select] if select else [])]
    return operators


def _aggregate(given: _Given, at: str) -> tuple[Operator, Operator, Operator | None]:
    _check_keys(given, _AGGREGATE, at)
    _check_has(given, ["name", "input", "window", "cost", "close_cost"], at)
    cost, close_cost = (seconds(given[key], f"the {key} of {at}") for key in ("cost", "close_cost"))
    held = window(given["window"], f"the window of {at}")
    slide = window(given.get("slide", given["window"]), f"the slide of {at}")
    if held.kind != slide.kind:
        raise NetworkError(f"the window and the slide of {at} are both times, or both numbers of rows")
    return _named(
        at,
        lambda: windowed_aggregate(
            given["name"],
            given["input"],
            cost=cost,
            window=SlidingWindow(held.kind, held.size, slide.size),
            groups=given.get("groups", 1),
            by=given.get("by", ""),
            close_cost=close_cost,
            having=given.get("having", 1),
            size=given.get("size"),
            result_size=given.get("result_size"),
        ),
    )


def _query(given: _Given, at: str, number: int) -> tuple[Query, list[Operator]]:
    """Return a query and, where it has the short form, the operators of its chain."""
    _check_keys(given, _QUERY, at)
    name = given.get("name", f"q{number}")
    if "root" in given:
        if "stream" in given or "operators" in given:
            raise NetworkError(f"{at} has a root: its stream and operators are those below it")
        return _named(at, lambda: Query(name, given["root"])), []
    if "stream" not in given or "operators" not in given:
        raise NetworkError(f"{at} needs a root or, in the short form, a stream and operators")
    chain = given["operators"]
    if not isinstance(chain, list) or not chain:
        raise NetworkError(f"the operators of {at} are a list of [cost, selectivity], the first one first")
    below, operators = given["stream"], []
    for place, pair in enumerate(chain, start=1):
        own = f"{name}.o{place}"
        if not isinstance(pair, list) or len(pair) != 2:
            raise NetworkError(f"operator {place} of {at} must be [cost, selectivity], not {pair!r}")
        cost = seconds(pair[0], f"the cost of operator {place} of {at}")
        operators.append(Operator(own, (below,), cost, pair[1], _kind(pair[1])))
        below = own
    return _named(at, lambda: Query(name, below)), operators


def _kind(selectivity: object) -> Kind:
    """Return the default kind of an operator with one input: a lookup if its selectivity is above 1."""
    more = isinstance(selectivity, int | float) and selectivity > 1
    return "lookup" if more else "select"


def _check_has(given: _Given, keys: Sequence[str], at: str) -> None:
    for key in keys:
        if key not in given:
            raise NetworkError(f"{at} has no {key}")


def _check_keys(given: _Given, known: Sequence[str], at: str) -> None:
    for key in given:
        if key not in known:
            hint = nearest(key, known) or f" There are {', '.join(known)}."
            raise NetworkError(f"{at} has no key {key!r}.{hint}")


def _named(at: str, make: Callable[[], _Made]) -> _Made:
    """Make a part; where its error does not name the part, add the name."""
    try:
        return make()
    except NetworkError as error:
        own = at.partition(" ")[2]
        raise error if own in str(error) else NetworkError(f"{at}: {error}") from error
