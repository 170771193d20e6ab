"""Random cases with aggregates for hypothesis: few keys, equal times, late and malformed rows, long silences.

`aggregate_cases()` gives cases for an engine; `aggregate_twins()` the same with queries also as Python functions,
for aggregate_brute.py; `groups_of_50(seed)` 50 queries of one shape. Queries of a case take conditions, keys and
filters from common pools, so that many have keys and filter in common, and other windows.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st

from tests.oracle import generator
from tests.oracle.aggregate_brute import WINDOW_END, WINDOW_START, AggregateMeaning, aggregate, key_of
from tests.oracle.aggregate_model import AggregateSpec, aggregate_query
from tests.oracle.generator import (
    NUMBERS,
    SMALL,
    STEPS,
    TIME_UNITS_US,
    Meaning,
    Pool,
    columns_of,
    draw_query,
    expression,
    link,
    predicate,
    rarely,
    with_variants,
)
from tests.oracle.model import Case, FromItem
from tests.oracle.shape_parts import MILLISECOND, host_table, maybe, stream, timed
from tests.oracle.twins import (
    COMPARISONS,
    Ref,
    Twin,
    all_of,
    any_of,
    arithmetic,
    case,
    coalesce,
    compare,
    constant,
    is_null,
    strict,
)

OPTIONAL = (
    ("v", "INT"),
    ("s", "STRING"),
    ("n", "BIGINT"),
    ("x", "DOUBLE"),
    ("f", "BOOLEAN"),
    ("d", "DECIMAL(9,2)"),
)
SILENCES = (60, 5_000)
WHOLE = ("INT", "BIGINT")
SOME = (*NUMBERS, "STRING", "BOOLEAN")
COMBINATIONS = 20_000
# (size, slide), in units of time
TUMBLING = ((3, 3), (1, 1), (8, 8), (11, 11), (25, 25))
OVERLAPPING = ((8, 3), (2, 1), (3, 2), (5, 2), (7, 4), (12, 4), (20, 8), (50, 10), (40, 1))
WITH_GAPS = ((3, 8), (1, 2), (2, 5), (10, 15))
LONG = ((1_000, 1_000), (1_000, 250), (100_000, 30_000))
OF_ROWS = ((10, 3), (1, 1), (2, 1), (3, 2), (5, 5), (2, 3), (1, 4), (8, 4), (12, 12), (20, 5), (100, 10))
NUMERIC = ("sum", "sum", "avg", "avg", "stddev_samp", "stddev_pop", "var_samp", "var_pop")
ANY_VALUE = ("count", "min", "max", "distinct", "pairs")
ORDERED = ("first", "last", "min_by", "max_by")


def aggregate_cases(max_rows: int = 40, variants: int = 1) -> st.SearchStrategy[Case]:
    """Cases of 1 or 2 streams and 1 to 5 queries, and up to `variants` copies of each with other constants."""
    seeds = st.integers(0, 2**32)
    return st.tuples(aggregate_twins(max_rows), seeds).map(
        lambda drawn: with_variants(drawn[0][0], Random(drawn[1]), variants)
    )


@st.composite
def aggregate_twins(draw, max_rows: int = 40) -> tuple[Case, dict[str, AggregateMeaning | Meaning]]:
    unit = draw(st.sampled_from(TIME_UNITS_US))
    steps = STEPS + SILENCES * draw(rarely(3))
    names = ("red", "green")[: draw(st.sampled_from([1, 1, 2]))]
    counts = st.sampled_from([0, 1, *(max_rows * part // 8 for part in range(1, 9))])
    streams = [draw(generator.stream(name, unit, max_rows, OPTIONAL, steps, counts, 2)) for name in names]
    tables = [draw(generator.table())] if draw(rarely(3)) else []
    pools = Pools(Pool(draw), Pool(draw), Pool(draw))
    queries, meanings = [], {}
    for number in range(draw(st.integers(1, 5))):
        name = f"q{number}"
        if draw(rarely(8)):
            query, meaning = draw_query(draw, name, streams, tables, pools.conditions, unit, COMBINATIONS)
        elif queries and isinstance(queries[-1], AggregateSpec) and draw(rarely(3)):
            query, meaning = with_other_window(draw, name, queries[-1], unit), meanings[queries[-1].name]
        else:
            query, meaning = draw_aggregate_query(draw, name, streams, tables, pools, unit)
        queries.append(query)
        meanings[name] = meaning
    return Case(streams, tables, queries), meanings


@dataclass(frozen=True)
class Pools:
    conditions: Pool
    keys: Pool
    filters: Pool


# --- queries ---


def draw_aggregate_query(draw, name, streams, tables, pools, unit) -> tuple[AggregateSpec, AggregateMeaning]:
    sources = [draw(st.sampled_from(streams))]
    if tables and draw(st.booleans()):
        sources.insert(draw(st.integers(0, 1)), tables[0])
    bare = len(sources) == 1 and draw(st.booleans())
    items, refs = [], []
    for place, source in enumerate(sources):
        window = draw(sliding_window(unit)) if source in streams else None
        items.append(FromItem(source.name, None if bare else f"{source.name[0]}{place}", window))
        refs.append(Ref(items[-1].name, bare))
    known = list(zip(sources, refs, strict=True))

    conditions = [] if len(sources) == 1 else [made(*refs) for made in pools.conditions.some(1, link, *sources)]
    for source, ref in known:
        chosen = draw(st.sampled_from([0, 0, 0, 0, 1, 1, 2]))
        conditions += [made(ref) for made in pools.conditions.some(chosen, predicate, source)]
    where = all_of(*draw(st.permutations(conditions)))

    if draw(rarely(6)):
        return draw_distinct(draw, name, items, known, pools, where)
    keys = draw_keys(draw, known, pools, draw(st.sampled_from([1, 0, 0, 1, 1, 2])))
    ours = [(twin, place) for place, twin in enumerate(keys)]
    calls = [draw_call(draw, known, streams, pools) for _ in range(draw(st.sampled_from([3, 0, 1, 2, 4, 6])))]
    calls = calls if calls or keys else [(aggregate("count"), "BIGINT")]
    having = draw_having(draw, [key_of(*key) for key in ours], calls) if draw(rarely(3)) else all_of()
    shown = [draw_key_output(draw, *key) for key in ours if not draw(rarely(5))]
    shown += [(draw_output(draw, *call), f"a{place}") for place, call in enumerate(calls)]
    shown = draw(st.permutations(shown + draw_bounds(draw))) or [(WINDOW_END, None)]
    query = AggregateSpec(
        name,
        [(twin.sql, shown_as) for twin, shown_as in shown],
        items,
        where.sql,
        draw(st.booleans()),
        [key.sql for key in keys],
        having.sql,
    )
    values = [twin.value for twin, _ in shown]
    return query, AggregateMeaning(where.value, [key.value for key in keys], having.value, values)


def draw_distinct(draw, name, items, known, pools, where) -> tuple[AggregateSpec, AggregateMeaning]:
    keys = draw_keys(draw, known, pools, draw(st.integers(1, 3)))
    shown = [(key_of(key, place), key_name(draw, key, place)) for place, key in enumerate(keys)] + draw_bounds(
        draw
    )
    select = [(twin.sql, shown_as) for twin, shown_as in shown]
    query = AggregateSpec(name, select, items, where.sql, draw(st.booleans()), distinct=True)
    values = [twin.value for twin, _ in shown]
    return query, AggregateMeaning(where.value, [key.value for key in keys], all_of().value, values)


def with_other_window(draw, name: str, query: AggregateSpec, unit: int) -> AggregateSpec:
    windows = [item.window and draw(sliding_window(unit)) for item in query.sources]
    sources = [replace(item, window=window) for item, window in zip(query.sources, windows, strict=True)]
    return replace(query, name=name, sources=sources)


@st.composite
def sliding_window(draw, unit: int) -> tuple[str, int, int]:
    if draw(rarely(3)):
        return ("rows", *draw(st.sampled_from(OF_ROWS)))
    size, slide = draw(st.one_of(map(st.sampled_from, (TUMBLING, OVERLAPPING, OVERLAPPING, WITH_GAPS, LONG))))
    grid = draw(st.sampled_from([unit, unit, max(1, unit // 2)]))
    return "range", size * grid, slide * grid


def draw_bounds(draw) -> list[tuple[Twin, None]]:
    return [(bound, None) for bound in (WINDOW_START, WINDOW_END) if draw(st.booleans())]


# --- keys ---


def draw_keys(draw, known, pools, count: int) -> list[Twin]:
    keys = {}
    for _ in range(count):
        source, ref = draw(st.sampled_from(known))
        key = pools.keys.some(1, group_key, source)[0](ref)
        keys.setdefault(key.sql, key)
    return list(keys.values())


@st.composite
def group_key(draw, source) -> Callable[[Ref], Twin]:
    number = columns_of(source, "INT")[0]  # every source has one
    name, kind = draw(st.sampled_from([c for c in source.columns if c[1] != "TIMESTAMP"]))
    small, shape = draw(st.sampled_from(SMALL["INT"])), draw(st.integers(0, 8))
    if shape <= 2:
        return lambda ref: ref[number]
    if shape == 3:
        return lambda ref: remainder(ref[number], 2)
    if shape == 4:
        return lambda ref: arithmetic("+", ref[number], constant(1))
    if shape == 5:
        return lambda ref: case(compare(">", ref[number], constant(small)), constant("a"), constant("b"))
    if shape == 6:
        return draw(expression(source, name, kind))
    return lambda ref: ref[name]


def draw_key_output(draw, key: Twin, place: int) -> tuple[Twin, str | None]:
    """Mostly the key itself."""
    shown = key_of(key, place)
    if draw(rarely(8)):
        return case(is_null(shown), constant("no"), constant("yes")), f"g{place}"
    return shown, key_name(draw, key, place)


def key_name(draw, key: Twin, place: int) -> str | None:
    """A column may go without."""
    return None if re.fullmatch(r"[\w.]+", key.sql) and draw(st.booleans()) else f"g{place}"


def remainder(part: Twin, by: int) -> Twin:
    """With the sign of what is divided, as SQL has it."""
    return strict(f"({part.sql} % {by})", lambda value: int(math.fmod(value, by)), part)


# --- aggregates ---


def draw_call(draw, known, streams, pools) -> tuple[Twin, str]:
    """An aggregate and the kind of its values. What depends on the order of rows is of the stream alone."""
    function = draw(st.sampled_from(("*", "*", *NUMERIC, *ANY_VALUE, *ORDERED, "bool_and", "bool_or")))
    source, ref = draw(st.sampled_from([each for each in known if function not in ORDERED or each[0] in streams]))
    where = None
    if draw(rarely(3)):
        condition_of, named = draw(st.sampled_from(known))
        where = pools.filters.some(1, predicate, condition_of)[0](named)
    if function == "*":
        return aggregate("count", where=where), "BIGINT"
    if function in NUMERIC:
        decimal = columns_of(source, "DECIMAL(9,2)") and draw(st.booleans())
        part, kind = draw_argument(draw, source, ref, ("DECIMAL(9,2)",) if decimal else NUMBERS)
        return aggregate(function, part, where=where), kind if function == "sum" else "DOUBLE"
    if function in ("bool_and", "bool_or"):
        flags = columns_of(source, "BOOLEAN")
        part, _ = draw_argument(draw, source, ref, NUMBERS)
        part = ref[flags[0]] if flags and draw(st.booleans()) else compare(">", part, constant(1))
        return aggregate(function, part, where=where), "BOOLEAN"
    part, kind = draw_argument(draw, source, ref, SOME)
    if function in ("count", "distinct"):
        return aggregate("count", part, where=where, distinct=function == "distinct"), "BIGINT"
    if function == "pairs":
        other, _ = draw_argument(draw, source, ref, SOME)
        return aggregate("count", part, other, where=where, distinct=True), "BIGINT"
    if function in ("min_by", "max_by"):
        others = [column for column in columns_of(source, *SOME, "TIMESTAMP") if ref[column].sql != part.sql]
        key = ref[draw(st.sampled_from(others))]
        return aggregate(function, part, key, where=where), kind
    return aggregate(function, part, where=where), kind


def draw_argument(draw, source, ref: Ref, kinds) -> tuple[Twin, str]:
    name = draw(st.sampled_from(columns_of(source, *kinds)))
    kind = dict(source.columns)[name]
    if kind in NUMBERS and draw(rarely(3)):
        op, small = draw(st.sampled_from("+-*")), draw(st.sampled_from(SMALL[kind]))
        return arithmetic(op, ref[name], constant(small)), kind
    return ref[name], kind


def draw_output(draw, call: Twin, kind: str) -> Twin:
    """Mostly the aggregate itself."""
    shape = draw(st.integers(0, 9)) if kind in WHOLE else 9
    if shape == 0:
        return arithmetic("+", call, constant(1))
    if shape == 1:
        return coalesce(call, constant(0))
    if shape == 2:
        return case(compare(">", call, constant(2)), constant("a"), constant("b"))
    if shape == 3:
        return arithmetic("-", call, aggregate("count"))
    return call


def draw_having(draw, keys: list[Twin], calls: list[tuple[Twin, str]]) -> Twin:
    """Over exact values alone: a DOUBLE may differ in its last digits."""
    usable = [call for call, kind in calls if kind in WHOLE] + [aggregate("count")]
    op, number = draw(st.sampled_from(sorted(COMPARISONS))), draw(st.sampled_from([0, 1, 1, 2, 3]))
    condition = compare(op, draw(st.sampled_from(usable)), constant(number))
    flags = [call for call, kind in calls if kind == "BOOLEAN"]
    if flags and draw(st.booleans()):
        return any_of(condition, flags[0])
    if keys and draw(rarely(4)):
        return all_of(condition, is_null(keys[0], draw(st.booleans())))
    return condition


# --- 50 at once ---

NAMED = (
    # select, sources, where, group, having, distinct; {a} … {d} are numbers, {window} is a window of that kind
    (
        "k, count(*) AS n, sum(v) FILTER (WHERE v > {a}) AS s, avg(d) AS m, window_start, window_end",
        ("red [RANGE {window}]", "v > {b} AND x < {c}", "k", "count(*) > {d}", False),
    ),
    (
        "(k + {a}) AS up, min(v) AS low, max(v + {b}) AS high, count(DISTINCT s) AS texts, window_end",
        ("red [RANGE {window}]", "v > {c}", "(k + {a})", "max(v) > {d}", False),
    ),
    (
        "r.k, h.owner, count(*) AS n, sum(r.d) AS total, stddev_pop(r.x) AS spread, window_start",
        ("red [RANGE {window}] AS r, hosts AS h", "r.host = h.ip AND r.v > {a}", "r.k, h.owner", "", False),
    ),
    (
        "k, first(v) AS begun, last(s) AS ended, min_by(s, v) FILTER (WHERE k < {a}) AS of_least, window_end",
        ("red [ROWS {window}]", "v > {b}", "k", "count(*) >= {c}", False),
    ),
    ("k, s, window_start", ("red [ROWS {window}]", "v > {a} OR x > {b}", "", "", True)),
    (
        "count(*) AS n, bool_and(v > {a}) AS all_high, var_samp(n) AS v",
        ("red [RANGE {window}]", "k < {b}", "", "", False),
    ),
)


def groups_of_50(seed: int, rows: int = 150) -> Case:
    """50 queries of one of six shapes, which differ in constants and windows."""
    random = Random(seed)
    jitter = random.choice([0, 0, 300 * MILLISECOND])
    columns = [
        ("ts", "TIMESTAMP"),
        ("k", "INT"),
        ("v", "INT"),
        ("x", "DOUBLE"),
        ("d", "DECIMAL(9,2)"),
        ("s", "STRING"),
        ("host", "STRING"),
        ("n", "BIGINT"),
    ]
    values = generator.VALUES
    rows_made = [
        (
            at,
            maybe(random, random.randrange(4)),
            maybe(random, random.randrange(10)),
            maybe(random, random.randrange(40) / 4),
            maybe(random, random.choice(values["DECIMAL(9,2)"])),
            maybe(random, random.choice(values["STRING"])),
            maybe(random, f"h{random.randrange(6)}"),
            maybe(random, random.choice(values["BIGINT"])),
        )
        for at in timed(random, rows, jitter)
    ]
    red = stream("red", columns, rows_made, random, timestamp="ts", lateness_us=jitter // 2)
    select, rest = NAMED[seed % len(NAMED)]
    queries = []
    for number in range(50):
        words = {name: random.randrange(5) for name in "abd"} | {"c": random.randrange(1, 6)}
        unit = 500 * MILLISECOND if "RANGE" in rest[0] else 1
        words["window"] = f"{unit * random.randint(1, 12)} SLIDE {unit * random.randint(1, 8)}"
        texts = [part.format(**words) for part in (select, *rest[:-1])]
        queries.append(aggregate_query(f"q{number}", *texts, distinct=rest[-1]))
    return Case([red], [host_table()] if "hosts" in rest[0] else [], queries)
