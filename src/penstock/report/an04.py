"""The report of `penstock reproduce AN04`, made of its JSON document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.report.an04_plots import figures
from penstock.report.claims import claims_table
from penstock.report.page import Raw, heading, html, paragraph, plot, table
from penstock.report.parts import NOTHING
from penstock.report.verdicts import counted


def page(found: Mapping[str, Any]) -> str:
    """Return the report as HTML."""
    under = f"{found['queries']:,} random joins of five streams, seed {found['seed']}: {counted(found['claims'])}."
    return html("AN04: shedding load from joins of streams", under, _parts(found))


def _parts(found: Mapping[str, Any]) -> Iterator[Raw]:
    yield heading("What the paper says")
    yield claims_table(found["claims"])
    yield heading("Figures")
    yield from (plot(figure) for figure in figures(found))
    yield heading("Levels of resources")
    yield _levels(found["levels"])
    if found["hardest"]:
        yield heading("Where the heuristic errs most")
        yield from _hard(found["searched"], found["hardest"])


def _levels(levels: Sequence[Mapping[str, float]]) -> Raw:
    header = (
        "resources",
        "gaining",
        "average gain",
        "of those that gain",
        "largest",
        "heuristic's error",
        "largest",
        "exact method's error",
    )
    rows = [
        (
            f"{level['resources']:.0%}",
            f"{level['gaining']:.1%}",
            *(f"{level[key]:,.2%}" for key in ("gain", "gain_of_gaining", "largest_gain")),
            *(f"{level[key]:.4%}" for key in ("error", "largest_error")),
            f"{level['exact_error']:.0e}",
        )
        for level in levels
    ]
    return table(header, rows)


def _hard(searched: Sequence[Mapping[str, Any]], hardest: Mapping[str, Any]) -> Iterator[Raw]:
    rows = [
        (each["kind"], f"{each['error']:.1%}", f"{each['resources']:.1%}" if each["error"] > 1e-9 else NOTHING)
        for each in searched
    ]
    yield table(("searched", "heuristic's error", "at resources of"), rows)
    names = ("heuristic", "best")
    streams = [
        (
            name,
            f"{rate:g}",
            f"{hardest['windows'][name]:g}",
            *(f"{hardest[plan]['keep'][name]:.2%}" for plan in names),
        )
        for name, rate in hardest["rates"].items()
    ]
    caption = f"The hardest problem: a join takes {1000 * hardest['join_cost']:.6g} ms per tuple"
    header = ("stream", "tuples per second", "window, tuples", "kept by the heuristic", "kept by the best plan")
    yield table(header, streams, caption=caption)
    shares = ", ".join(f"{pair.replace(',', '⋈')} {share:g}" for pair, share in hardest["selectivities"].items())
    yield paragraph(f"Selectivities: {shares}.")
    plans = [(plan, " ⋈ ".join(hardest[plan]["order"]), f"{hardest[plan]['rate']:,.1f}") for plan in names]
    yield table(("plan", "order", "results per second"), plans, words=2)
    yield paragraph(f"The heuristic's plan has {hardest['error']:.1%} fewer results than the best.")
