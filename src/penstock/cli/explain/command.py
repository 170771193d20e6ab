"""`penstock explain`: shows the plan of a script without running it."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from penstock.cli.style import COMPACT, amount, plural, share, size, span, wide_console

MOST_ALIKE = 12
"""Lines shown about similar queries."""
_PLAIN = re.compile(r"`([^\W\d]\w*)`")
"""A name that needs no back-quotes."""
_TIMES = {"lateness", "idle", "quantum", "publish", "chunk_time"}
"""Options and settings in microseconds."""


def explain(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The script.", exists=True, dir_okay=False, show_default=False)
    ],
    policy: Annotated[
        str | None, typer.Option(help="Show the units of this policy; overrides the script's.")
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The summary of a run, from `penstock run --json`.", exists=True, dir_okay=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")] = False,
) -> None:
    """Show the plan of a script: operators, what is shared, windows, columns, units and their priorities.

    Queries that differ only in constants run as one group; for similar queries that do not, it shows the first
    difference. For joins, it shows the order in which rows probe the windows, as the optimizer chooses and as
    written, and the utilisation of both. Nothing is started. Exits with 1 if the script is wrong.

    Examples: `penstock explain traffic.sql`; `penstock explain traffic.sql --policy chain`;
    `penstock explain traffic.sql --json | jq '.queries.echo'`;
    `penstock run joins.sql --drain --json > run.json; penstock explain joins.sql --measured run.json`
    """
    from penstock.cli.explain.explanation import explanation

    found = explanation(file, policy, measured)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _show(wide_console(), file.name, found)


def _show(console: Console, title: str, found: dict[str, Any]) -> None:
    from penstock.cli.explain.orders import shown

    shared = sum(len(operator["queries"]) > 1 for operator in found["operators"].values())
    counts = [
        plural(len(found["streams"]), "stream"),
        plural(len(found["tables"]), "table"),
        plural(len(found["queries"]), "query", "queries"),
        f"{plural(len(found['operators']), 'operator')}, {shared:,} of them shared",
    ]
    console.print(Text(title, style="bold").append(f": {', '.join(counts)}\n", style="not bold"))
    for kind in ("stream", "table"):
        if found[f"{kind}s"]:
            console.print(_relations(kind, found[f"{kind}s"]))
    if found["settings"]:
        settings = ", ".join(f"{name} = {_value(name, value)}" for name, value in found["settings"].items())
        console.print(Text("settings  ", style="dim").append(settings, style="not dim"), end="\n\n")
    for name, query in found["queries"].items():
        if query["group"] is None:
            console.print(_tree(name, [name], found))
            console.print()
        elif name == found["groups"][query["group"]]["queries"][0]:
            console.print(_tree(query["group"], found["groups"][query["group"]]["queries"], found))
            console.print()
    if found["alike"]:
        console.print(_alike(found))
    for name, operator in found["operators"].items():
        if len(operator.get("orders", ())) > 2:  # of two streams each row has one other to probe
            console.print(shown(name, operator))
            console.print()
    if found["units"]:
        console.print(_units(found))
    for note in found["notes"]:
        console.print(Text(note, style="dim"))


def _relations(kind: str, relations: dict[str, Any]) -> Table:
    table = Table(box=SIMPLE_HEAD, **COMPACT)
    table.add_column(kind, overflow="fold")
    table.add_column("from", no_wrap=True)
    table.add_column("columns read, and others" if kind == "stream" else "columns", ratio=2)
    table.add_column("options", ratio=3)
    for name, relation in relations.items():
        reads = relation.get("reads", relation["columns"])
        columns = Text(", ").join(
            Text(column, style="" if column in reads else "dim strike") for column in relation["columns"]
        )
        options = ", ".join(f"{option}={_value(option, value)}" for option, value in relation["options"].items())
        table.add_row(Text(name), relation["source"], columns, Text(options, style="dim"))
    return table


def _value(name: str, value: object) -> str:
    """Return the value of an option or a setting with its usual unit."""
    if name in _TIMES and isinstance(value, int):
        return span(value)
    if name == "memory" and isinstance(value, int):
        return size(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 1e6:
        return amount(value)
    return str(value)


def _tree(title: str, queries: list[str], found: dict[str, Any]) -> Tree:
    label = Text(title, style="bold")
    if title not in found["queries"]:
        count = plural(len(queries), "query", "queries")
        label.append(f"  {count} that differ in constants: {_some(queries)}", style="not bold green")
    tree = Tree(label, guide_style="dim")
    _grow(tree, found["queries"][queries[0]]["root"], queries, found, "")
    return tree


def _grow(tree: Tree, node: str, queries: list[str], found: dict[str, Any], window: str) -> None:
    query = queries[0]
    operator = found["operators"].get(node)
    if operator is None:
        own = found["queries"][query]["reads"]
        reads = ", ".join(own[node] if node in own else found["streams"][node]["reads"]) or "no column"
        tree.add(Text.assemble((node, "cyan"), window, (f"  reads {reads}", "dim")))
        return
    windows = [f" {each['window']} AS p{port}" for port, each in enumerate(operator.get("windows", ()))]
    label = Text.assemble((f"{node}  ", "cyan"), _readable(operator, query, found))
    mine = set(queries)
    others = [other for other in operator["queries"] if other not in mine]
    if others:
        label.append(f"\nshared with {_some(others)}", style="green")
    branch = tree.add(label)
    for port, source in enumerate(operator["inputs"]):
        _grow(branch, source, queries, found, windows[port] if windows else window)


def _readable(operator: dict[str, Any], query: str, found: dict[str, Any]) -> str:
    """Return an operator's SQL in readable form: `__p0_src AS src` of a join is p0.src AS src."""
    sql: str = operator["sql"]
    if operator["kind"] == "join":
        _, _, condition = sql.partition(" ON ")
        return "ON " + _PLAIN.sub(r"\1", condition) if condition else "every combination"
    if operator["kind"] in _SHOWN:
        return _PLAIN.sub(r"\1", _SHOWN[operator["kind"]](operator))
    sql = re.sub(r"`__p(\d+)_", r"p\1.`", sql)
    for name in found["queries"][query]["operators"]:
        looked_up = found["operators"][name]
        for column, expression in looked_up.get("names", {}).items():
            sql = sql.replace(f"`{column}`", expression)
        if looked_up["kind"] == "lookup":
            sql = sql.replace(f"`{looked_up['prefix']}", f"{looked_up['table']}.`")
    sql = _PLAIN.sub(r"\1", sql)
    return re.sub(r"(^|, )(\w+|`[^`]+`) AS \2(?=, |$)", r"\1\2", sql)


