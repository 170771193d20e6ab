"""Random cases for hypothesis: few keys and few times, so that ties, windows' edges and NULLs are common.

`cases()` gives cases for an engine; `twins()` the same with their conditions also as Python functions, for
brute.py. Queries take their predicates from common pools, so that many share selections and joins. Expressions
cannot fail and mean the same in Spark and in DuckDB.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import combinations
from math import prod
from random import Random

from hypothesis import strategies as st

from tests.oracle.model import FORMATS, Case, FromItem, QuerySpec, StreamData, TableData
from tests.oracle.twins import (
    COMPARISONS,
    Ref,
    Twin,
    all_of,
    any_of,
    arithmetic,
    between,
    call,
    case,
    coalesce,
    compare,
    concat,
    constant,
    is_in,
    is_null,
    like,
    negate,
)

BASE = datetime(2026, 1, 1)
VALUES = {
    "INT": [0, 1, 2, 3, -2],
    "BIGINT": [0, 1, 2, -5, 2**40],
    "DOUBLE": [0.0, 0.5, 1.0, 2.75, -1.25],
    "STRING": ["a", "b", "ab", "B", "a b", "é"],
    "BOOLEAN": [True, False],
    "DECIMAL(9,2)": [Decimal(text) for text in ("0.10", "1.25", "2.75", "-3.33", "1234567.89")],
}
SMALL = {  # constants in expressions
    "INT": [-1, 0, 1, 2],
    "BIGINT": [-1, 0, 1, 2],
    "DOUBLE": [-0.5, 0.5, 1.25],
    "DECIMAL(9,2)": [Decimal(text) for text in ("-0.50", "0.10", "1.25")],
}
NUMBERS = tuple(SMALL)
PATTERNS = ["a%", "%b", "_", "%a%", "A%"]
OPTIONAL = (("s", "STRING"), ("n", "BIGINT"), ("x", "DOUBLE"), ("f", "BOOLEAN"))
STEPS = (0, 1, 2, 4, 0, 0, 1)
TIME_UNITS_US = (1_000_000, 250_000, 1_500, 1)
COMBINATIONS = 200_000


@dataclass(frozen=True)
class Meaning:
    """A query's WHERE and SELECT list as functions of the rows."""

    where: Callable
    select: Callable


def cases(max_rows: int = 40, combined: int = COMBINATIONS) -> st.SearchStrategy[Case]:
    """Cases of 1 to 3 streams of up to `max_rows` rows; no query has more than `combined` combinations."""
    return twins(max_rows, combined).map(lambda twin: twin[0])


@st.composite
def twins(draw, max_rows: int = 40, combined: int = COMBINATIONS) -> tuple[Case, dict[str, Meaning]]:
    unit = draw(st.sampled_from(TIME_UNITS_US))
    streams = [draw(stream(name, unit, max_rows)) for name in ("red", "green", "blue")[: draw(st.integers(1, 3))]]
    tables = [draw(table())] if draw(st.booleans()) else []
    pool = Pool(draw)
    queries, meanings = [], {}
    for number in range(draw(st.integers(1, 5))):
        query, meaning = draw_query(draw, f"q{number}", streams, tables, pool, unit, combined)
        queries.append(query)
        meanings[query.name] = meaning
    return Case(streams, tables, queries), meanings


# --- data ---


@st.composite
def stream(
    draw, name: str, unit: int, max_rows: int, optional=OPTIONAL, steps=STEPS, counts=None, disordered: int = 4
) -> StreamData:
    """`counts` rows, each of `steps` units apart equally often; one stream in `disordered` is out of order."""
    columns = [("k", "INT"), *draw(subset(optional))]
    columns.insert(draw(st.integers(0, len(columns))), ("ts", "TIMESTAMP"))
    if counts is None:
        counts = st.one_of(st.integers(0, min(4, max_rows)), st.integers(min(4, max_rows), max_rows))
    count = draw(counts)
    out_of_order = draw(rarely(disordered))
    lateness = draw(st.sampled_from([0, unit, 3 * unit])) if out_of_order else 0
    without_time = draw(rarely(8))
    step, back, lost = steps, range(5 if out_of_order else 1), [False] * 6 + [without_time]
    row = one_of_each(step, back, lost, *(options(kind) for _, kind in columns))
    now, rows = draw(st.integers(0, 4)), []
    for _ in range(count):
        step, back, lost, *values = draw(row)
        now += step
        at = None if lost else BASE + timedelta(microseconds=max(0, now - back) * unit)
        rows.append(tuple(at if column == "ts" else v for (column, _), v in zip(columns, values, strict=True)))
    cuts = sorted(draw(st.lists(st.integers(0, count), max_size=4)))
    files = [end - start for start, end in zip([0, *cuts], [*cuts, count], strict=True)]
    return StreamData(name, columns, rows, "ts", files, lateness, draw(st.sampled_from(FORMATS)))


