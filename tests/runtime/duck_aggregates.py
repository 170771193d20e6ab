"""Aggregates by DuckDB. Partial ones are every row with its pane: the windows are computed as they are defined."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

import pyarrow as pa

from penstock.language.statements import WindowDef
from penstock.plan import group, plan
from penstock.plan.steps import ARRIVAL, BLOCK, EXTRA, PANE, POSITION, TIME, Aggregate, Call, Close
from penstock.runtime.closings import FROM, UNTIL
from penstock.runtime.work import ClosingPanes, Work
from penstock.shedding.drop_box import Boxes
from tests.oracle.aggregates import decimal_average

Translate = Callable[[str], str]
Run = Callable[..., pa.Table]


@contextmanager
def any_blocks(random: Random) -> Iterator[None]:
    """Let panes be in blocks of any size, from plan to plan, even where those make more work than they save."""

    def any_size(pane: int, windows: Sequence[WindowDef]) -> int:
        return pane * random.choice([0, 2, 3, 5])

    with patch.object(plan, "block_of", any_size), patch.object(group, "block_of", any_size):
        yield


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def kept_rows(step: Aggregate, name: str, work: Work, rows: pa.Table, to_duck: Translate, run: Run) -> pa.Table:
    """Every row, with its keys, the pane in place of its time, and what it counts for dropped ones.

    With blocks, it is there once more with its block.
    """
    older, block = work.merged.get(name), work.plan.block_of(name)
    size = quoted(step.pane_column) if step.pane_column else str(step.pane)
    keys = [f"{to_duck(key.sql)} AS {quoted(key.name)}" for key in step.keys]
    place = TIME if step.by == "range" else POSITION
    pane = f"{place} - ({place} % {size} + {size}) % {size} AS {TIME}"
    columns = ", ".join([*keys, pane, extra(work.boxes.get(name, ()))])
    made = run(f"SELECT * RENAME ({TIME} AS __at), {columns} FROM s WHERE {place} IS NOT NULL", s=rows)
    size = quoted(step.block_column) if step.block_column else str(block)
    begin = f"({TIME} - ({TIME} % {size} + {size}) % {size})"
    made = run(
        f"SELECT *, CAST(-{size} AS BIGINT) AS {BLOCK} FROM s UNION ALL "
        f"SELECT * REPLACE ({begin} AS {TIME}), CAST({size} AS BIGINT) FROM s WHERE {size} > 0",
        s=made,
    )
    return made if older is None else pa.concat_tables([made, older], promote_options="default")


def extra(boxes: Boxes) -> str:
    """1/p - 1 of each row, by the share p kept from its number on."""
    cases = "".join(f" WHEN __seq0 >= {start} THEN 1.0::DOUBLE / {share or 1} - 1" for start, share in boxes[::-1])
    return f"(CASE{cases} ELSE 0 END)::DECIMAL(12, 6) AS {EXTRA}" if boxes else f"0::DECIMAL(12, 6) AS {EXTRA}"


def closed_windows(step: Close, closing: ClosingPanes, to_duck: Translate, run: Run) -> pa.Table:
    """The aggregates of windows, over all rows of their panes."""
    renamed = {"__seq0": "__n", ARRIVAL: "__na"}
    every = pa.concat_tables([closing.rows, *(each.table() for each in closing.stored)], promote_options="default")
    rows = every.rename_columns([renamed.get(each, each) for each in every.column_names])
    keys = [f"s.{quoted(key.name)}" for key in step.keys if not key.is_variant]
    member = ["w.__q"] if step.group else []
    same = f"s.{TIME} = w.{PANE} AND s.{BLOCK} = w.{BLOCK}" + (" AND s.__v = w.__v" if step.by_variant else "")
    groups = [*keys, *member, *(f"w.{each}" for each in ("__seq0", TIME, ARRIVAL, FROM, UNTIL))]
    bounds = ((FROM, "window_start"), (UNTIL, "window_end"))
    times = [f"make_timestamp(w.{each}) AS {name}" for each, name in bounds]
    calls = [f"{call_sql(call, rows, to_duck, run)} AS {quoted(call.name)}" for call in step.calls]
    sql = f"SELECT {', '.join([*groups, *times, *calls])} FROM s JOIN w ON {same} GROUP BY {', '.join(groups)}"
    return run(sql, s=rows, w=closing.windows).drop_columns([FROM, UNTIL])


def call_sql(call: Call, rows: pa.Table, to_duck: Translate, run: Run) -> str:
    """An aggregate with the type that Spark gives it."""
    arguments = [to_duck(each) for each in call.arguments]
    conditions = [] if call.condition is None else [to_duck(call.condition)]
    if call.scaled:
        return scaled_sql(call, arguments, conditions, rows, run)
    if call.function not in ("sum", "avg"):
        return plain_sql(call.function, arguments, conditions)
    sql = plain_sql(call.function, arguments, conditions)
    kind = run(f"SELECT {arguments[0]} AS x FROM s LIMIT 0", s=rows).schema.field("x").type
    if not pa.types.is_decimal(kind):
        return f"CAST({sql} AS BIGINT)" if call.function == "sum" and pa.types.is_integer(kind) else sql
    if call.function == "sum":
        return f"CAST({sql} AS {decimal_sum(kind)})"
    return decimal_average(arguments[0], kind.scale, filtered(conditions))


def scaled_sql(call: Call, arguments: Sequence[str], conditions: list[str], rows: pa.Table, run: Run) -> str:
    """A count, sum or average in which a row counts 1/p."""
    value = arguments[0] if arguments else "1"
    more = filtered([*conditions, f"({value}) IS NOT NULL"])
    number = f"(count({value}){more} + coalesce(sum({EXTRA}){more}, 0))"
    if call.function == "count":
        return f"CAST(round({number}) AS BIGINT)"
    kind = run(f"SELECT {value} AS x FROM s LIMIT 0", s=rows).schema.field("x").type
    total = f"(sum({value}){more} + sum(({value}) * {EXTRA}){more})"
    if call.function == "avg":
        return f"{total}::DOUBLE / {number}::DOUBLE"
    if pa.types.is_floating(kind):
        return total
    return (
        f"CAST(round({total}) AS BIGINT)" if pa.types.is_integer(kind) else f"CAST({total} AS {decimal_sum(kind)})"
    )


def decimal_sum(kind: pa.DataType) -> str:
    """The type of the sum of decimals."""
    return f"DECIMAL({min(kind.precision + 10, 38)}, {kind.scale})"


def plain_sql(function: str, arguments: Sequence[str], conditions: list[str]) -> str:
    sql = f"{function}({', '.join(arguments) or '*'})"
    if function in ("first", "last"):
        down = "" if function == "first" else " DESC"
        sql = f"first({arguments[0]} ORDER BY __at{down}, __n{down})"
    elif function in ("min_by", "max_by"):
        down = "" if function == "min_by" else " DESC"
        conditions = [*conditions, f"{arguments[1]} IS NOT NULL"]
        sql = f"first({arguments[0]} ORDER BY {arguments[1]}{down}, __at, __n)"
    elif function == "count_distinct":
        conditions = [*conditions, *(f"({each}) IS NOT NULL" for each in arguments)]
        values = ", ".join(arguments)
        sql = f"count(DISTINCT {values if len(arguments) == 1 else f'({values})'})"
    return sql + filtered(conditions)


def filtered(conditions: Sequence[str]) -> str:
    return f" FILTER (WHERE {' AND '.join(f'({each})' for each in conditions)})" if conditions else ""
