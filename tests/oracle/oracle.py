"""What a query must return, by brute force in DuckDB, straight from the paragraph *Meaning* of the design.

The rules, one CTE each:

- `numbered`  well-formed rows (a NULL time is malformed) get dense sequence numbers in file order;
- `judged`    beside each row the newest time of the rows with smaller sequence numbers, late ones included;
- `kept`      the rows that are not older than that minus the stream's lateness;
- `place_i`   what the query sees at the i-th stream of its FROM: the rows of its sequence range, with their
              position in (time, sequence) order. A self-join has two places, each with all rows;
- `combined`  every combination of a row from each place and each stored table that satisfies WHERE;
- `marked`    the same with the time and place of the last row by (time, place);
- the result  combinations whose other rows are in their windows at the last one.
"""

from collections.abc import Mapping
from functools import cache

import duckdb

from tests.oracle.datafiles import arrow_table
from tests.oracle.model import Case, FromItem, QuerySpec, StreamData, TableData
from tests.oracle.results import difference, read_columns, read_rows, sorted_rows

__all__ = ["difference", "expected", "expected_late", "read_columns", "read_rows"]

Ranges = Mapping[str, tuple[int, int]]
HIDDEN = {"t": "__t", "seq": "__seq", "position": "__position"}


def expected(case: Case, query_name: str, ranges: Ranges | None = None) -> list[tuple]:
    """The sorted rows of a query that sees, of each stream in `ranges`, sequence numbers first ≤ seq < end."""
    query = case.query(query_name)
    outputs = len(outputs_of(case, query))
    return sorted_rows(row[-outputs:] for row in placed_results(case, query, ranges))


def placed_results(case: Case, query: QuerySpec, ranges: Ranges | None = None) -> list[tuple]:
    """The rows of a query, each behind its time in microseconds and the sequence numbers of its rows."""
    places = [item for item in query.sources if case.is_stream(item.source_name)]
    check(case, query, places)
    ctes = []
    for name in dict.fromkeys(item.source_name for item in places):
        ctes += kept_rows(case.stream(name))
    for place, item in enumerate(places):
        ctes.append(seen_rows(case.stream(item.source_name), place, (ranges or {}).get(item.source_name)))
    ctes += [combined(case, query, places), marked(len(places))]
    sequences = [f"seq_{place}" for place in range(len(places))]
    outputs = ", ".join(["latest", *sequences, *(f"out_{i}" for i in range(len(outputs_of(case, query))))])
    conditions = [in_window(item, place) for place, item in enumerate(places) if len(places) > 1]
    sql = f"WITH {', '.join(ctes)}\nSELECT {outputs} FROM marked WHERE {' AND '.join(['TRUE', *conditions])}"
    return run(case, sql)


def expected_late(case: Case, stream_name: str) -> list[tuple]:
    """The rows of a stream that go to the side output because they are late, sorted."""
    stream = case.stream(stream_name)
    columns = ", ".join(f'"{name}"' for name, _ in stream.columns)
    ctes = ", ".join(kept_rows(stream))
    late = f"SELECT {columns} FROM judged_{stream.name} WHERE __t < __newest - {stream.lateness_us}"
    return sorted_rows(run(case, f"WITH {ctes}\n{late}"))


def check(case: Case, query: QuerySpec, places: list[FromItem]) -> None:
    if any(item.window is not None and len(item.window) > 2 for item in places):
        raise ValueError(f"{query.name}: windows that slide are for aggregates, see expected_aggregates")
    if not places:
        raise ValueError(f"{query.name}: no stream in FROM")
    for item in query.sources:
        if item not in places and item.window is not None:
            raise ValueError(f"{query.name}: the stored table {item.name} has a window")
        if item.outer is not None and (
            item in places or places[0] not in query.sources[: query.sources.index(item)]
        ):
            raise ValueError(f"{query.name}: LEFT JOIN has a stream before it and a stored table behind it")
    for item in places if len(places) > 1 else []:
        if item.window is None:
            raise ValueError(f"{query.name}: {item.name} is joined without a window; the design gives no meaning")
        if case.stream(item.source_name).timestamp is None:
            raise ValueError(f"{query.name}: {item.name} has arrival times, which no oracle knows")


