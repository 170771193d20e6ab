"""What a query with aggregates must return, by brute force in DuckDB, straight from *Aggregates* of the design.

The rules, one CTE each; the first three are those of oracle.py:

- `numbered`    well-formed rows (a NULL time is malformed) get dense sequence numbers in file order;
- `judged`      beside each row the newest time of the rows with smaller sequence numbers, late ones included;
- `kept`        the rows that are not older than that minus the stream's lateness;
- `positioned`  kept rows with their position from 0 in (time, sequence) order, before any WHERE;
- `windows`     of time: those that hold a kept row. Of rows: those whose positions all exist. With their bounds;
- `asked`       the windows that a query has which was created or dropped while the system ran;
- `members`     every window beside every one of its rows, and every row of the stored table, if WHERE is true;
- the result    groups of the members of one window with equal keys, where HAVING is true. Or, for DISTINCT, the
                different ones of each window.

`definition` says in SQL what each aggregate is.
"""

import math
import re
from collections import Counter, defaultdict

from tests.oracle.aggregate_model import IN_ORDER, AggregateSpec, Call, replace_calls
from tests.oracle.model import Case, FromItem, StreamData
from tests.oracle.oracle import joined, kept_rows, run
from tests.oracle.results import comparable, described, sorted_rows
from tests.oracle.sqltext import mentioned

__all__ = ["difference", "expected_aggregates", "first_window"]

TOLERANCE = 1e-9
DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
Types = dict[str, str]


def expected_aggregates(
    case: Case, query_name: str, since: int | None = None, until: int | None = None
) -> list[tuple]:
    """The sorted rows of a query with aggregates when its stream has ended.

    `since`: only windows of time that begin after this, only windows of rows that begin at or after this position.
    `until`: only windows of time whose last microsecond is at most this, windows of rows whose end (begin plus
    size) is at most this. Times are in microseconds since 1970.
    """
    rows = placed_aggregates(case, case.query(query_name), since, until)
    return sorted_rows(row[2:] for row in rows)


def placed_aggregates(
    case: Case, query: AggregateSpec, since: int | None = None, until: int | None = None
) -> list[tuple]:
    """The rows of a query, each behind its time in microseconds and the beginning of its window."""
    item = check(case, query)
    stream = case.stream(item.source_name)
    ctes = [*kept_rows(stream), positioned(stream), windows(item.window), asked(item.window[0], since, until)]
    order = [f'"{item.name}".{column}' for column in ("__t", "__seq")]
    types = argument_types(case, query)

    def sql_of(expression: str) -> str:
        return replace_calls(expression, lambda call: definition(call, types, order))

    outputs = [f"{sql_of(sql)} AS out_{i}" for i, (sql, _) in enumerate(query.select)]
    members = f"FROM asked AS __w CROSS JOIN {relations(case, query)}"
    members += f" WHERE {in_window(item)} AND ({query.where or 'TRUE'})"
    placed = "epoch_us(__w.window_end) AS __time, __w.__begin"
    if query.distinct:
        result = f"SELECT DISTINCT {placed}, {', '.join(outputs)} {members}"
    else:
        keys = ", ".join(["__w.__begin", "__w.window_start", "__w.window_end", *query.group])
        having = f" HAVING {sql_of(query.having)}" if query.having else ""
        result = f"SELECT {placed}, {', '.join(outputs)} {members} GROUP BY {keys}{having}"
    return run(case, f"WITH {', '.join(ctes)}\n{result}")


def first_window(case: Case, query_name: str, first: int) -> int | None:
    """What `since` is for a query that was created when the stream's next sequence number was `first`.

    For windows of time, the newest time of the rows before it, late ones included (None if there are none); for
    windows of rows, the number of kept ones. That is what the engine does if the stream's lateness is 0.
    """
    item = check(case, case.query(query_name))
    kind = item.window[0]
    newest, kept = (f"{name}_{item.source_name}" for name in ("numbered", "kept"))
    asked_for = f"max(__t) FROM {newest}" if kind == "range" else f"count(*) FROM {kept}"
    ctes = ", ".join(kept_rows(case.stream(item.source_name)))
    return run(case, f"WITH {ctes}\nSELECT {asked_for} WHERE __seq < {first}")[0][0]


