"""The summary of a run on the terminal: example results, then figures, then problems."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from penstock.cli.run.live_view import chosen_by, policy_shares
from penstock.cli.style import COMPACT, NONE, STATUS, plural, ratio, seconds, size

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.plan.probe_orders import JoinSummary
    from penstock.runtime.summary import QuerySummary, StreamSummary, Summary

Row = Mapping[str, Any]

KEPT = 5
"""Results kept of each query, to be shown."""

SHOWN = 20
"""Results shown of all queries together, but at least two of each."""

MOST_QUERIES = 20
"""Queries whose results are shown."""


class Examples:
    """The last few results of every query."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Row]] = {}

    def take(self, query: str, rows: "pa.Table") -> None:
        """Keep the last rows of a query."""
        from penstock.formats.json_rows import python_rows

        newest = python_rows(rows.slice(max(rows.num_rows - KEPT, 0)))
        self._rows[query] = [*self._rows.get(query, []), *newest][-KEPT:]

    def show(self, console: Console, summary: "Summary") -> None:
        """Print some results of each query."""
        found = {name: self._rows[name] for name in summary.queries if self._rows.get(name)}
        each = max(2, min(KEPT, SHOWN // max(len(found), 1)))
        for name, rows in list(found.items())[:MOST_QUERIES]:
            count = summary.queries[name].outputs
            said = "the only result" if count == 1 else f"the last of {count:,} results"
            console.print(Text.assemble((name, "bold"), f": {said}"))
            table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
            for column, value in rows[-1].items():
                numeric = isinstance(value, int | float) and not isinstance(value, bool)
                table.add_column(column, justify="right" if numeric else "left", overflow="fold")
            for row in rows[-each:]:
                table.add_row(*(NONE if value is None else Text(str(value)) for value in row.values()))
            console.print(Padding(table, (0, 0, 1, 2), expand=False))
        if len(found) > MOST_QUERIES:
            console.print(f"and results of {len(found) - MOST_QUERIES:,} more queries; --out DIR keeps them all\n")


def show_figures(console: Console, title: str, summary: "Summary", out: Path | None) -> None:
    """Print rows in, results, and rows that were rejected, dropped or left."""
    console.print(_headline(title, summary), highlight=False)
    console.print(Padding(_streams(summary.streams), (1, 0), expand=False))
    console.print(Padding(_queries(summary.queries), (0, 0, 1, 0), expand=False))
    console.print("response: seconds from a row's arrival to its result", style="dim", highlight=False)
    for line in _remarks(summary, out):
        console.print(line, highlight=False)


def _headline(title: str, summary: "Summary") -> Text:
    results, jobs = plural(summary.rows_out, "result"), plural(summary.jobs, "job")
    policy = summary.policy + chosen_by(summary.qos)
    line = Text().append(title, style="bold").append(f" under {policy}, {summary.seconds:,.1f} s: ")
    line.append(f"{plural(summary.rows_in, 'row')} in, {results}, {jobs}, {summary.utilization:.0%} busy\n")
    setup = "" if summary.setup_s is None else f"; set-up of a job {seconds(summary.setup_s)} s"
    panes = f", of panes {size(summary.peak_pane_bytes)}" if summary.peak_pane_bytes else ""
    return line.append(f"peak queue memory {size(summary.peak_bytes)}{panes}{setup}", style="dim")


def _streams(streams: "Mapping[str, StreamSummary]") -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, **COMPACT)
    table.add_column("stream", no_wrap=True)
    for column in ("rows in", "late", "malformed", "dropped", "still waiting", ""):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for name, stream in streams.items():
        away = [Text(f"{count:,}", style="yellow" if count else "") for count in _away(stream)]
        state = Text("ended" if stream.ended else "held back" if stream.held else "", style="dim")
        table.add_row(name, f"{stream.rows:,}", *away, f"{stream.waiting_rows:,}", state)
    return table


def _away(stream: "StreamSummary") -> tuple[int, ...]:
    return stream.late, stream.malformed, stream.dropped


def _queries(queries: "Mapping[str, QuerySummary]") -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, **COMPACT)
    table.add_column("query", overflow="fold")
    table.add_column("rows seen, by number", overflow="fold")
    for column in ("results", "response", "longest", "slowdown"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, query in queries.items():
        label = Text(name)
        if query.status == "failed":
            label.append(f"\n{query.status}", style=STATUS.get(query.status, ""))
        seen = "\n".join(f"{each} {first:,} to {query.end[each]:,}" for each, first in query.first.items())
        figures: list[str | Text] = [NONE] * 3
        if query.outputs:
            figures = [seconds(query.avg_response), seconds(query.max_response), ratio(query.avg_slowdown)]
        table.add_row(label, seen, f"{query.outputs:,}", *figures)
    return table


def _orders(name: str, join: "JoinSummary") -> Text:
    order = "the order written" if join.orders == join.written else "the optimizer's order"
    now, written = (f"{100 * share:.3g} %" for share in (join.utilization, join.as_written))
    return Text(
        f"{name} in {order}: {now} of the machine at the streams' rates, {written} as written", style="dim"
    )


def _shed(summary: "Summary") -> Text:
    """Return how many rows were dropped, for each query: results are those of the rows that were kept."""
    text = Text(f"{plural(summary.rows_dropped, 'row')} dropped to shed load; results are those of the rows kept:")
    for name, query in list(summary.queries.items())[:MOST_QUERIES]:
        counts = ", ".join(f"{count:,} of {stream}" for stream, count in query.dropped.items() if count)
        scaled = "; counts, sums and averages are scaled for them" * query.scaled
        text.append(f"\n  {name}: without {counts}{scaled}" if counts else "")
    text.stylize("yellow")
    return text


def _rejected(name: str, stream: "StreamSummary", out: Path | None) -> list[Text]:
    """Return why rows of a stream were rejected, and where they are; in red if most were."""
    away = stream.late + stream.malformed
    where = f"they are in {out}/_rejected/{name}" if out else "--out DIR would have kept them"
    style = "bold red" if stream.mostly_rejected else "yellow"
    share = "all" if away == stream.rows else f"{away:,} of {stream.rows:,}"
    lines = [Text(f"{name}: {share} rows were rejected; {where}", style=style)]
    for reason in stream.reasons:
        lines.append(Text(f"  {reason.rows:,} {reason.kind}: {reason.reason}", style="yellow"))
        lines.append(Text(f"    e.g. {reason.example}", style="dim", no_wrap=True, overflow="ellipsis"))
    return lines


def _remarks(summary: "Summary", out: Path | None) -> list[Text]:
    found = [_orders(name, join) for name, join in summary.joins.items()]
    if summary.qos.goals is not None:
        found.append(Text(f"{summary.qos.goals}: {policy_shares(summary.qos)}", style="dim"))
    for name, reason in summary.qos.failed.items():
        found.append(Text(f"statistic {name} raised {reason} and was switched off", style="yellow"))
    for name, stream in summary.streams.items():
        if stream.late or stream.malformed:
            found += _rejected(name, stream, out)
        if stream.lost:
            lost = (
                f"{plural(stream.lost, 'row')} of {name} in files that vanished or changed before they were read"
            )
            found.append(Text(lost, style="yellow"))
    if summary.rows_dropped:
        found.append(_shed(summary))
    if summary.abandoned_rows:
        waits = f"{plural(summary.abandoned_rows, 'row')} not processed when the run was stopped"
        found.append(Text(waits, style="yellow"))
    found += [
        Text(f"query {name} failed and was stopped: {summary.queries[name].reason}", style="red")
        for name in summary.failed
    ]
    if out:
        found.append(Text(f"results are in {out}/NAME; penstock.read({str(out)!r}, NAME) returns them"))
    return found