def kept_rows(stream: StreamData) -> list[str]:
    name = stream.name
    time = f'epoch_us("{stream.timestamp}")' if stream.timestamp else "CAST(NULL AS BIGINT)"
    well_formed = f'"{stream.timestamp}" IS NOT NULL' if stream.timestamp else "TRUE"
    earlier = "ORDER BY __seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    return [
        f"numbered_{name} AS (SELECT *, row_number() OVER (ORDER BY __line) - 1 AS __seq, {time} AS __t"
        f" FROM raw_{name} WHERE {well_formed})",
        f"judged_{name} AS (SELECT *, max(__t) OVER ({earlier}) AS __newest FROM numbered_{name})",
        f"kept_{name} AS (SELECT * FROM judged_{name}"
        f" WHERE __newest IS NULL OR __t >= __newest - {stream.lateness_us})",
    ]


def seen_rows(stream: StreamData, place: int, seqs: tuple[int, int] | None) -> str:
    visible = "TRUE" if seqs is None else f"__seq >= {seqs[0]} AND __seq < {seqs[1]}"
    position = "row_number() OVER (ORDER BY __t, __seq) AS __position"
    return f"place_{place} AS (SELECT *, {position} FROM kept_{stream.name} WHERE {visible})"


def combined(case: Case, query: QuerySpec, places: list[FromItem]) -> str:
    names = iter(f"place_{place}" for place in range(len(places)))
    stored = [
        next(names) if case.is_stream(item.source_name) else f"raw_{item.source_name}" for item in query.sources
    ]
    shown = [f"{expression} AS out_{i}" for i, expression in enumerate(outputs_of(case, query))]
    for place, item in enumerate(places):
        shown += [f'"{item.name}".{column} AS {name}_{place}' for name, column in HIDDEN.items()]
    from_clause = joined(query, stored)
    return f"combined AS (SELECT {', '.join(shown)} FROM {from_clause} WHERE {query.where or 'TRUE'})"


def joined(query: QuerySpec, stored: list[str]) -> str:
    """The FROM clause over these relations, one for each source: all combinations, but for LEFT JOIN."""
    shown = ""
    for item, relation in zip(query.sources, stored, strict=True):
        named = f'{relation} AS "{item.name}"'
        if item.outer is not None:
            shown += f" LEFT JOIN {named} ON ({item.outer})"
        else:
            shown += f" CROSS JOIN {named}" if shown else named
    return shown


def outputs_of(case: Case, query: QuerySpec) -> list[str]:
    """The expressions of the SELECT list, stars written out."""
    outputs = []
    for expression, _ in query.select:
        for item in query.sources:
            if expression in ("*", f"{item.name}.*"):
                outputs += [f'"{item.name}"."{name}"' for name in visible(case.source(item.source_name))]
        if not expression.endswith("*"):
            outputs.append(expression)
    return outputs


def visible(source: StreamData | TableData) -> list[str]:
    """The columns that queries see: the time of a derived stream is none of them."""
    return [name for name, _ in source.columns if not name.startswith("__")]


def marked(places: int) -> str:
    latest = f"greatest({', '.join(f't_{place}' for place in range(places))})"
    last = " ".join(f"WHEN t_{place} = latest THEN {place}" for place in reversed(range(places)))
    times = f"SELECT *, {latest} AS latest FROM combined"
    return f"marked AS (SELECT *, CASE {last} END AS last_place FROM ({times}))"


def in_window(item: FromItem, place: int) -> str:
    kind, size = item.window
    if kind == "range":
        return f"latest - t_{place} <= {size}"
    # Rows of this place that precede the last one. They have the positions 1 … count; the window is the last n.
    precedes = f"r.__t < latest OR (r.__t = latest AND {place} < last_place)"
    count = f"(SELECT count(*) FROM place_{place} AS r WHERE {precedes})"
    return f"(last_place = {place} OR position_{place} > {count} - {size})"


def run(case: Case, sql: str) -> list[tuple]:
    with database().cursor() as cursor:  # its registered tables are its own and go with it
        for source in (*case.streams, *case.tables):
            rows = [(*row, line) for line, row in enumerate(source.rows)]
            cursor.register(f"raw_{source.name}", arrow_table([*source.columns, ("__line", "BIGINT")], rows))
        return cursor.execute(sql).fetchall()


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all calls: opening takes longer than most of them."""
    return duckdb.connect(":memory:", config={"threads": 1})
