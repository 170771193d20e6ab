"""The report of `penstock bench scale`, made of its JSON document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from penstock.report.axes import logarithmic
from penstock.report.page import Raw, bullets, heading, html, paragraph, plot, styled, table
from penstock.report.parts import NOTHING, comparisons, machine

Case = Mapping[str, Any]

COLOURS = {
    "batch": "#5b6576",
    "each": "#b45309",
    "grouped": "#4b7bb5",
    "penstock": "#0f7b5f",
    "penstock-state": "#8ac926",
}
"""One colour for each system, in all plots."""

_LEGEND = (
    "Seconds: a drain of all files, median of the drains, then fastest and slowest. Speed: Penstock's ÷ this "
    "system's, by median times, with the 95 % interval of a bootstrap. CPU seconds are per million rows: of the "
    "driver's Python, of its Java, and of executors in other processes. Driver: bytes through the driver ÷ bytes "
    "of the input, without 8 bytes a row where rows have a time. Scans: how often jobs read each file. Memory: "
    "peak of the driver's Python."
)


def page(found: Mapping[str, Any]) -> str:
    """Return the report as HTML."""
    under = (
        f"{machine(found['machine'])} Master {found['master']}. "
        f"{len(found['cases'])} cases in {found['seconds'] / 60:.0f} minutes"
        f"{', the quick set' if found['quick'] else ''}{', interrupted' if found['interrupted'] else ''}."
    )
    return html("Penstock, one batch job and stock on large files", under, _parts(found))


def _parts(found: Mapping[str, Any]) -> Iterator[Raw]:
    yield heading("Required")
    yield comparisons(found["comparisons"])
    figures = _figures([case for case in found["cases"] if case["status"] == "ok"])
    if figures:
        yield heading("Plots")
        yield from (plot(figure) for figure in figures)
    yield heading("Cases")
    yield paragraph(_LEGEND, soft=True)
    for title in dict.fromkeys(case["table"] for case in found["cases"]):
        yield _cases(title, [case for case in found["cases"] if case["table"] == title])
    yield heading("How it was measured")
    yield bullets(found["how"])


def _cases(title: str, cases: Sequence[Case]) -> Raw:
    header = (
        *("", "seconds", "fastest – slowest", "million rows/s", "speed", "95 %"),
        *("Python", "Java", "executors", "driver", "scans", "memory", ""),
    )
    return table(header, [_case_row(case) for case in cases], caption=title)


def _case_row(case: Case) -> tuple[object, ...]:
    if case["status"] != "ok":
        return (case["label"], Raw(f"<span class=bad>{case['status']}</span>"), *[""] * 10, case["reason"])
    speed = case["penstock_speed"]
    cpu = (case[f"{name}_cpu_s_per_million"] for name in ("python", "jvm", "executor"))
    return (
        case["label"],
        f"{case['seconds']:.2f}",
        f"{case['seconds_low']:.2f} – {case['seconds_high']:.2f}",
        f"{case['rows_per_s'] / 1e6:.2f}",
        NOTHING if speed is None else f"{speed['ratio']:.2f}",
        NOTHING if speed is None else f"{speed['low']:.2f} – {speed['high']:.2f}",
        *(NOTHING if value is None else f"{value:.2f}" for value in cpu),
        NOTHING if case["driver_share"] is None else f"{case['driver_share']:.1%}",
        NOTHING if case["scans_per_file"] is None else f"{case['scans_per_file']:.2f}",
        NOTHING if case["peak_bytes"] is None else f"{case['peak_bytes'] / 1e6:,.0f} MB",
        "",
    )


def _figures(cases: Sequence[Case]) -> list[go.Figure]:
    """Return throughput over the size of files: one plot for each kind of query with several sizes."""
    some = [case for case in cases if case["part"] in ("filters", "table", "windows")]
    kinds = dict.fromkeys(_queries(case) for case in some)
    made = [_over_file_rows(kind, [case for case in some if _queries(case) == kind]) for kind in kinds]
    return [figure for figure in made if figure is not None]


def _queries(case: Case) -> str:
    """Return the queries of a case: its title up to the files."""
    return str(case["table"].split(f", {case['input']['file_format']} files")[0])


def _over_file_rows(title: str, cases: Sequence[Case]) -> go.Figure | None:
    sizes = sorted({case["input"]["file_rows"] for case in cases})
    if len(sizes) < 2:
        return None
    figure = go.Figure()
    for system, colour in COLOURS.items():
        some = sorted((case for case in cases if case["system"] == system), key=lambda c: c["input"]["file_rows"])
        if some:
            figure.add_scatter(
                x=[case["input"]["file_rows"] for case in some],
                y=[case["rows_per_s"] for case in some],
                name=some[0]["system_name"],
                mode="lines+markers",
                line={"color": colour, "width": 3 if system == "penstock" else 2},
            )
    styled(figure, f"Throughput: {title}", "rows in a file", "rows per second")
    figure.update_xaxes(type="log", tickvals=sizes, ticktext=[f"{each:,}" for each in sizes])
    return logarithmic(figure, [case["rows_per_s"] for case in cases])
