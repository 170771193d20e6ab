"""Reads a join problem from a TOML or JSON file, or from options such as ``--rate A=10``."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from penstock.errors import PlanError, nearest
from penstock.network import Window
from penstock.optimizer import Filter, JoinMethod, JoinProblem

_Kind = TypeVar("_Kind", Filter, JoinMethod)
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_NUMBER = re.compile(r"\s*([0-9.eE+-]+)\s*([a-z]*)\s*")
_KEYS = ("rates", "windows", "selectivities", "join_cost", "methods", "filters", "capacity", "headroom", "share")
LARGEST_FILE = 1_000_000
"""Bytes; a problem of sixteen streams has a few thousand."""


def seconds(given: object, what: str) -> float:
    """Return a time in seconds: a number, or text with a unit.

    >>> seconds("3ms", "the cost"), seconds(0.003, "the cost")
    (0.003, 0.003)
    """
    number, unit = _split(given, what)
    return number * _unit(unit or "s", given, what)


def window(given: object, what: str) -> Window:
    """Return a window: a number of rows or, with a unit of time, a range.

    >>> window("100", "the window").kind, window("5 s", "the window").kind
    ('rows', 'range')
    """
    number, unit = _split(given, what)
    return Window("range", number * _unit(unit, given, what)) if unit else Window("rows", number)


def from_file(file: Path) -> dict[str, Any]:
    """Return the arguments of the join problem in a file."""
    if file.stat().st_size > LARGEST_FILE:
        raise PlanError(f"{file} is too large to be a join problem")
    try:
        text = file.read_text()
        found = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(
            f"{file} cannot be read as {'JSON' if file.suffix == '.json' else 'TOML'}: {error}"
        ) from None
    if not isinstance(found, dict):
        raise PlanError(f"{file} must hold a mapping with {', '.join(_KEYS[:4])}")
    for key in found:
        if key not in _KEYS:
            raise PlanError(f"{file}: {key!r} is not part of a problem.{nearest(key, _KEYS)}")
    return found


def pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """Return options such as ``A=10`` as a mapping.

    >>> pairs(["A=10", "B=70"], "--rate")
    {'A': '10', 'B': '70'}
    """
    found: dict[str, str] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not (name.strip() and sign and value.strip()):
            raise PlanError(f"{option} is NAME=NUMBER, such as {option} A=10, not {each!r}")
        if name.strip() in found:
            raise PlanError(f"{option} is given twice for {name.strip()!r}")
        found[name.strip()] = value.strip()
    return found


def made(given: Mapping[str, Any]) -> JoinProblem:
    """Return the join problem, checked."""
    arguments = dict(given)
    arguments["rates"] = {name: _plain(rate) for name, rate in mapping(given, "rates").items()}
    arguments["windows"] = {
        name: window(size, f"the window of stream {name!r}") for name, size in mapping(given, "windows").items()
    }
    arguments["selectivities"] = {
        _pair(name): _plain(share) for name, share in mapping(given, "selectivities").items()
    }
    if "join_cost" in given:
        arguments["join_cost"] = seconds(given["join_cost"], "the join_cost")
    arguments["methods"] = [_built(JoinMethod, each, "method") for each in _listed(given.get("methods", []))]
    arguments["filters"] = {
        name: [_built(Filter, each, "filter") for each in _listed(some)]
        for name, some in mapping(given, "filters").items()
    }
    return JoinProblem(**arguments)


def mapping(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a part of a problem that is a mapping, empty if it is missing."""
    found = given.get(key, {})
    if not isinstance(found, Mapping):
        raise PlanError(f"the {key} must be a mapping, not {found!r}")
    return found


def _listed(given: object) -> list[Any]:
    if not isinstance(given, list):
        raise PlanError(f"methods and filters are lists of mappings, not {given!r}")
    return given


def _built(kind: type[_Kind], given: object, what: str) -> _Kind:
    if not isinstance(given, Mapping):
        raise PlanError(f"a {what} is a mapping such as {{cost = '1ms'}}, not {given!r}")
    known = [each.name for each in fields(kind)]
    for key in given:
        if key not in known:
            raise PlanError(f"a {what} has no {key!r}.{nearest(key, known)}")
    for each in fields(kind):
        if each.default is MISSING and each.name not in given:
            raise PlanError(f"a {what} needs a {each.name}, and there is none in {dict(given)}")
    words = ("name", "selectivity")
    read: dict[str, Any] = {k: v if k in words else seconds(v, f"{k} of a {what}") for k, v in given.items()}
    return kind(**read)


def _pair(name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in name.split(","))


def _plain(given: object) -> object:
    """Return a number given as text; anything else stays as it is, and `JoinProblem` rejects it."""
    try:
        return float(given) if isinstance(given, str) else given
    except ValueError:
        return given


def _split(given: object, what: str) -> tuple[float, str]:
    if isinstance(given, int | float) and not isinstance(given, bool):
        return float(given), ""
    match = _NUMBER.fullmatch(str(given))
    try:
        return float(match[1]), match[2]  # type: ignore[index]
    except (TypeError, ValueError):
        raise PlanError(f"{what} must be a number, or one with a unit such as 3ms, not {given!r}") from None


def _unit(unit: str, given: object, what: str) -> float:
    if unit not in _UNITS:
        raise PlanError(f"{what}, {given!r}, has an unknown unit; there are {', '.join(_UNITS)}")
    return _UNITS[unit]
