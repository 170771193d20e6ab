"""The report of `penstock bench deciding`, made of its JSON document."""

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from penstock.report.page import heading, html, plot, styled, table
from penstock.report.parts import comparisons, machine


def page(found: Mapping[str, Any]) -> str:
    """Return the report as HTML."""
    cases = found["cases"]
    figure = go.Figure()
    figure.add_bar(
        x=[case["name"] for case in cases], y=[100 * case["deciding"] for case in cases], marker_color="#0f7b5f"
    )
    rows = [
        (
            case["name"],
            f"{case['deciding']:.2%}",
            f"{case['utilization']:.0%}",
            f"{case['jobs']:,}",
            f"{case['rows_in']:,}",
            f"{case['waiting_rows']:,}",
        )
        for case in cases
    ]
    parts = [
        heading("Required"),
        comparisons(found["comparisons"]),
        plot(styled(figure, "Share of the time that goes into decisions", "", "%")),
        table(("", "deciding", "busy", "jobs", "rows in", "waiting at the end"), rows),
    ]
    return html("What deciding costs", machine(found["machine"]), parts)
