"""The report of `penstock bench orders`, made of its JSON document."""

from collections.abc import Mapping
from statistics import median
from typing import Any

import plotly.graph_objects as go

from penstock.report.page import heading, html, paragraph, plot, styled, table
from penstock.report.parts import comparisons, machine

NAMES = {"optimizer": "the optimizer's order", "written": "the order written"}


def page(found: Mapping[str, Any]) -> str:
    """Return the report as HTML."""
    plans = found["plans"]
    names = [NAMES[name] for name in plans]
    times = go.Figure()
    times.add_bar(x=names, y=[median(plan["seconds"]) for plan in plans.values()], marker_color="#0f7b5f")
    shares = go.Figure()
    for key, label, colour in (("predicted", "predicted", "#b45309"), ("demand", "measured", "#0f7b5f")):
        shares.add_bar(
            x=names, y=[100 * median(plan[key]) for plan in plans.values()], name=label, marker_color=colour
        )
    streams = list(plans["optimizer"]["orders"])
    rows = [(stream, *(", ".join(plan["orders"][stream]) for plan in plans.values())) for stream in streams]
    same = "the same in all runs" if found["same_results"] else "NOT the same in all runs"
    parts = [
        heading("Required"),
        comparisons(found["comparisons"]),
        paragraph(
            f"{found['rows']:,} rows, {found['stream_seconds']:g} seconds of the streams' time, "
            f"{plans['optimizer']['results']:,} results, {same}."
        ),
        plot(styled(times, "Time to work everything off, median", "", "seconds")),
        plot(styled(shares, "Share of the machine at the streams' own pace, median", "", "%")),
        table(("a row of", *names), rows, caption="Which windows a row probes, in order", words=3),
    ]
    return html("A join of four streams in two orders", machine(found["machine"]), parts)
