"""The report of `penstock bench optimizer`, made of its JSON document."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from penstock.report.axes import logarithmic
from penstock.report.page import bullets, heading, html, plot, styled
from penstock.report.parts import comparisons

_COLOURS = {"exact": "#0f7b5f", "exhaustive": "#b45309", "heuristic": "#4b7bb5", "bushy": "#7c5cbf"}


def page(found: Mapping[str, Any]) -> str:
    """Return the report as HTML."""
    machine = found["machine"]
    under = (
        f"{machine['processor']}, {machine['cores']} cores; {machine['system']}; Python {machine['python']}. "
        f"{found['repeat']} random joins of each size, with {found['resources']:.0%} of what they need."
    )
    methods = found["methods"]
    times = _lines(methods, "median_s", "Time for a plan, median", "seconds")
    title = "Rate of a method's plans ÷ the exact method's, on average"
    others = [each for each in methods if each["method"] != "exact"]
    parts = [
        heading("Required"),
        comparisons(found["comparisons"]),
        plot(logarithmic(times, [each["median_s"] for method in methods for each in method["series"]])),
        plot(_lines(others, "ratio", title, "rate ÷ exact rate")),
        bullets(f"{each['method']} {each['stopped']}." for each in methods if each["stopped"]),
    ]
    return html("What planning joins costs", under, parts)


def _lines(methods: Sequence[Mapping[str, Any]], key: str, title: str, unit: str) -> go.Figure:
    figure = go.Figure()
    for method in methods:
        figure.add_scatter(
            x=[each["streams"] for each in method["series"]],
            y=[each[key] for each in method["series"]],
            name=method["method"],
            mode="lines+markers",
            line={"color": _COLOURS[method["method"]], "width": 2},
        )
    return styled(figure, title, "streams", unit).update_xaxes(dtick=1)
