"""Figures 6 to 10 of AN04, with what the paper prints marked in red."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from penstock.report.axes import logarithmic
from penstock.report.page import styled

Level = Mapping[str, float]

_PLANS = {"a": "#7c5cbf", "b": "#b45309", "c": "#0f7b5f"}
_COLOURS = ("#0f7b5f", "#4b7bb5", "#e0a458")
_RED, _PALE_RED = "#c0302b", "rgba(192, 48, 43, 0.2)"
_COSTS_MS = (0.5, 1, 2, 5, 10, 20, 50, 100)
_SAID = (
    (4, 4.5, "b and c cross", {"xanchor": "left", "y": 0.1}),
    (14, 14, "c over twice b", {"xanchor": "right", "y": 0.0}),
    (17, 17, "b is worst", {"xanchor": "left", "y": 0.0}),
)
"""What the paper says of ranges of join costs, in milliseconds, and where the words stand."""


def figures(found: Mapping[str, Any]) -> Iterator[go.Figure]:
    """Yield the figures in their order."""
    levels = found["levels"]
    yield _plans(found["figure_6"])
    title = "Figure 7: queries for which the cheapest plan is not the best"
    yield _against(levels, title, "% of the queries", {"queries that gain": "gaining"}, {60: 50})
    title, unit = "Figure 8: average gain over the plan of lowest utilisation", "% more results"
    yield _logged(_against(levels, title, unit, {"average of all": "gain"}, {60: 4, 1: 800}))
    title = "Figure 9: average and largest gain over the plan of lowest utilisation"
    lines = {"average of those that gain": "gain_of_gaining", "average of all": "gain", "largest": "largest_gain"}
    yield _logged(_against(levels, title, unit, lines, {}))
    title = "Figure 10: by how much the heuristic is behind the best plan"
    lines = {"average": "error", "largest": "largest_error"}
    errors = _against(levels, title, "% fewer results", lines, {1: 28})
    below = {"name": "published: average at most", "mode": "lines", "line": {"color": _RED, "dash": "dot"}}
    yield _logged(errors.add_scatter(x=[100, 10], y=[0.2, 0.2], **below))


def _plans(rates: Mapping[str, Sequence[float]]) -> go.Figure:
    figure = go.Figure()
    for name, colour in _PLANS.items():
        line = {"color": colour, "width": 2}
        figure.add_scatter(x=rates["join_cost_ms"], y=rates[name], name=f"plan {name}", mode="lines", line=line)
    _mark(figure, {3.5: 1000, 100: 100})
    title = "Figure 6: the plans of Example 1 as joins get slower"
    styled(figure, title, "cost of a join, ms per tuple", "results per second")
    figure.update_xaxes(type="log", tickvals=_COSTS_MS, ticktext=[f"{cost:g}" for cost in _COSTS_MS])
    for low, high, says, place in _SAID:
        line = {"color": _RED, "dash": "dot", "width": 1}
        figure.add_vrect(x0=low, x1=high, fillcolor=_PALE_RED, line=line, layer="below")
        words = {"text": f" {says} ", "showarrow": False, "font": {"size": 12, "color": _RED}}
        figure.add_annotation(x=math.log10(high), yref="paper", yanchor="bottom", **words, **place)
    return figure


def _against(
    levels: Sequence[Level], title: str, unit: str, lines: Mapping[str, str], published: Mapping[float, float]
) -> go.Figure:
    """Return lines of percentages against the resources, which get fewer to the right."""
    figure = go.Figure()
    for (name, key), colour in zip(lines.items(), _COLOURS, strict=False):
        figure.add_scatter(
            x=[100 * level["resources"] for level in levels],
            y=[100 * level[key] for level in levels],
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 2},
        )
    _mark(figure, published)
    styled(figure, title, "resources, % of those at which the cheapest plan is just feasible", unit)
    return figure.update_xaxes(range=[103, -2], tickvals=[100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 1])


def _mark(figure: go.Figure, published: Mapping[float, float]) -> None:
    if published:
        x, y = list(published), list(published.values())
        cross = {"symbol": "x", "size": 11, "color": _RED}
        figure.add_scatter(x=x, y=y, name="published", mode="markers", marker=cross)


def _logged(figure: go.Figure) -> go.Figure:
    """Return the figure with a logarithmic axis; what is nothing, or no more than rounding, has no place on it."""
    for line in figure.data:
        line.y = [value if value > 1e-9 else None for value in line.y]
    return logarithmic(figure, [value for line in figure.data for value in line.y])
