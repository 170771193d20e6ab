"""Windows of rows count rows in the order of time. A stream with lateness is put into that order first."""

from dataclasses import replace

from penstock.language.resolve import column_at
from penstock.language.statements import FromItem, Output, QueryDef, StreamDef


def in_order_of_time(item: FromItem) -> FromItem:
    """Return an item of FROM, with a derived stream of all its rows in order if its window needs that."""
    stream, window = item.relation, item.window
    if not isinstance(stream, StreamDef) or window is None or window.slide is None or window.kind != "rows":
        return item
    if not stream.lateness_us:
        return item
    name = f"{stream.name} in order"
    outputs = tuple(Output(column.name, column_at(0, column.name)) for column in stream.columns)
    every_row = QueryDef(name, (FromItem(stream, stream.name),), (), outputs, f"SELECT * FROM {stream.name}")
    return replace(item, relation=StreamDef(name, stream.columns, "derived", branches=(every_row,)))