@st.composite
def table(draw) -> TableData:
    columns = [("key", "INT"), ("label", "STRING"), ("weight", "DOUBLE")]
    row = one_of_each(*(options(kind) for _, kind in columns))
    return TableData("stock", columns, draw(st.lists(row, max_size=5)), draw(st.sampled_from(FORMATS)))


def options(kind: str) -> list:
    """Mostly the first few of the type's values, sometimes NULL."""
    values = VALUES.get(kind, [None])
    return [*values, *values[:2], None]


def one_of_each(*choices: Sequence) -> st.SearchStrategy[tuple]:
    """A tuple with one of each of the choices, from as few numbers as can be: drawing one per value is slow.

    Hypothesis prefers small numbers in ranges of more than 24 bits: then the last choices would hardly vary.
    """
    for end in range(2, len(choices) + 1):
        if prod(map(len, choices[:end])) > 2**24:
            parts = one_of_each(*choices[: end - 1]), one_of_each(*choices[end - 1 :])
            return st.tuples(*parts).map(lambda parts: parts[0] + parts[1])

    def pick(number: int) -> tuple:
        found = []
        for choice in choices:
            number, index = divmod(number, len(choice))
            found.append(choice[index])
        return tuple(found)

    return st.integers(0, prod(map(len, choices)) - 1).map(pick)


def rarely(one_in: int):
    return st.integers(1, one_in).map(lambda n: n == one_in)


def subset(items):
    flags = st.lists(st.booleans(), min_size=len(items), max_size=len(items))
    return flags.map(lambda kept: [item for item, keep in zip(items, kept, strict=True) if keep])


# --- conditions ---


class Pool:
    """A few predicates for each source and each pair of sources, as functions of how a query names them."""

    def __init__(self, draw):
        self.draw = draw
        self.made = {}

    def some(self, count: int, strategy: Callable, *sources) -> list[Callable]:
        """`count` different ones, of three for each source, fewer for more; drawn when first asked for."""
        key = tuple(source.name for source in sources)
        if key not in self.made:
            self.made[key] = [self.draw(strategy(*sources)) for _ in range(4 - len(sources))]
        start = self.draw(st.integers(0, len(self.made[key]) - 1))
        return (self.made[key][start:] + self.made[key][:start])[:count]


def columns_of(source, *kinds: str) -> list[str]:
    return [name for name, kind in source.columns if kind in kinds]


@st.composite
def predicate(draw, source) -> Callable[[Ref], Twin]:
    name, kind = draw(st.sampled_from([c for c in source.columns if c[1] in VALUES]))
    made = draw({"STRING": text_test, "BOOLEAN": flag_test}.get(kind, number_test)(name, kind))
    wrap = draw(st.integers(0, 7))
    if wrap == 0:
        return lambda ref: negate(made(ref))
    if wrap == 1:
        absent = draw(st.booleans())
        return lambda ref: any_of(made(ref), is_null(ref[name], absent))
    return made


@st.composite
def number_test(draw, name, kind):
    op, small = draw(st.sampled_from(sorted(COMPARISONS))), draw(st.sampled_from(SMALL[kind]))
    values = draw(st.lists(st.sampled_from(VALUES[kind]), min_size=1, max_size=3, unique=True))
    shape = draw(st.integers(0, 5))
    if shape == 0:
        return lambda ref: between(ref[name], constant(small), constant(2))
    if shape == 1 and kind != "DOUBLE":
        return lambda ref: is_in(ref[name], values)
    if shape == 2:
        return lambda ref: compare(op, call("ABS", arithmetic("-", ref[name], constant(1))), constant(2))
    if shape == 3:
        return lambda ref: compare(op, coalesce(ref[name], constant(small)), constant(1))
    return lambda ref: compare(op, ref[name], constant(small))