def check(case: Case, query: AggregateSpec) -> FromItem:
    """Return the query's stream; refuse what has no meaning."""
    streams = [item for item in query.sources if case.is_stream(item.source_name)]
    tables = [item for item in query.sources if item not in streams]
    wrong = None
    if len(streams) != 1 or len(tables) > 1 or any(item.window for item in tables):
        wrong = "aggregates are over one stream with a window, and at most one stored table"
    elif len(streams[0].window or ()) != 3 or min(streams[0].window[1:]) < 1:
        wrong = "the window of aggregates is (kind, size, slide)"
    elif case.stream(streams[0].source_name).timestamp is None:
        wrong = "a stream with arrival times, which no oracle knows"
    elif query.distinct and (query.group or query.having or query.calls()):
        wrong = "DISTINCT beside aggregates"
    elif not (query.distinct or query.group or query.calls()):
        wrong = "neither aggregates nor GROUP BY nor DISTINCT"
    elif any(mentioned(", ".join(c.arguments), [t.name for t in tables]) for c in query.calls() if in_order(c)):
        wrong = "of several table rows that meet a stream row, none is the first"
    if wrong:
        raise ValueError(f"{query.name}: {wrong}")
    return streams[0]


def in_order(call: Call) -> bool:
    return call.function in IN_ORDER


# --- windows and their rows ---


def positioned(stream: StreamData) -> str:
    position = "row_number() OVER (ORDER BY __t, __seq) - 1 AS __position"
    return f"positioned AS (SELECT *, {position} FROM kept_{stream.name})"


def windows(window: tuple[str, int, int]) -> str:
    """Bounds in microseconds or positions: `__begin` ≤ row < `__end`."""
    kind, size, slide = window
    if kind == "range":
        first, last = f"__t // {slide} - {-(-size // slide)}", f"__t // {slide}"
        bounds = f"__k * {slide} AS __begin, __k * {slide} + {size} AS __end"
        near = f"SELECT DISTINCT unnest(range({first}, {last} + 1)) AS __k FROM positioned"
        return (
            "windows AS (SELECT *, make_timestamp(__begin) AS window_start, make_timestamp(__end) AS window_end"
            f" FROM (SELECT {bounds} FROM ({near}))"
            " WHERE EXISTS (FROM positioned WHERE __t >= __begin AND __t < __end))"
        )
    numbers = f"SELECT unnest(range(0, (SELECT count(*) FROM positioned) // {slide} + 1)) AS __k"
    bounds = f"SELECT __k * {slide} AS __begin, __k * {slide} + {size} AS __end FROM ({numbers})"
    return (
        "windows AS (SELECT b.*, make_timestamp(f.__t) AS window_start, make_timestamp(l.__t) AS window_end"
        f" FROM ({bounds}) AS b JOIN positioned AS f ON f.__position = b.__begin"
        " JOIN positioned AS l ON l.__position = b.__end - 1)"
    )


def asked(kind: str, since: int | None, until: int | None) -> str:
    begins, ends = ("__begin >", "__end - 1 <=") if kind == "range" else ("__begin >=", "__end <=")
    conditions = [f"{begins} {since}"] * (since is not None) + [f"{ends} {until}"] * (until is not None)
    return f"asked AS (SELECT * FROM windows WHERE {' AND '.join(['TRUE', *conditions])})"


def relations(case: Case, query: AggregateSpec) -> str:
    sources = [item.source_name for item in query.sources]
    return joined(query, ["positioned" if case.is_stream(name) else f"raw_{name}" for name in sources])


def in_window(item: FromItem) -> str:
    place = f'"{item.name}".{"__t" if item.window[0] == "range" else "__position"}'
    return f"{place} >= __w.__begin AND {place} < __w.__end"


# --- aggregates ---


def argument_types(case: Case, query: AggregateSpec) -> Types:
    """DuckDB's types of what is summed."""
    summed = list(dict.fromkeys(call.arguments[0] for call in query.calls() if call.function in ("sum", "avg")))
    if not summed:
        return {}
    tables = ", ".join(f'raw_{item.source_name} AS "{item.name}"' for item in query.sources)
    shown = ", ".join(f"{sql} AS a{i}" for i, sql in enumerate(summed))
    rows = run(case, f"DESCRIBE SELECT {shown} FROM {tables}")
    return {sql: row[1] for sql, row in zip(summed, rows, strict=True)}


