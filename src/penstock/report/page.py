"""An HTML page that stands alone: text, tables, plots; nothing is fetched from anywhere."""

from collections.abc import Iterable, Sequence
from html import escape

import plotly.graph_objects as go
from plotly.io import to_html
from plotly.offline import get_plotlyjs

_STYLE = """
:root { color-scheme: light; --ink: #1c2330; --soft: #5b6576; --line: #dfe3ea; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin-bottom: .3rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .5rem; }
p.soft, caption { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums;
  width: 100%; margin: .6rem 0; }
caption { text-align: left; padding: .3rem 0; font-weight: 600; color: var(--ink); }
th { color: var(--soft); font-weight: 500; text-align: left; vertical-align: bottom; }
th, td { padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; white-space: nowrap; }
small.why { color: var(--soft); }
.good { color: #1a7f4b; } .none { color: var(--soft); } .bad { color: #c0302b; font-weight: 600; }
figure { margin: .8rem 0; }
"""


class Raw(str):
    """Text that is HTML already."""


def text(value: object) -> str:
    """Return a value as HTML.

    >>> text("a < b"), text(Raw("<b>x</b>"))
    ('a &lt; b', '<b>x</b>')
    """
    return value if isinstance(value, Raw) else escape(str(value))


def heading(title: str) -> Raw:
    """Return the title of a section."""
    return Raw(f"<h2>{text(title)}</h2>")


def paragraph(words: str, *, soft: bool = False) -> Raw:
    """Return a paragraph."""
    return Raw(f"<p{' class=soft' if soft else ''}>{text(words)}</p>")


def bullets(items: Iterable[str]) -> Raw:
    """Return a list."""
    return Raw("<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>")


def table(header: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str = "", words: int = 1) -> Raw:
    """Return a table whose first columns, so many, hold words; the others hold numbers."""
    kinds = ["" if i < words else " class=number" for i in range(len(header))]
    head = "".join(f"<th{kind}>{text(name)}</th>" for kind, name in zip(kinds, header, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{text(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in rows
    )
    above = f"<caption>{text(caption)}</caption>" if caption else ""
    return Raw(
        f"<div class=scroll><table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def plot(figure: go.Figure) -> Raw:
    """Return a plot; the page has the script that draws it."""
    drawn = to_html(figure, full_html=False, include_plotlyjs=False, config={"displaylogo": False})
    return Raw(f"<figure>{drawn}</figure>")


def styled(figure: go.Figure, title: str, x: str, y: str) -> go.Figure:
    """Give a plot its title and axes, the legend below where it has room."""
    axis = {"gridcolor": "#e8ebf0", "linecolor": "#9aa3b2", "ticks": "outside", "automargin": True}
    return figure.update_layout(
        title={"text": title, "x": 0, "xref": "paper", "font": {"size": 16}},
        xaxis={**axis, "title": {"text": x}},
        yaxis={**axis, "title": {"text": y}, "rangemode": "tozero"},
        legend={"orientation": "h", "yanchor": "top", "y": -0.22, "x": 0},
        plot_bgcolor="white",
        paper_bgcolor="white",
        font={"family": "system-ui, sans-serif", "size": 13, "color": "#1c2330"},
        margin={"l": 70, "r": 20, "t": 50, "b": 110},
        height=430,
    )


def html(title: str, under: str, parts: Iterable[Raw]) -> str:
    """Return the page."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style><script>{get_plotlyjs()}</script></head>"
        f"<body><h1>{text(title)}</h1><p class=soft>{text(under)}</p>{''.join(parts)}</body></html>\n"
    )