@st.composite
def text_test(draw, name, kind):
    op, text = draw(st.sampled_from(sorted(COMPARISONS))), draw(st.sampled_from(VALUES[kind]))
    pattern, shape = draw(st.sampled_from(PATTERNS)), draw(st.integers(0, 4))
    if shape == 0:
        return lambda ref: like(ref[name], pattern)
    if shape == 1:
        return lambda ref: is_in(ref[name], [text, "a"])
    if shape == 2:
        return lambda ref: compare(op, call("LENGTH", ref[name]), constant(1))
    if shape == 3:
        return lambda ref: compare("=", call("LOWER", ref[name]), constant("b"))
    return lambda ref: compare(op, ref[name], constant(text))


@st.composite
def flag_test(draw, name, kind):
    if draw(st.booleans()):
        return lambda ref: ref[name]
    return lambda ref: compare("=", ref[name], constant(False))


@st.composite
def link(draw, a, b) -> Callable[[Ref, Ref], Twin]:
    """A condition over two sources: mostly an equality of keys."""
    shape = draw(st.integers(0, 7))
    texts = columns_of(a, "STRING"), columns_of(b, "STRING")
    key_a, key_b = (columns_of(source, "INT")[0] for source in (a, b))
    if shape <= 2:
        return lambda p, q: compare("=", p[key_a], q[key_b])
    op, shift = draw(st.sampled_from(sorted(COMPARISONS))), draw(st.integers(0, 2))
    left, right = (draw(st.sampled_from(columns_of(source, *NUMBERS))) for source in (a, b))
    if shape == 3 and all(texts):
        return lambda p, q: compare("=", p[texts[0][0]], q[texts[1][0]])
    if shape == 4:
        return lambda p, q: compare("=", p[key_a], arithmetic("+", q[key_b], constant(shift)))
    if shape == 5:
        return lambda p, q: any_of(compare("=", p[key_a], q[key_b]), compare(op, p[left], constant(1)))
    return lambda p, q: compare(op, p[left], q[right])


@st.composite
def three(draw, a, b, c) -> Callable[[Ref, Ref, Ref], Twin]:
    """A condition that can only be asked of three rows at once; sometimes of one with itself."""
    keys = [columns_of(source, "INT")[0] for source in (a, b, c)]
    op, small = draw(st.sampled_from(sorted(COMPARISONS))), draw(st.sampled_from(SMALL["INT"]))
    shape = draw(st.integers(0, 2))
    if shape == 0:
        return lambda p, q, r: case(
            compare("=", p[keys[0]], constant(1)),
            compare("=", r[keys[2]], constant(small)),
            compare(op, q[keys[1]], constant(small)),
        )
    if shape == 1:
        return lambda p, q, r: case(
            compare("=", p[keys[0]], p[keys[0]]),
            compare("<>", r[keys[2]], constant(small)),
            compare(op, q[keys[1]], r[keys[2]]),
        )
    return lambda p, q, r: any_of(
        compare("=", q[keys[1]], q[keys[1]]), compare(op, p[keys[0]], arithmetic("+", q[keys[1]], r[keys[2]]))
    )


# --- queries ---


