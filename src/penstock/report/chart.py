"""The README's chart, as SVG: throughput beside stock Structured Streaming, from a recorded benchmark."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from penstock.errors import RunError

WIDTH = 760
_LEFT, _BAR, _GAP, _TITLE = 250, 22, 8, 34
_INK, _SOFT, _OURS, _THEIRS = "#24292f", "#57606a", "#0969da", "#afb8c1"
_PANELS = (
    ("50 filters", {"workload": "filters", "queries": 50, "selectivity": 0.01, "file_rows": 10_000}),
    ("40 mixed queries: filters, table joins, window joins", {"workload": "mixed", "queries": 40}),
)


def drawn(found: Mapping[str, Any]) -> str:
    """Return the chart as SVG; `found` is the document of `penstock bench stock`."""
    panels = [(title, _bars(found["cases"], wanted)) for title, wanted in _PANELS]
    panels = [(title, bars) for title, bars in panels if bars]
    if not panels:
        raise RunError("there is nothing to draw: not a result of penstock bench stock with its filters")
    parts: list[str] = []
    top = 44
    for title, bars in panels:
        parts += _panel(title, bars, top)
        top += _TITLE + len(bars) * (_BAR + _GAP) + 10
    machine = found["machine"]
    under = (
        f"row-queries per second, more is better · {machine['cores']} cores, PySpark {machine['pyspark']}, "
        "files of 10,000 rows · penstock bench stock"
    )
    parts.append(_text(0, top + 12, under, size=12, fill=_SOFT))
    head = _text(
        0, 20, "Penstock beside stock Structured Streaming, the same queries on one machine", size=16, bold=True
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 0 {WIDTH + 20} {top + 24}" '
        'font-family="system-ui, sans-serif" role="img">\n'
        f'<rect x="-10" y="0" width="{WIDTH + 20}" height="{top + 24}" fill="#ffffff"/>\n'
        + "\n".join([head, *parts])
        + "\n</svg>\n"
    )


def _bars(cases: Sequence[Mapping[str, Any]], wanted: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return the systems that drained a backlog of such a workload, with their throughput."""
    found = {
        case["system_name"]: float(case["row_queries_per_s"])
        for case in cases
        if case["feeding"] == "drain" and case["status"] == "ok"
        if all(case[key] == value for key, value in wanted.items())
    }
    return sorted(found.items(), key=lambda bar: bar[1])


def _panel(title: str, bars: Sequence[tuple[str, float]], top: float) -> Iterator[str]:
    most = max(value for _, value in bars)
    yield _text(0, top + 22, title, size=13, bold=True)
    for place, (name, value) in enumerate(bars):
        y = top + _TITLE + place * (_BAR + _GAP)
        length = max((WIDTH - _LEFT - 130) * value / most, 2)
        ours = name.lower().startswith("penstock")
        yield _text(_LEFT - 10, y + 16, name, size=13, anchor="end", bold=ours)
        colour = _OURS if ours else _THEIRS
        yield f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="{_BAR}" rx="2" fill="{colour}"/>'
        yield _text(_LEFT + length + 8, y + 16, _counted(value), size=13, bold=ours)


def _counted(value: float) -> str:
    """Return a number of row-queries in words.

    >>> _counted(19_800_000), _counted(255_400)
    ('19.8 million', '255,000')
    """
    return f"{value / 1e6:.1f} million" if value >= 1e6 else f"{round(value, -3):,.0f}"


def _text(
    x: float, y: float, text: str, *, size: int, anchor: str = "start", fill: str = _INK, bold: bool = False
) -> str:
    look = f'font-size="{size}" text-anchor="{anchor}" fill="{fill}"' + (' font-weight="600"' if bold else "")
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(text)}</text>'
