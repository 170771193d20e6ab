"""Derived streams: their rows are what the two oracles say of their queries, in the order that the design gives.

`resolved(case)` has every derived stream as a stream of rows, whose time is a column that queries do not see. So
`expected` and `expected_aggregates` compute a query over it like any other, and a derived stream over it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from tests.oracle.aggregate_model import AggregateSpec
from tests.oracle.aggregates import expected_aggregates, placed_aggregates
from tests.oracle.model import Case, DerivedSpec, QuerySpec, StreamData
from tests.oracle.oracle import expected, placed_results
from tests.oracle.results import sort_key

TIME = "__time"
EPOCH = datetime(1970, 1, 1)
EVERY = 2**62


@dataclass(frozen=True)
class Begun:
    """Where a derived stream begins that had no reader at first.

    `rows` has the first sequence number that it sees of each stream below. `since` is that of
    `expected_aggregates`, for each of its branches with aggregates.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    since: Mapping[int, int | None] = field(default_factory=dict)


EVERYTHING = Begun()


def resolved(case: Case, begun: Mapping[str, Begun] | None = None) -> Case:
    """The case with derived streams as streams of rows."""
    for spec in case.derived:
        found = derived_data(case, spec, (begun or {}).get(spec.name, EVERYTHING))
        case = replace(case, streams=[*case.streams, found])
    return replace(case, derived=())


def derived_data(case: Case, spec: DerivedSpec, begun: Begun = EVERYTHING) -> StreamData:
    """The rows of a derived stream, given a case in which those that it reads are streams of rows.

    They are in the order of time, then of the place in UNION ALL, then of the sequence numbers of the rows of
    which each was made (of aggregates: the beginning of the window), then of all columns, NULLs first.
    """
    placed = []
    for place, branch in enumerate(spec.branches):
        hidden = hidden_columns(case, branch)
        for row in branch_rows(case, branch, begun, place):
            (time, *sequences), values = row[:hidden], row[hidden:]
            placed.append((time, place, tuple(sequences), sort_key(values), values))
    placed.sort(key=lambda row: row[:-1])
    rows = [(*values, EPOCH + timedelta(microseconds=time)) for time, *_, values in placed]
    return StreamData(spec.name, [*spec.columns, (TIME, "TIMESTAMP")], rows, TIME)


def branch_rows(case: Case, branch: QuerySpec, begun: Begun, place: int) -> list[tuple]:
    if isinstance(branch, AggregateSpec):
        return placed_aggregates(case, branch, begun.since.get(place))
    return placed_results(case, branch, {name: (first, EVERY) for name, first in begun.rows.items()})


def hidden_columns(case: Case, branch: QuerySpec) -> int:
    """How many columns stand before the results: the time, and a sequence number for each stream."""
    return 1 + sum(case.is_stream(item.source_name) for item in branch.sources)


def expected_of(case: Case, query_name: str) -> list[tuple]:
    """The sorted rows of a query that sees everything, given a resolved case."""
    query = case.query(query_name)
    return (expected_aggregates if isinstance(query, AggregateSpec) else expected)(case, query_name)


def seen(stream: StreamData) -> StreamData:
    """A stream as queries see it: without the hidden time."""
    if stream.timestamp != TIME:
        return stream
    return StreamData(stream.name, stream.columns[:-1], [row[:-1] for row in stream.rows])