def draw_query(draw, name, streams, tables, pool, unit, combined) -> tuple[QuerySpec, Meaning]:
    sources = [draw(st.sampled_from(streams)) for _ in range(draw(st.sampled_from([1, 1, 2, 2, 2, 3])))]
    if tables and draw(st.booleans()):
        sources.insert(draw(st.integers(0, len(sources))), tables[0])
    while prod(max(1, len(source.rows)) for source in sources) > combined:
        longest = max(sources, key=lambda source: len(source.rows))
        sources.remove(longest)  # never the last one: a source alone has at most max_rows rows
    streams_in = sum(source in streams for source in sources)
    if not streams_in:
        sources.append(streams[0])
        streams_in = 1

    bare = len(sources) == 1 and draw(st.booleans())
    items = []
    for place, source in enumerate(sources):
        windowed = source in streams and (streams_in > 1 or draw(rarely(8)))
        alias = None if bare else f"{source.name[0]}{place}"
        items.append(FromItem(source.name, alias, draw(window(unit)) if windowed else None))
    refs = [Ref(item.name, bare) for item in items]

    conditions = []
    for (a, p), (b, q) in combinations(list(zip(sources, refs, strict=True)), 2):
        linked = draw(st.booleans()) if len(sources) > 2 else not draw(rarely(8))
        conditions += [made(p, q) for made in pool.some(1, link, a, b)] if linked else []
    for source, ref in zip(sources, refs, strict=True):
        chosen = draw(st.sampled_from([0, 0, 1, 1, 2]))
        conditions += [made(ref) for made in pool.some(chosen, predicate, source)] if chosen else []
    if len(sources) == 3 and draw(st.booleans()):
        conditions += [made(*refs) for made in pool.some(1, three, *sources)]
    if draw(rarely(12)):
        conditions.append(compare("<", constant(1), constant(2)))
    where = all_of(*draw(st.permutations(conditions)))

    select = draw_select(draw, sources, refs)
    outputs = [output for output, _ in select]
    shown = [(output.sql, name) for output, name in select]
    query = QuerySpec(name, shown, items, where.sql, comma_style=draw(st.booleans()))
    return query, Meaning(where.value, lambda env: tuple(output.value(env) for output in outputs))


def window(unit: int):
    rows = st.sampled_from([1, 1, 2, 3, 5, 20]).map(lambda n: ("rows", n))
    spans = st.sampled_from([1, 1, 2, 3, 8, 50]).map(lambda n: ("range", n * unit))
    return st.one_of(rows, spans)


def draw_select(draw, sources, refs) -> list[tuple[Twin, str | None]]:
    select, taken = [], set()
    for number in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(sources) - 1))
        source, ref = sources[at], refs[at]
        column, kind = draw(st.sampled_from(list(source.columns)))
        if draw(rarely(6)):  # never NULL, whatever the row
            output, name = draw(st.sampled_from([constant(3), constant("x"), is_null(ref[column])])), f"c{number}"
        elif draw(st.booleans()):
            output, name = draw(expression(source, column, kind))(ref), f"c{number}"
        else:
            output, name = ref[column], None if column not in taken else f"c{number}"
            taken.add(column)
        select.append((output, name))
    return select


@st.composite
def expression(draw, source, column, kind) -> Callable[[Ref], Twin]:
    first = draw(st.booleans())
    if kind in NUMBERS:
        op, small = draw(st.sampled_from("+-*")), draw(st.sampled_from(SMALL[kind]))
        if first:
            return lambda ref: arithmetic(op, ref[column], constant(small))
        return lambda ref: case(
            compare(">", ref[column], constant(small)), call("ABS", ref[column]), constant(SMALL[kind][0])
        )
    if kind == "STRING":
        if first:
            return lambda ref: concat(call("UPPER", ref[column]), constant("-x"))
        return lambda ref: coalesce(ref[column], constant("none"))
    keys = columns_of(source, "INT")  # every source has one
    return lambda ref: case(is_null(ref[keys[0]]), constant("no"), constant("yes"))


# --- families ---

NUMBER = re.compile(r"(?<![\w.])(?<![/%] )[0-9]{1,4}(?![\w.])")
TEXTS = ["'a'", "'b'", "'ab'", "'B'"]


def with_variants(case: Case, random: Random, most: int = 3) -> Case:
    """The case with up to `most` copies of each query that differ from it only in constants."""
    queries = []
    for query in case.queries:
        queries.append(query)
        for number in range(random.randrange(most + 1)):
            variant = query.varied(lambda sql: varied(sql, random), random)
            queries.append(replace(variant, name=f"{query.name}_{number}"))
    random.shuffle(queries)
    return replace(case, queries=queries)


def varied(sql: str, random: Random) -> str:
    """The expression with other whole numbers and other strings, but for divisors and patterns."""
    parts = re.split(r"('(?:[^']|'')*')", sql)
    for place in range(0, len(parts), 2):
        parts[place] = NUMBER.sub(lambda found: other(int(found[0]), random), parts[place])
    for place in range(1, len(parts), 2):
        if parts[place] in TEXTS and not parts[place - 1].endswith("LIKE "):
            parts[place] = random.choice(TEXTS)
    return "".join(parts)


def other(number: int, random: Random) -> str:
    return str(random.randrange(4) if number < 10 else random.randint(number // 2, 2 * number))
