"""The report of `penstock simulate`, made of its JSON document and of the runs over time."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from penstock.report.axes import logarithmic
from penstock.report.page import Raw, bullets, heading, html, paragraph, plot, styled, table
from penstock.report.parts import NOTHING

_COLOURS = (
    *(
        "#0f7b5f",
        "#b45309",
        "#4b7bb5",
        "#7c5cbf",
        "#c0302b",
        "#6b7280",
        "#0891b2",
        "#a16207",
        "#be185d",
        "#3f6212",
    ),
)
_BARS = (
    ("avg_slowdown", "Average slowdown", "response ÷ ideal time"),
    ("avg_response", "Average response", "seconds"),
)
_LINES = (
    ("mean_memory", "Memory of all queues over time", "size of waiting tuples"),
    ("avg_response", "Response over time, by when results depart", "seconds, average"),
)
_TABLE = (
    ("avg_response", "avg response, s"),
    ("max_response", "max"),
    ("l2_response", "ℓ2"),
    ("avg_slowdown", "avg slowdown"),
    ("max_slowdown", "max"),
    ("l2_slowdown", "ℓ2"),
    ("mean_memory", "mean memory"),
    ("peak_memory", "peak"),
    ("outputs", "results"),
)
_SPREAD = 20
"""From this ratio of the largest to the least on, an axis is logarithmic."""

_MOST_CLASSES = 12
"""Names of more classes stand upright below a plot."""

_Policies = Sequence[Mapping[str, Any]]
_Series = Mapping[str, Mapping[str, Sequence[float | None]]]


def page(found: Mapping[str, Any], series: _Series) -> str:
    """Return the report as HTML."""
    policies = found["policies"]
    parts = [bullets(found["notes"])] if found["notes"] else []
    parts += [heading("Policies"), _table(policies)]
    parts += [plot(_bars(policies, *each)) for each in _BARS]
    parts.append(heading("Over time"))
    parts += [plot(_lines(series, *each)) for each in _LINES]
    if any(policy["per_class"] for policy in policies):
        parts += _classes(policies)
    if found["note"]:
        parts.append(paragraph(found["note"], soft=True))
    return html(f"{found['network']}, simulated", _under(found), parts)


def _under(found: Mapping[str, Any]) -> str:
    load = found["load"] if found["load_as_arrived"] is None else found["load_as_arrived"]
    options = [
        "" if load is None else f"load {load:.2f}",
        f"set-up cost {found['setup_cost']:g} s" if found["setup_cost"] else "",
        f"memory limit {found['memory']:g}" if found["memory"] is not None else "",
        f"decided anew after every {found['level']}" if found["level"] else "",
        "joins wait for an empty input" if found["blocking"] else "",
    ]
    kinds = ", ".join(dict.fromkeys(stream["arrivals"] for stream in found["streams"]))
    return (
        f"{_count(found['queries'], 'query', 'queries')}, {_count(found['operators'], 'operator', 'operators')}, "
        f"{_count(found['tuples'], 'tuple', 'tuples')} in {found['seconds']:,.4g} s "
        f"({kinds}, seed {found['seed']}); "
        f"{', '.join(filter(None, options))}."
    )


def _count(count: int, word: str, words: str) -> str:
    return f"{count:,} {word if count == 1 else words}"


def _table(policies: _Policies) -> Raw:
    rows = [(policy["policy"], *(_number(policy["metrics"].get(key)) for key, _ in _TABLE)) for policy in policies]
    return table(("policy", *(header for _, header in _TABLE)), rows)


def _number(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _bars(policies: _Policies, key: str, title: str, unit: str) -> go.Figure:
    values = [policy["metrics"].get(key) for policy in policies]
    figure = go.Figure()
    figure.add_bar(
        x=[policy["policy"] for policy in policies],
        y=values,
        text=[_number(value) for value in values],
        textposition="outside",
        cliponaxis=False,
        marker_color=[_colour(place) for place in range(len(policies))],
    )
    drawn = styled(figure, title, "", unit).update_layout(height=360, margin_b=60).update_xaxes(type="category")
    return _fitted(drawn, values)


def _lines(series: _Series, key: str, title: str, unit: str) -> go.Figure:
    figure = go.Figure()
    for place, (policy, over) in enumerate(series.items()):
        figure.add_scatter(
            x=over["time"], y=over[key], name=policy, mode="lines", line={"color": _colour(place), "width": 1.5}
        )
    values = [value for over in series.values() for value in over[key]]
    return _fitted(styled(figure, title, "seconds", unit), values)


def _classes(policies: _Policies) -> list[Raw]:
    """Return the figures of the classes of queries."""
    names = list(policies[0]["per_class"])
    figure = go.Figure()
    for place, policy in enumerate(policies):
        figure.add_scatter(
            x=names,
            y=[policy["per_class"][name].get("avg_slowdown") for name in names],
            name=policy["policy"],
            mode="lines+markers",
            line={"color": _colour(place), "width": 1.5},
        )
    values = [each.get("avg_slowdown") for policy in policies for each in policy["per_class"].values()]
    drawn = _fitted(styled(figure, "Average slowdown by class of queries", "", "response ÷ ideal time"), values)
    if len(names) > _MOST_CLASSES:
        drawn.update_layout(height=620, legend={"y": 1.02, "yanchor": "bottom"}, margin_t=90).update_xaxes(
            tickangle=-90, tickfont_size=10, tickmode="linear"
        )
    header = ("class", "results", *(policy["policy"] for policy in policies))
    rows = [
        (
            name,
            _number(policies[0]["per_class"][name]["outputs"]),
            *(_number(policy["per_class"][name].get("avg_slowdown")) for policy in policies),
        )
        for name in names
    ]
    return [heading("Classes of queries"), plot(drawn), table(header, rows, caption="Average slowdown")]


def _fitted(figure: go.Figure, values: Sequence[float | None]) -> go.Figure:
    """Make the axis logarithmic where values are far apart, and say so."""
    shown = [value for value in values if value]
    if not shown or max(shown) <= _SPREAD * min(shown):
        return figure
    unit = figure.layout.yaxis.title.text
    low, high = math.log10(min(shown) / 2), math.log10(max(shown) * 2)
    return logarithmic(figure, shown).update_yaxes(title_text=f"{unit} (log)", range=[low, high])


def _colour(place: int) -> str:
    return _COLOURS[place % len(_COLOURS)]