def _panes(operator: dict[str, Any]) -> str:
    """Return partial aggregates as text."""
    unit = " rows" if operator["panes"].isdecimal() else ""
    blocks = f" and blocks of {operator['blocks']}{unit}" if operator["blocks"] else ""
    keys = f" by {', '.join(operator['keys'])}" if operator["keys"] else ""
    return f"in panes of {operator['panes']}{unit}{blocks}{keys}: {', '.join(operator['aggregates']) or 'groups'}"


def _closes(operator: dict[str, Any]) -> str:
    """Return the windows that an operator closes as text."""
    return f"windows {_some(operator['closes'], 4)}"


_SHOWN: dict[str, Callable[[dict[str, Any]], str]] = {
    "aggregate": _panes,
    "close": _closes,
    "order": lambda operator: "rows of the stream in the order of time",
}


def _units(found: dict[str, Any]) -> Table:
    policy = found["policy"]
    title = f"units of {policy['name']}: {policy['formula']}"
    table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
    table.add_column(policy["unit"], overflow="fold")
    table.add_column("gain ÷ cost, first = 100", justify="right", no_wrap=True)
    table.add_column("for")
    top = found["units"][0]["priority"]
    for unit in found["units"]:
        relative = 100 * unit["priority"] / top if 0 < top < math.inf else unit["priority"]
        table.add_row(Text(unit["name"]), share(relative), Text(_some(unit["queries"]), style="dim"))
    return table


def _alike(found: dict[str, Any]) -> Table:
    table = Table(title="similar, but not in one group", box=SIMPLE_HEAD, **COMPACT)
    for header in ("query", "differs in", "here", "there", "from"):
        table.add_column(header, overflow="fold")
    for each in found["alike"][:MOST_ALIKE]:
        names, like = _some(each["queries"], 2), _some(each["like"], 2)
        table.add_row(*map(Text, (names, each["differs_in"], each["here"], each["there"], like)))
    if len(found["alike"]) > MOST_ALIKE:
        table.caption = f"and {len(found['alike']) - MOST_ALIKE:,} more: penstock explain --json lists all"
    return table


def _some(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
