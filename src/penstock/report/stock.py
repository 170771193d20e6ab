"""The report of `penstock bench stock`, made of its JSON document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from penstock.report.axes import logarithmic
from penstock.report.page import Raw, bullets, heading, html, paragraph, plot, styled, table
from penstock.report.parts import NOTHING, comparisons, machine

Case = Mapping[str, Any]

COLOURS = {
    "each-fifo": "#b45309",
    "each-fair": "#e0a458",
    "fan-out": "#7c5cbf",
    "grouped": "#4b7bb5",
    "penstock": "#0f7b5f",
    "penstock-state": "#8ac926",
}
"""One colour for each system, in all plots."""


def page(found: Mapping[str, Any]) -> str:
    """Return the report as HTML."""
    under = (
        f"{machine(found['machine'])} {len(found['cases'])} cases in {found['seconds'] / 60:.0f} minutes"
        f"{', the quick set' if found['quick'] else ''}{', interrupted' if found['interrupted'] else ''}."
    )
    return html("Penstock and stock Structured Streaming", under, _parts(found))


def _parts(found: Mapping[str, Any]) -> Iterator[Raw]:
    yield heading("Required")
    yield comparisons(found["comparisons"])
    good = [case for case in found["cases"] if case["status"] == "ok"]
    figures = _figures(good)
    if figures:
        yield heading("Plots")
        yield from (plot(figure) for figure in figures)
    yield heading("Cases")
    yield paragraph(
        "Rate: row-queries per second, rows × queries ÷ time until all results are written; median of the runs, "
        "then lowest and highest. ×: the rate divided by that of stock with one query each (FIFO). Times are in "
        "seconds: responses, from a row's arrival until its result is written, and start-up, until all queries "
        "have answered a first file. Memory: peak of Python and Java together.",
        soft=True,
    )
    for title in dict.fromkeys(case["table"] for case in found["cases"]):
        yield _cases(title, [case for case in found["cases"] if case["table"] == title])
    yield heading("What each guarantees")
    yield bullets(f"{entry['system']}: {entry['text']}" for entry in found["guarantees"])
    yield heading("How it was measured")
    yield bullets(found["how"])
    yield heading("What is not in the table, and why")
    yield bullets(f"{entry['mode']}: {entry['text']}" for entry in found["left_out"])


def _cases(title: str, cases: Sequence[Case]) -> Raw:
    """Return a table of the systems with the same queries and input."""
    base = next((case["row_queries_per_s"] for case in cases if case["system"] == "each-fifo"), None)
    header = ("", "rate", "lowest – highest", "×", "average", "99 %", "longest", "start-up", "memory", "")
    return table(header, [_case_row(case, base) for case in cases], caption=title)


def _case_row(case: Case, base: float | None) -> tuple[object, ...]:
    if case["status"] != "ok":
        return (case["label"], Raw(f"<span class=bad>{case['status']}</span>"), *[""] * 7, case["reason"])
    measured, low, high = (case[f"row_queries_per_s{end}"] for end in ("", "_low", "_high"))
    factor = f"{measured / base:.3g}" if base and case["feeding"] == "drain" else NOTHING
    times = (case[key] for key in ("avg_response", "p99_response", "max_response", "start_s"))
    memory = NOTHING if case["peak_bytes"] is None else f"{case['peak_bytes'] / 1e9:.2f} GB"
    note = f"not sustained: {case['behind_s']:.0f} s behind" if case["sustained"] is False else ""
    return (
        case["label"],
        f"{measured:,.0f}",
        f"{low:,.0f} – {high:,.0f}",
        factor,
        *(NOTHING if value is None else f"{value:.2f}" for value in times),
        memory,
        note,
    )


def _figures(cases: Sequence[Case]) -> list[go.Figure]:
    """Return the plots for which there are cases."""
    filters = [case for case in cases if case["part"] == "filters"]
    made = [
        _against_n(
            filters, "row_queries_per_s", "Throughput of filters, backlog drained", "row-queries per second"
        ),
        _against_n(filters, "start_s", "Start-up: until all queries have answered a first file", "seconds"),
        _memory(filters),
        _responses([case for case in cases if case["feeding"] == "paced" and case["part"] != "windows"]),
        _others([case for case in cases if case["part"] == "sizes"]),
        _others([case for case in cases if case["workload"] == "mixed" and case["feeding"] == "drain"]),
        *_windows([case for case in cases if case["part"] == "windows"]),
        _against_n(
            [case for case in cases if case["part"] == "cost"],
            "seconds_measured",
            "Time that Penstock takes for a backlog of 20 files of 10,000 rows",
            "seconds",
        ),
    ]
    return [figure for figure in made if figure is not None]


def _by_system(cases: Sequence[Case]) -> Iterator[tuple[str, str, list[Case]]]:
    for system in COLOURS:
        some = [case for case in cases if case["system"] == system]
        if some:
            yield system, some[0]["system_name"], some


def _windows(cases: Sequence[Case]) -> Iterator[go.Figure | None]:
    """Return throughput and response of a join over the length of its windows."""
    drained = [case for case in cases if case["feeding"] == "drain"]
    paced = [case for case in cases if case["feeding"] == "paced"]
    over = {"over": "window_rows", "unit_over": "rows in each window"}
    title = "Throughput of a join of two streams, backlog drained"
    yield _against_n(drained, "rows_per_s", title, "rows per second", **over)
    title = "Average response of the same join, at half of what stock drains"
    yield _against_n(paced, "avg_response", title, "seconds", **over)


def _against_n(
    cases: Sequence[Case], key: str, title: str, unit: str, over: str = "queries", unit_over: str = "queries"
) -> go.Figure | None:
    """Return lines over the number of queries, or of something else, both axes logarithmic."""
    if len({case[over] for case in cases}) < 2:
        return None
    figure = go.Figure()
    for system, name, some in _by_system(cases):
        points = sorted((case[over], case[key]) for case in some if case[key] is not None)
        figure.add_scatter(
            x=[count for count, _ in points],
            y=[value for _, value in points],
            name=name,
            mode="lines+markers",
            line={"color": COLOURS[system], "width": 3 if system == "penstock" else 2},
        )
    styled(figure, title, unit_over, unit)
    ticks = sorted({case[over] for case in cases})
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:,}" for tick in ticks])
    return logarithmic(figure, [case[key] for case in cases])


def _memory(cases: Sequence[Case]) -> go.Figure | None:
    """Return peak memory over the number of queries; this axis is linear, as all systems need about as much."""
    scaled = [{**case, "gigabytes": case["peak_bytes"] / 1e9} for case in cases if case["peak_bytes"] is not None]
    figure = _against_n(scaled, "gigabytes", "Peak memory, Python and Java together", "GB")
    return None if figure is None else figure.update_yaxes(type="linear", tickvals=None, ticktext=None)


def _responses(cases: Sequence[Case]) -> go.Figure | None:
    """Return average and 99th percentile of responses at the same load."""
    if not cases:
        return None
    figure, keys = go.Figure(), ("avg_response", "p99_response")
    for system, name, some in _by_system(cases):
        places = [[_short(case) for case in some for _ in keys], ["average", "99 %"] * len(some)]
        values = [case[key] for case in some for key in keys]
        figure.add_bar(x=places, y=values, name=name, marker_color=COLOURS[system])
    styled(figure, "Response to bursty arrivals at the same load", "", "seconds")
    logarithmic(figure, [case[key] for case in cases for key in keys])
    return figure.update_layout(barmode="group")


def _others(cases: Sequence[Case]) -> go.Figure | None:
    """Return the throughput of cases that differ in more than the number of queries."""
    if not cases:
        return None
    figure = go.Figure()
    for system, name, some in _by_system(cases):
        rates = [case["row_queries_per_s"] for case in some]
        figure.add_bar(x=[_short(case) for case in some], y=rates, name=name, marker_color=COLOURS[system])
    kinds = {case["workload"] for case in cases}
    title = "Throughput of mixed queries" if kinds == {"mixed"} else "Throughput with other inputs"
    styled(figure, f"{title}, backlog drained", "", "row-queries per second")
    return figure.update_layout(barmode="group").update_yaxes(exponentformat="SI")


def _short(case: Case) -> str:
    if case["workload"] == "mixed":
        return f"{case['queries']} mixed queries"
    if case["feeding"] == "paced":
        return f"{case['queries']} filters of {100 * case['selectivity']:g} %"
    return f"{case['queries']} filters of {100 * case['selectivity']:g} %,<br>files of {case['file_rows']:,}"
