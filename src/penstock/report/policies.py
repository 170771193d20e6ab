"""The report of `penstock bench policies`, made of its JSON document."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from penstock.report.page import Raw, heading, html, paragraph, plot, styled, table
from penstock.report.parts import comparisons, machine

_FIGURES = (
    ("avg_response", "Average response", "seconds"),
    ("avg_slowdown", "Average slowdown", "response ÷ the query's own time"),
    ("max_response", "Longest response", "seconds"),
    ("l2_slowdown", "ℓ2 norm of slowdown", "ℓ2"),
)


def page(found: Mapping[str, Any]) -> str:
    """Return the report as HTML."""
    under = (
        f"{machine(found['machine'])} {found['queries']} queries, {found['offered_rows_per_s']:,.0f} rows/s in "
        f"bursts for {found['seconds']:.0f} s, of {found['capacity_rows_per_s']:,.0f} that they can take."
    )
    parts = [heading("Required"), comparisons(found["comparisons"]), heading("Plots")]
    parts += [plot(_bars(found["policies"], key, title, unit)) for key, title, unit in _FIGURES]
    parts += [heading("Figures"), _table(found["policies"])]
    for kind in found["policies"][0]["kinds"]:
        rows = [{**policy, **policy["kinds"][kind]} for policy in found["policies"]]
        parts += [heading(f"Results of {kind}"), _kind_table(rows)]
    parts += [heading("Predicted by the simulator"), _orders(found["prediction"]["orders"])]
    parts.append(
        paragraph(
            "Every unit is a job of its own. A policy with plain() ranks as the papers do; without it, what a job "
            "costs before its first row counts too. Slowdown is a result's response ÷ what its query needs for a "
            "mean chunk alone, measured once and the same for all policies.",
            soft=True,
        )
    )
    return html("Policies on Spark", under, parts)


def _bars(policies: Sequence[Mapping[str, Any]], key: str, title: str, unit: str) -> go.Figure:
    colours = ["#9aa3b2" if "plain" in each["policy"] else "#0f7b5f" for each in policies]
    figure = go.Figure()
    figure.add_bar(
        x=[each["policy"] for each in policies], y=[each[key] for each in policies], marker_color=colours
    )
    return styled(figure, title, "", unit)


def _table(policies: Sequence[Mapping[str, Any]]) -> Raw:
    header = (
        "policy",
        "avg response",
        "longest",
        "avg slowdown",
        "largest",
        "ℓ2 slowdown",
        "jobs",
        "busy",
        "deciding",
    )
    rows = [
        (
            each["policy"],
            f"{each['avg_response']:.2f} s",
            f"{each['max_response']:.1f} s",
            f"{each['avg_slowdown']:.2f}",
            f"{each['max_slowdown']:.0f}",
            f"{each['l2_slowdown']:,.0f}",
            f"{each['jobs']:.0f}",
            f"{each['utilization']:.0%}",
            f"{each['deciding']:.2%}",
        )
        for each in policies
    ]
    return table(header, rows)


def _kind_table(rows: Sequence[Mapping[str, Any]]) -> Raw:
    header = ("policy", "avg response", "99 %", "longest", "ℓ2 response", "avg slowdown", "largest")
    return table(
        header,
        [
            (
                each["policy"],
                f"{each['avg_response']:.2f} s",
                f"{each['p99_response']:.1f} s" if "p99_response" in each else "",
                f"{each['max_response']:.1f} s",
                f"{each['l2_response']:,.0f}",
                f"{each['avg_slowdown']:.2f}",
                f"{each['max_slowdown']:.0f}",
            )
            for each in rows
        ],
    )


def _orders(orders: Sequence[Mapping[str, Any]]) -> Raw:
    header = ("figure", "results", "measured order", "predicted order", "Kendall's tau")
    return table(
        header,
        [
            (
                each["figure"].replace("avg_", "average "),
                each["results"],
                ", ".join(each["measured"]),
                ", ".join(each["predicted"]),
                f"{each['tau']:.2f}",
            )
            for each in orders
        ],
    )
