"""The same as oracle.py in plain loops, for conditions given as Python functions: slow, and nothing shared.

An environment maps each name in FROM to its row, a dict from column to value.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import product
from typing import Any, NamedTuple

from tests.oracle.model import Case, StreamData
from tests.oracle.results import sorted_rows

Environment = Mapping[str, Mapping[str, Any]]


class Event(NamedTuple):
    """A stream's row at one place of FROM; events compare by the total order of the design."""

    time: datetime
    place: int
    seq: int
    row: dict


def on_time(stream: StreamData) -> list[tuple[int, dict]]:
    """(sequence number, row) of the rows that are neither malformed nor late."""
    names = [name for name, _ in stream.columns]
    rows = [dict(zip(names, row, strict=True)) for row in stream.rows]
    if stream.timestamp is None:
        return list(enumerate(rows))
    numbered = list(enumerate(row for row in rows if row[stream.timestamp] is not None))
    kept = []
    for seq, row in numbered:
        earlier = [other[stream.timestamp] for number, other in numbered if number < seq]
        allowed = timedelta(microseconds=stream.lateness_us)
        if not earlier or row[stream.timestamp] >= max(earlier) - allowed:
            kept.append((seq, row))
    return kept


def brute(
    case: Case,
    query_name: str,
    where: Callable[[Environment], bool | None],
    select: Callable[[Environment], tuple],
    ranges: Mapping[str, tuple[int, int]] | None = None,
) -> list[tuple]:
    """The sorted rows of the query, whose WHERE and SELECT list are also given as functions."""
    query = case.query(query_name)
    choices, windows = [], {}
    for item in query.sources:
        if not case.is_stream(item.source_name):
            table = case.source(item.source_name)
            choices.append([dict(zip(dict(table.columns), row, strict=True)) for row in table.rows])
            continue
        place = len(windows)
        windows[place] = item.window
        stream = case.stream(item.source_name)
        first, end = (ranges or {}).get(stream.name, (0, len(stream.rows)))
        time = stream.timestamp
        seen = [(seq, row) for seq, row in on_time(stream) if first <= seq < end]
        choices.append([Event(row[time] if time else datetime.min, place, seq, row) for seq, row in seen])

    found = []
    for chosen in product(*choices):
        events = [one for one in chosen if isinstance(one, Event)]
        last = max(events, key=order)
        others = [event for event in events if event is not last]
        rows = (one.row if isinstance(one, Event) else one for one in chosen)
        environment = {item.name: row for item, row in zip(query.sources, rows, strict=True)}
        if where(environment) is not True:
            continue
        streams = {pick[0].place: pick for pick in choices if pick and isinstance(pick[0], Event)}
        if all(in_window(event, last, windows[event.place], streams[event.place]) for event in others):
            found.append(select(environment))
    return sorted_rows(found)


def order(event: Event) -> tuple:
    return event.time, event.place, event.seq


def in_window(event: Event, last: Event, window: tuple[str, int], stream: list[Event]) -> bool:
    kind, size = window
    if kind == "range":
        return last.time - event.time <= timedelta(microseconds=size)
    before = sorted((other for other in stream if order(other) < order(last)), key=order)
    return event in before[-size:]