def definition(call: Call, types: Types, order: list[str]) -> str:
    """An aggregate in DuckDB's SQL; where DuckDB's function of that name differs from ours, by our rule.

    - count(DISTINCT x, y)  different pairs, without those that have a NULL;
    - sum of integers       a BIGINT (DuckDB: HUGEINT); of DECIMAL(p,s) a DECIMAL(min(38,p+10),s);
    - avg of DECIMAL(p,s)   the exact one as DECIMAL(p+4,s+4), halves away from zero (DuckDB: a DOUBLE);
    - min_by, max_by        the x of the earliest row with the least (greatest) k, NULL or not;
    - first, last           the x of the first (last) row by (time, sequence), NULL or not.
    """
    function, (x, *more), conditions = call.function, call.arguments, [call.condition] if call.condition else []
    arguments = ", ".join(call.arguments)
    if call.distinct:
        whole = " AND ".join(f"({part}) IS NOT NULL" for part in call.arguments)
        return f"count(DISTINCT CASE WHEN {whole} THEN row({arguments}) END){filtered(conditions)}"
    if function in ("first", "min_by", "max_by"):
        by = {"first": [], "min_by": [f"{more} ASC" for more in more], "max_by": [f"{more} DESC" for more in more]}
        known = [f"({key}) IS NOT NULL" for key in more]
        return f"first({x} ORDER BY {', '.join(by[function] + order)}){filtered(conditions + known)}"
    if function == "last":
        return f"first({x} ORDER BY {', '.join(f'{each} DESC' for each in order)}){filtered(conditions)}"
    decimal = DECIMAL.fullmatch(types.get(x, "")) if function in ("sum", "avg") else None
    if function == "sum" and types[x] != "DOUBLE":
        kind = f"DECIMAL({min(38, int(decimal[1]) + 10)},{decimal[2]})" if decimal else "BIGINT"
        return f"CAST(sum({x}){filtered(conditions)} AS {kind})"
    if function == "avg" and decimal:
        return decimal_average(x, int(decimal[2]), filtered(conditions))
    return f"{function}({arguments}){filtered(conditions)}"


def filtered(conditions: list[str]) -> str:
    return f" FILTER (WHERE {' AND '.join(f'({each})' for each in conditions)})" if conditions else ""


def decimal_average(x: str, scale: int, condition: str) -> str:
    """In whole numbers of the last digit: (2·|sum|·10⁴ + count) ÷ (2·count), with the sum's sign."""
    total = f"sum(CAST(({x}) * {10**scale} AS HUGEINT)){condition}"
    count = f"count({x}){condition}"
    rounded = f"(2 * abs({total}) * 10000 + {count}) // (2 * {count})"
    sign = f"CASE WHEN {total} < 0 THEN -1 ELSE 1 END"
    digit = f"CAST('{'0.' + '0' * (scale + 3)}1' AS DECIMAL({scale + 5},{scale + 4}))"
    return f"(CAST({rounded} * {sign} AS DECIMAL(25,0)) * {digit})"


# --- comparison ---


def difference(expected: list[tuple], got: list[tuple], shown: int = 5) -> str:
    """As results.difference, but DOUBLEs may differ by 1e-9 of themselves, and kinds of numbers must be the same.

    Rows are paired by what is exact, then by DOUBLEs that are close: so no order of almost equal DOUBLEs matters.
    """
    wanted, found = (Counter((kinds(row), comparable(row)) for row in rows) for rows in (expected, got))
    missing, too_many = wanted - found, found - wanted
    candidates = defaultdict(list)
    for row in too_many:
        candidates[exact_part(row)].append(row)
    for row in missing:
        for other in candidates[exact_part(row)]:
            paired = min(missing[row], too_many[other]) if close(row[1], other[1]) else 0
            missing[row] -= paired
            too_many[other] -= paired
    missing, too_many = only_rows(+missing), only_rows(+too_many)
    if not missing and not too_many:
        return ""
    return described(f"{len(expected)} rows expected, {len(got)} got", missing, too_many, shown)


def kinds(row: tuple) -> tuple[str, ...]:
    return tuple(type(value).__name__ for value in row)


def exact_part(row: tuple[tuple, tuple]) -> tuple:
    return row[0], tuple(None if isinstance(value, float) else value for value in row[1])


def close(row: tuple, other: tuple) -> bool:
    pairs = [(a, b) for a, b in zip(row, other, strict=True) if isinstance(a, float)]
    return all(
        (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        for a, b in pairs
    )


def only_rows(counted: Counter) -> Counter:
    rows = Counter()
    for (_, row), count in counted.items():
        rows[row] += count
    return rows
