"""`scaled = true`: a query whose counts, sums and averages make up for dropped rows, and which queries can."""

from dataclasses import replace

from penstock.language.statements import QueryDef, StreamDef
from penstock.language.text import Span, Text

SCALED = ("count", "sum", "avg")
"""The functions that are scaled. The others are those of the rows that were kept."""


def scaled_query(query: QueryDef, text: Text, span: Span) -> QueryDef:
    """Return a query whose counts, sums and averages are scaled; fail at the option if it has none."""
    aggregation = query.aggregation
    if aggregation is None or not any(call.function in SCALED for call in aggregation.calls):
        text.fail("scaled = true needs a query with count, sum or avg: only these are scaled", span)
    [item] = query.streams
    if isinstance(item.relation, StreamDef) and item.relation.is_derived:
        text.fail(
            "scaled = true is not supported over a subquery or a derived stream: its rows are results, of which "
            "it is not known how many are missing. Aggregate over a stream that is not derived",
            span,
        )
    if item.window is not None and item.window.kind == "rows":
        text.fail(
            "scaled = true needs windows of time: [ROWS n] counts the rows that were kept, so none are missing",
            span,
        )
    calls = (replace(call, scaled=call.function in SCALED) for call in aggregation.calls)
    return replace(query, scaled=True, aggregation=replace(aggregation, calls=tuple(calls)))
