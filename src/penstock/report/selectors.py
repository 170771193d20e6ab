"""The report of `penstock bench selectors`, made of its JSON document."""

from collections.abc import Mapping
from math import copysign, log10
from typing import Any

import plotly.graph_objects as go

from penstock.report.page import heading, html, paragraph, plot, styled, table
from penstock.report.parts import comparisons

_COLOURS = {
    "foresight": "#0f7b5f",
    "roulette": "#b45309",
    "ucb": "#4b7bb5",
    "thompson": "#7c5cbf",
    "exp3": "#8a8a8a",
}


def page(found: Mapping[str, Any]) -> str:
    """Return the report as HTML."""
    machine = found["machine"]
    under = (
        f"{machine['processor']}, {machine['cores']} cores; {len(found['workloads'])} workloads of "
        f"{found['seconds']:g} s in the simulator, seeds {', '.join(map(str, found['seeds']))}. Regret: how much "
        "worse a selector did than the best single policy on the same tuples."
    )
    names = list(found["selectors"])
    rows = [
        [
            f"{row['name']} ({row['kind']})",
            ", ".join(dict.fromkeys(run["best"] for run in row["runs"])),
            *(f"{row['regret'][name]:.1f}" for name in names),
        ]
        for row in found["workloads"]
    ]
    parts = [
        heading("Required"),
        comparisons(found["comparisons"]),
        plot(_bars(found)),
        paragraph(
            "The axis is linear up to 10 % and logarithmic beyond: roulette loses up to thousands of percent."
        ),
        heading("Regret in %"),
        table(("", "best policy", *names), rows),
    ]
    return html("What choosing the policy on the way loses", under, parts)


def _bars(found: Mapping[str, Any]) -> go.Figure:
    figure = go.Figure()
    labels = [f"{row['name']} ({row['kind']})" for row in found["workloads"]]
    for name in found["selectors"]:
        figure.add_bar(
            y=labels,
            x=[_shown(row["regret"][name]) for row in found["workloads"]],
            customdata=[row["regret"][name] for row in found["workloads"]],
            hovertemplate="%{y}: %{customdata:.1f} %",
            name=name,
            orientation="h",
            marker_color=_COLOURS.get(name),
        )
    styled(figure, "", "regret against the best single policy in hindsight, %", "")
    marks = [-10, 0, 5, 10, 100, 1000]
    figure.update_xaxes(tickvals=[_shown(mark) for mark in marks], ticktext=[str(mark) for mark in marks])
    figure.update_yaxes(autorange="reversed", automargin=True)
    figure.update_layout(height=60 + 48 * len(labels), bargap=0.25, legend={"y": 1.0, "yanchor": "bottom"})
    return figure


def _shown(regret: float) -> float:
    """Return where a regret stands on the axis: linear up to 10, one step more for ten times as much."""
    return regret / 10 if abs(regret) <= 10 else copysign(1 + log10(abs(regret) / 10), regret)
