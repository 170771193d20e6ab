"""The report of `penstock bench simulator`, made of its JSON document."""

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from penstock.report.axes import logarithmic
from penstock.report.page import heading, html, paragraph, plot, styled, table
from penstock.report.parts import NOTHING, comparisons

_SYSTEMS = {"compiled": "#0f7b5f", "scan": "#4b7bb5", "simpy": "#b45309", "plain": "#7c5cbf"}
_NAMES = {"compiled": "compiled", "scan": "compiled, by scan", "simpy": "SimPy", "plain": "plain Python"}


def page(found: Mapping[str, Any]) -> str:
    """Return the report as HTML."""
    machine = found["machine"]
    under = (
        f"{machine['processor']}, {machine['cores']} cores; {machine['system']}; Python {machine['python']}, "
        f"numba {found['numba']}, SimPy {found['simpy'] or 'not installed'}. Population {found['population']}, "
        f"load {found['load']:g}; {found['taken']}."
    )
    parts = [
        heading("Required"),
        comparisons(found["comparisons"]),
        *(plot(_bars(found, queries)) for queries in found["queries"]),
        heading("Decisions per second"),
        table(("", *_headers(found)), _rows(found)),
    ]
    if found["memory"]:
        long = found["memory"]
        peak = "unknown" if long["peak_bytes"] is None else f"{long['peak_bytes'] / 1e9:.2f} GB"
        parts.append(
            paragraph(
                f"{long['packets']:,} packets for {long['queries']} queries by {long['policy']}: "
                f"{long['decisions']:,} decisions in {long['seconds']:.0f} s; peak memory {peak}."
            )
        )
    return html("Decisions per second in the simulator", under, parts)


def _bars(found: Mapping[str, Any], queries: int) -> go.Figure:
    figure = go.Figure()
    here = [each for each in found["rates"] if each["queries"] == queries]
    for system, colour in _SYSTEMS.items():
        some = [each for each in here if each["system"] == system]
        if some:
            figure.add_bar(
                x=[each["policy"] for each in some],
                y=[each["best"] for each in some],
                name=_NAMES[system],
                marker_color=colour,
            )
    styled(figure, f"{queries:,} queries", "", "decisions per second")
    return logarithmic(figure, [each["best"] for each in here])


def _headers(found: Mapping[str, Any]) -> list[str]:
    return [f"{_NAMES[system]}, {queries:,}" for system in _SYSTEMS for queries in found["queries"]]


def _rows(found: Mapping[str, Any]) -> list[list[str]]:
    rates = {(each["policy"], each["system"], each["queries"]): each["best"] for each in found["rates"]}
    policies = dict.fromkeys(each["policy"] for each in found["rates"])
    return [
        [
            policy,
            *(
                f"{rates[policy, system, queries]:,.0f}" if (policy, system, queries) in rates else NOTHING
                for system in _SYSTEMS
                for queries in found["queries"]
            ),
        ]
        for policy in policies
    ]
