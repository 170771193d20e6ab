"""The report of `penstock reproduce` for papers that are simulated, made of its JSON documents."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from penstock.report.axes import logarithmic
from penstock.report.claims import claims_table
from penstock.report.page import Raw, bullets, heading, html, paragraph, plot, styled
from penstock.report.verdicts import counted

COLOURS = ("#0f7b5f", "#4b7bb5", "#e0a458", "#c0302b", "#7c5cbf", "#5b6576", "#2aa7b8", "#b45309", "#8a9a1c")


def page(documents: Sequence[Mapping[str, Any]]) -> str:
    """Return one page for one paper or several: the claims of each, then its figures."""
    claims = [claim for document in documents for claim in document["claims"]]
    names = ", ".join(document["paper"] for document in documents)
    quick = " A quick run: fewer tuples, queries and seeds." if any(d.get("quick") for d in documents) else ""
    under = f"{counted(claims)}.{quick}"
    return html(f"{names}, reproduced", under, (part for document in documents for part in _parts(document)))


def _parts(document: Mapping[str, Any]) -> Iterator[Raw]:
    yield heading(document["title"])
    yield bullets(document["notes"])
    yield claims_table(document["claims"])
    for figure in document["figures"]:
        yield plot(drawn(figure))
    if document.get("seconds"):
        what = "runs on Spark" if document.get("on") == "spark" else "simulations"
        yield paragraph(f"{document.get('cells', 0)} {what}, {document['seconds']:.0f} s in this run.", soft=True)


def drawn(figure: Mapping[str, Any]) -> go.Figure:
    """Return a figure as a plot."""
    made = go.Figure()
    for place, (name, points) in enumerate(figure["lines"].items()):
        x, y = [point[0] for point in points], [point[1] for point in points]
        colour = COLOURS[place % len(COLOURS)]
        if figure["bars"]:
            words = [str(word).replace(", ", "<br>") for word in x]
            made.add_bar(x=words, y=y, name=name, marker={"color": colour})
        else:
            mode = "lines" if len(points) > 40 else "lines+markers"
            dash = "dash" if name in figure.get("dashed", ()) else "solid"
            made.add_scatter(x=x, y=y, name=name, mode=mode, line={"color": colour, "width": 2, "dash": dash})
    styled(made, f"{figure['number']}: {figure['title']}", figure["x"], figure["y"])
    if figure["logarithmic"]:
        logarithmic(made, [point[1] for points in figure["lines"].values() for point in points])
        made.update_yaxes(rangemode="normal")
    if "logarithmic" in figure["x"]:
        made.update_xaxes(type="log")
    return made.update_layout(showlegend=True)
