"""The terminal output of `penstock simulate`: the workload, a table of policies, notes; and the populations."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.style import COMPACT, NONE, plural, rate, seconds, wide_console

if TYPE_CHECKING:
    from penstock.workloads import Population

AGGREGATES = "aggregates"
AGGREGATES, OTHERS = "aggregates", "other queries"
"""Classes of the queries of a file, if some have aggregates over windows."""
_COLUMNS = (
    ("avg_response", "response", "avg"),
    ("max_response", "", "max"),
    ("l2_response", "", "ℓ2"),
    ("avg_slowdown", "slowdown", "avg"),
    ("max_slowdown", "", "max"),
    ("l2_slowdown", "", "ℓ2"),
    ("mean_memory", "memory", "mean"),
    ("peak_memory", "", "peak"),
)
_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
_LEVELS = {"query": "decisions after every query", "operator": "decisions after every operator"}


def shown(found: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Yield the parts of the screen."""
    yield from _simulated(found)
    if found["policies"]:
        yield Text(_results(found["policies"]))
        yield _table(found["policies"])
        yield from _aggregates(found["policies"])
        yield from _chosen(found["policies"])
        yield from _weighed(found)
    for note in found["notes"]:
        yield Text(note, style="yellow")
    if found["unfinished"]:
        yield Text(f"Stopped: {', '.join(found['unfinished'])} did not finish.", style="yellow")


