"""Claims of a paper on a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.report.page import Raw, table, text
from penstock.report.parts import NOTHING


def claims_table(claims: Sequence[Mapping[str, Any]]) -> Raw:
    """Return a table of claims: published and measured values, and why a claim does not hold or has no value."""
    marks = {
        True: Raw("<span class=good>holds</span>"),
        False: Raw("<span class=bad>does not hold</span>"),
        None: Raw("<span class=none>not measured</span>"),
    }
    rows = [
        (
            each["figure"],
            _what(each),
            each["published"],
            each["judged"],
            _measured(each["measured"]),
            marks[each["holds"]],
        )
        for each in claims
    ]
    return table(("", "", "published", "holds if", "measured", ""), rows, words=2)


def _what(claim: Mapping[str, Any]) -> object:
    why = "" if claim["holds"] else claim.get("why", "")
    if not why:
        return claim["what"]
    return Raw(f"{text(claim['what'])}<br><small class=why>{text(why)}</small>")


def _measured(value: float | None) -> str:
    if value is None:
        return NOTHING
    return "< 0.001" if 0 < value < 0.001 else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
