"""Random cases with derived streams, up to two deep, and LEFT JOIN of the stored table, for hypothesis.

The columns of a derived stream are drawn first, then for each of its queries expressions of just these types: the
language must know them without asking Spark.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from tests.oracle import generator
from tests.oracle.aggregate_generator import OPTIONAL, Pools, draw_aggregate_query
from tests.oracle.aggregate_model import AggregateSpec
from tests.oracle.derived import derived_data, seen
from tests.oracle.generator import (
    SMALL,
    STEPS,
    TIME_UNITS_US,
    Pool,
    columns_of,
    draw_query,
    link,
    predicate,
    rarely,
    with_variants,
)
from tests.oracle.model import Case, DerivedSpec, FromItem, QuerySpec, StreamData
from tests.oracle.sqltext import conjuncts, literal, mentioned
from tests.oracle.twins import Ref

COMBINATIONS = 8_000
MOST_ROWS = 120  # of a derived stream
NAMES = ("alpha", "beta", "gamma")
ALSO = (
    ("n", "BIGINT"),
    ("s", "STRING"),
    ("x", "DOUBLE"),
    ("d", "DECIMAL(19,2)"),
    ("f", "BOOLEAN"),
    ("moment", "TIMESTAMP"),
)
CONSTANTS = {"INT": 1, "BIGINT": 2, "STRING": "a", "DOUBLE": 0.5, "BOOLEAN": True}
SUMS = {"BIGINT": ("INT", "BIGINT"), "DOUBLE": ("DOUBLE",), "DECIMAL(19,2)": ("DECIMAL(9,2)",)}
SILENCE = (60,)

Known = list[tuple[StreamData, Ref]]


def derived_cases(max_rows: int = 25, variants: int = 1) -> st.SearchStrategy[Case]:
    """Cases of 1 or 2 streams, 1 to 3 derived streams and 1 to 4 queries, and up to `variants` copies of each."""
    seeds = st.integers(0, 2**32)
    return st.tuples(drawn_cases(max_rows), seeds).map(
        lambda drawn: with_variants(drawn[0], Random(drawn[1]), variants)
    )


@st.composite
def drawn_cases(draw, max_rows: int) -> Case:
    unit = draw(st.sampled_from(TIME_UNITS_US))
    steps = STEPS + SILENCE * draw(rarely(4))
    names = ("red", "green")[: draw(st.integers(1, 2))]
    counts = st.sampled_from([0, 1, *(max_rows * part // 8 for part in range(2, 9))])
    streams = [draw(generator.stream(name, unit, max_rows, OPTIONAL, steps, counts)) for name in names]
    tables = [draw(generator.table())] if draw(st.booleans()) else []
    pools = Pools(Pool(draw), Pool(draw), Pool(draw))
    case, depths = Case(streams, tables, []), dict.fromkeys(names, 0)
    made: list[DerivedSpec] = []
    for name in NAMES[: draw(st.sampled_from([2, 1, 3, 2]))]:
        below = [seen(stream) for stream in case.streams for _ in range(1 + depths[stream.name])]
        below = [stream for stream in below if depths[stream.name] < 2]
        spec, found = draw_derived(draw, name, case, below, pools, unit)
        depths[name] = 1 + max(depths.get(item.source_name, 0) for each in spec.branches for item in each.sources)
        case = replace(case, streams=[*case.streams, found])
        made.append(spec)
    everything = [seen(stream) for stream in case.streams]
    likely = everything + everything[len(names) :] * 2
    queries = [
        draw_reader(draw, f"q{number}", draw_some(draw, likely), tables, pools, unit, case)
        for number in range(draw(st.integers(1, 4)))
    ]
    return Case(streams, tables, queries, derived=made)


def draw_some(draw, streams: list[StreamData]) -> list[StreamData]:
    """One or two of them, so that joins with itself are not rare."""
    return [draw(st.sampled_from(streams)) for _ in range(draw(st.integers(1, 2)))]


def draw_reader(draw, name, streams, tables, pools, unit, case: Case) -> QuerySpec:
    if streams[0].timestamp is None and draw(st.booleans()):
        return order_query(name, streams[0])
    if draw(st.booleans()):
        query, _ = draw_query(draw, name, streams, tables, pools.conditions, unit, COMBINATIONS)
    else:
        query, _ = draw_aggregate_query(draw, name, streams, tables, pools, unit)
        query = with_exact_windows(draw, query, case, unit)
    return with_left_join(draw, query, [*streams, *tables], pools)


def order_query(name: str, stream: StreamData) -> QuerySpec:
    """A query that shows the order of a derived stream: each row beside the one before it."""
    select = [
        (f"{function}({column})", f"{function}_{column}")
        for column, _ in stream.columns
        for function in ("first", "last")
    ]
    return AggregateSpec(name, select, [FromItem(stream.name, None, ("rows", 2, 1))])


def with_exact_windows(draw, query: AggregateSpec, case: Case, unit: int) -> AggregateSpec:
    """No windows of rows over a stream with lateness: what a query sees that begins late depends on the engine."""
    late = {stream.name for stream in case.streams if stream.lateness_us}
    size = draw(st.sampled_from([1, 3, 8])) * unit
    sources = [
        replace(item, window=("range", size, size))
        if item.source_name in late and item.window and item.window[0] == "rows"
        else item
        for item in query.sources
    ]
    return replace(query, sources=sources)


# --- LEFT JOIN ---


def with_left_join(draw, query: QuerySpec, sources: list[StreamData], pools: Pools) -> QuerySpec:
    """The query; every other time, one that reads the stored table reads it by LEFT JOIN.

    Conditions over the table and others move to its ON, those over the table alone stay, move, or ask for NULL.
    """
    table = next((item for item in query.sources if item.source_name == "stock"), None)
    if table is None or draw(st.booleans()):
        return query
    others = [item for item in query.sources if item is not table]
    names = [item.name for item in query.sources]
    on, where = [], []
    for condition in conjuncts(query.where):
        used = mentioned(condition, names)
        alone = used == {table.name}
        moved = table.name in used and (not alone or draw(st.booleans()))
        (on if moved else where).append(condition)
    partner = draw(st.sampled_from(others))
    of_table, of_partner = (
        next(each for each in sources if each.name == item.source_name) for item in (table, partner)
    )
    if not on:
        made = pools.conditions.some(1, link, of_partner, of_table)[0]
        on.append(made(Ref(partner.name), Ref(table.name)).sql)
    if draw(rarely(3)):
        where.append(f"{table.name}.{draw(st.sampled_from(['key', 'label']))} IS {'NOT ' * draw(rarely(3))}NULL")
    place = draw(st.integers(others.index(partner) + 1, len(others)))
    used = mentioned(" AND ".join(on), names)
    place = max([place, *(place + 1 for place, item in enumerate(others) if item.name in used)])
    joined = replace(table, outer=" AND ".join(on))
    ordered = [*others[:place], joined, *others[place:]]
    reads_last = mentioned(joined.outer, names) <= {table.name, ordered[place - 1].name}
    where_text = " AND ".join(f"({each})" if len(where) > 1 and " OR " in each else each for each in where)
    return replace(query, sources=ordered, where=where_text, comma_style=query.comma_style and reads_last)


# --- derived streams ---


def draw_derived(draw, name, case, below, pools, unit) -> tuple[DerivedSpec, StreamData]:
    """A derived stream and its rows; a simple one where a drawn one has too many."""
    columns = [("k", "INT"), *draw(generator.subset(ALSO))]
    if all(kind == "DECIMAL(19,2)" for _, kind in columns[1:]):
        columns.append(ALSO[0])
    columns.insert(draw(st.integers(0, len(columns) - 1)), columns.pop(0))
    count = draw(st.sampled_from([1, 1, 2, 3]))
    branches = [
        draw_branch(draw, f"{name}#{place}", columns, draw_some(draw, below), case, pools, unit)
        for place in range(count)
    ]
    spec = DerivedSpec(name, columns, branches)
    found = derived_data(case, spec)
    if len(found.rows) > MOST_ROWS:
        shortest = min(below, key=lambda stream: len(stream.rows))
        known = [(shortest, Ref(shortest.name, True))]
        select = [(draw_value(draw, kind, known), named) for named, kind in columns]
        spec = replace(spec, branches=[QuerySpec(f"{name}#0", select, [FromItem(shortest.name)])])
        found = derived_data(case, spec)
    return spec, found


def draw_branch(draw, name, columns, streams, case, pools, unit) -> QuerySpec:
    """One SELECT with these columns: a selection, a window join, an aggregate, or DISTINCT."""
    tables = case.tables
    if draw(st.booleans()):
        query, _ = draw_query(draw, name, streams, tables, pools.conditions, unit, COMBINATIONS)
        query = with_left_join(draw, query, [*streams, *tables], pools)
        return replace(
            query,
            select=[(draw_value(draw, kind, known_in(query, streams, tables)), named) for named, kind in columns],
        )
    query, _ = draw_aggregate_query(draw, name, streams, tables, pools, unit)
    query = with_exact_windows(draw, with_left_join(draw, query, [*streams, *tables], pools), case, unit)
    known = known_in(query, streams, tables)
    if draw(rarely(3)):
        select = [(draw_value(draw, kind, known, bounds=True), named) for named, kind in columns]
        return replace(query, select=select, group=(), having="", distinct=True)
    keys = draw_keys(draw, known)
    select = [(draw_of_group(draw, kind, known, keys, pools), named) for named, kind in columns]
    having = f"count(*) > {draw(st.integers(0, 2))}" if draw(rarely(4)) else ""
    query = replace(query, select=select, group=[sql for sql, _ in keys], having=having, distinct=False)
    if not keys and not query.calls():
        query = replace(query, having="count(*) > 0")
    return query


def known_in(query: QuerySpec, streams, tables) -> Known:
    """The sources of a query, as it refers to them."""
    by_name = {source.name: source for source in (*streams, *tables)}
    return [(by_name[item.source_name], Ref(item.name, item.alias is None)) for item in query.sources]


def draw_value(draw, kind: str, known: Known, bounds: bool = False) -> str:
    """An expression over one row of each source whose type the language knows."""
    found = [(source, ref[column].sql) for source, ref in known for column in columns_of(source, kind)]
    if kind == "TIMESTAMP" and bounds:
        found += [(None, "window_start"), (None, "window_end")]
    if kind == "DECIMAL(19,2)":
        narrow = [ref[column].sql for source, ref in known for column in columns_of(source, "DECIMAL(9,2)")]
        found += [(None, f"CAST({sql} AS {kind})") for sql in narrow]
    shape = draw(st.integers(0, 5))
    if not found or shape == 0:
        value = literal(CONSTANTS.get(kind)) if draw(st.booleans()) else "NULL"
        return f"CAST({value} AS {kind})"
    _, sql = draw(st.sampled_from(found))
    return changed(draw, sql, kind) if shape == 1 else sql


def changed(draw, sql: str, kind: str) -> str:
    """Something computed from a column, cast to the type of the column."""
    if kind in SMALL:
        return (
            f"CAST(({sql} {draw(st.sampled_from('+-*'))} {literal(draw(st.sampled_from(SMALL[kind])))}) AS {kind})"
        )
    if kind == "STRING":
        return f"CAST(({sql} || '-x') AS STRING)"
    if kind == "BOOLEAN":
        return f"CAST(({sql} IS NULL) AS BOOLEAN)"
    return sql


def draw_keys(draw, known: Known) -> list[tuple[str, str]]:
    """Expressions of GROUP BY with their types."""
    columns = [
        (ref[name].sql, kind) for source, ref in known for name, kind in source.columns if kind != "TIMESTAMP"
    ]
    keys = {}
    for _ in range(draw(st.sampled_from([1, 1, 2, 0]))):
        sql, kind = draw(st.sampled_from(columns))
        keys[changed(draw, sql, kind) if draw(rarely(4)) else sql] = kind
    return list(keys.items())


def draw_of_group(draw, kind: str, known: Known, keys: list[tuple[str, str]], pools: Pools) -> str:
    """An expression over a group whose type the language knows: a key, a bound of the window, an aggregate."""
    ours = [sql for sql, of in keys if of == kind]
    if ours and draw(st.sampled_from([True, True, False])):
        return draw(st.sampled_from(ours))
    if kind == "TIMESTAMP" and draw(st.booleans()):
        return draw(st.sampled_from(["window_start", "window_end"]))
    where = ""
    if draw(rarely(4)):
        source, ref = draw(st.sampled_from(known))
        where = f" FILTER (WHERE {pools.filters.some(1, predicate, source)[0](ref).sql})"
    choices: list[Callable[[], str]] = []

    def over(kinds: tuple[str, ...], functions: tuple[str, ...], streams_alone: bool = False) -> None:
        found = [
            ref[name].sql
            for source, ref in known
            for name in columns_of(source, *kinds)
            if not (streams_alone and source.name == "stock")
        ]
        if found:
            choices.append(lambda: f"{draw(st.sampled_from(functions))}({draw(st.sampled_from(found))}){where}")

    over((kind,), ("bool_and", "bool_or") if kind == "BOOLEAN" else ("min", "max"))
    over((kind,), ("first", "last"), streams_alone=True)
    if kind in SUMS:
        over(SUMS[kind], ("sum",))
    if kind == "BIGINT":
        over(("INT", "BIGINT", "STRING"), ("count",))
        choices.append(lambda: f"count(*){where}")
    if kind == "INT":
        choices.append(lambda: f"CAST(count(*){where} AS INT)")
    if not choices:
        return f"CAST(NULL AS {kind})"
    return draw(st.sampled_from(choices))()