def _aggregates(policies: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Yield the results of aggregates and of other queries apart, if there are aggregates."""
    for kind in policies[0]["per_class"] if AGGREGATES in policies[0]["per_class"] else ():
        rows = [{"policy": each["policy"], "metrics": each["per_class"][kind]} for each in policies]
        columns = [*_COLUMNS[:6]]
        if "p99_response" in rows[0]["metrics"]:
            columns.insert(1, ("p99_response", "", "99 %"))
        of = ", from the end of the window" if kind == AGGREGATES else ""
        yield _table_of(rows, columns, f"Results of {kind}{of}")


def _chosen(policies: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """Yield which policies each selector ran."""
    for each in policies:
        if each["chosen"]:
            shares = sorted(each["chosen"]["shares"].items(), key=lambda item: -item[1])
            ran = ", ".join(f"{name} {share:.0%}" for name, share in shares if share >= 0.005)
            switches = plural(each["chosen"]["switches"], "change")
            yield Text(f"{each['policy']} ran {ran}; {switches}; goals: {each['chosen']['goals']}.")


def _weighed(found: Mapping[str, Any]) -> Iterator[Text]:
    """Yield the slowdowns of queries with a given weight."""
    for query, weight in found["weights"].items():
        each = [(policy["policy"], policy["weighed"][query].get("avg_slowdown")) for policy in found["policies"]]
        said = ", ".join(f"{name} {brief(value)}" for name, value in each if value is not None)
        yield Text(f"{query}, weight {weight:g}: average slowdown {said or 'unknown, without results'}.")


def _simulated(found: Mapping[str, Any]) -> Iterator[Text]:
    parts = (
        plural(found["queries"], "query", "queries"),
        plural(found["operators"], "operator"),
        plural(len(found["streams"]), "stream"),
    )
    yield Text.assemble((found["network"], "bold"), f"  {', '.join(parts)}")
    kinds = ", ".join(dict.fromkeys(stream["arrivals"] for stream in found["streams"]))
    over = f" in {seconds(found['seconds'])} s" if found["seconds"] else " at one time"
    line = Text(f"{plural(found['tuples'], 'tuple')}{over}, {kinds}, seed {found['seed']}")
    if found["seconds"]:
        line.append(f", {rate(found['tuples'] / found['seconds'])}/s")
    yield line.append_text(_load(found))
    options = [
        f"set-up cost {found['setup_cost']:g} s" if found["setup_cost"] else "",
        f"memory limit {found['memory']:g}" if found["memory"] is not None else "",
        _LEVELS.get(found["level"], ""),
        "joins wait for an empty input" if found["blocking"] else "",
    ]
    if any(options):
        yield Text(", ".join(filter(None, options)))
    if found["note"]:
        yield Text(found["note"], style="dim")


def _load(found: Mapping[str, Any]) -> Text:
    nominal, arrived = found["load"], found["load_as_arrived"]
    if arrived is None:
        return Text("" if nominal is None else f"; load {nominal:.2f}")
    style = "yellow" if arrived > 1 else ""
    by_rates = "" if nominal is None or f"{nominal:.2f}" == f"{arrived:.2f}" else f" ({nominal:.2f} by the rates)"
    return Text.assemble("; ", (f"load {arrived:.2f}", style), by_rates)


def _results(policies: Sequence[Mapping[str, Any]]) -> str:
    """Return the number of results, if it is the same for all policies; if not, a column of the table has it."""
    counts = {int(policy["metrics"]["outputs"]) for policy in policies}
    return (
        plural(counts.pop(), "result")
        if len(counts) == 1
        else "the number of results differs by policy: windows of rows hold what was served"
    )


def _table(policies: Sequence[Mapping[str, Any]]) -> Table:
    differ = len({policy["metrics"]["outputs"] for policy in policies}) > 1
    return _table_of(policies, (*_COLUMNS, ("outputs", "results", "")) if differ else _COLUMNS)


def _table_of(
    policies: Sequence[Mapping[str, Any]], columns: Sequence[tuple[str, str, str]], title: str | None = None
) -> Table:
    unit, size = _unit(policies)
    caption = f"responses in {unit}" + ("; * best of the column" if len(policies) > 1 else "")
    table = Table(title=title, box=SIMPLE_HEAD, caption=caption, **{**COMPACT, "padding": 0})
    table.add_column("\npolicy", overflow="fold")
    for _, above, below in columns:
        table.add_column(f"{above}\n{below} ", justify="right", no_wrap=True)
    cells = {key: _column(policies, key, size if "response" in key else 1.0) for key, *_ in columns}
    for place, policy in enumerate(policies):
        table.add_row(Text(policy["policy"]), *(cells[key][place] for key, *_ in columns))
    return table


def _column(policies: Sequence[Mapping[str, Any]], key: str, size: float) -> list[Text]:
    """Return a metric of all policies, the lowest marked unless all are equal."""
    values = [policy["metrics"].get(key) for policy in policies]
    known = [value for value in values if value is not None]
    best = min(known, default=0.0)
    differ = key != "outputs" and any(not math.isclose(value, best, rel_tol=1e-9) for value in known)
    return [
        _cell(value, size, differ and value is not None and math.isclose(value, best, rel_tol=1e-9))
        for value in values
    ]


def _cell(value: float | None, size: float, best: bool) -> Text:
    if value is None:
        return NONE
    return Text(f"{brief(value / size)}*", "bold green") if best else Text(f"{brief(value / size)} ")


def _unit(policies: Sequence[Mapping[str, Any]]) -> tuple[str, float]:
    """Return the unit in which the longest response is above 1 and no average is lost below 0.01."""
    longest = max((policy["metrics"].get("max_response", 0.0) for policy in policies), default=0.0)
    least = min((policy["metrics"].get("avg_response", math.inf) for policy in policies), default=math.inf)
    fitting = (each for each in _UNITS if longest >= each[1] and least >= 0.01 * each[1])
    return next(fitting, _UNITS[-1])


def brief(value: float) -> str:
    """Return a number with three digits, in at most five characters.

    >>> [brief(value) for value in (0, 0.01234, 1.2345, 98.76, 999.9, 12345, 1.5e7)]
    ['0', '0.012', '1.23', '98.8', '1.00k', '12.3k', '15.0M']
    """
    if value == 0:
        return "0"
    for unit in ("", "k", "M", "G", "T"):
        if abs(value) < 999.5:
            digits = 3 if value < 0.9995 else 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{digits}f}{unit}"
        value /= 1000
    return f"{value * 1000:.0e}T"


def show_populations(as_json: bool) -> None:
    """List the populations, one per line."""
    from penstock.workloads import POPULATIONS

    rows = [_about(build()) | {"about": _first_words(build.__doc__ or "")} for build in POPULATIONS.values()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    table = Table(title="Populations: the queries of the papers' experiments", box=SIMPLE_HEAD, **COMPACT)
    table.add_column("name", no_wrap=True, style="bold")
    for header in ("queries", "load"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("")
    for row in rows:
        table.add_row(*map(str, row.values()))
    wide_console().print(table, highlight=False)


def _about(found: "Population") -> dict[str, object]:
    return {"name": found.name, "queries": len(found.network.queries), "load": round(found.load, 6)}


def _first_words(docstring: str) -> str:
    """Return the first sentence of a docstring without its "Return"."""
    return docstring.splitlines()[0].removeprefix("Return ").split(". ")[0].rstrip(".").replace("`", "")
