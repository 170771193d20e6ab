"""Named shapes of cases, each a function of a seed. Every query has results, but for the shapes in `EMPTY`."""

from collections.abc import Callable
from datetime import timedelta
from random import Random

from tests.oracle.model import Case, StreamData, TableData
from tests.oracle.shape_parts import (
    BASE,
    HOSTS,
    MILLISECOND,
    SECOND,
    host_table,
    keyed_stream,
    maybe,
    packet_stream,
    query,
    reply_stream,
    stream,
    times,
)


def filter_(seed: int) -> Case:
    """Selections on one stream, one with a window that cannot matter."""
    rng = Random(seed)
    packets = packet_stream(rng, 300, files=7, file_format="csv")
    queries = [
        query("big", "src, bytes", "packets", "bytes > 1200"),
        query(
            "named", "p.dst, p.src, p.at", "packets AS p", "p.src IN ('h1', 'h2') AND p.bytes BETWEEN 100 AND 900"
        ),
        query("windowed", "bytes", "packets [ROWS 3]", "NOT (bytes <= 700) AND src LIKE 'h%'"),
        query("everything", "src, dst", "packets"),
    ]
    return Case([packets], [], queries)


def expression(seed: int) -> Case:
    """Computed columns and conditions over all types."""
    rng = Random(seed)
    columns = [
        ("at", "TIMESTAMP"),
        ("k", "INT"),
        ("n", "BIGINT"),
        ("x", "DOUBLE"),
        ("f", "BOOLEAN"),
        ("s", "STRING"),
    ]
    rows = [
        (
            at,
            maybe(rng, rng.randint(-5, 5)),
            maybe(rng, rng.choice([-(2**40), -7, 0, 3, 2**53 + 1])),
            maybe(rng, rng.randint(-8, 8) / 4),
            maybe(rng, rng.random() < 0.5),
            maybe(rng, rng.choice(["", "Ab", "b", "a,b", "tab\tbed", 'say "é"'])),
        )
        for at in times(rng, 200)
    ]
    middle = f"TIMESTAMP '{rows[100][0].isoformat(sep=' ', timespec='microseconds')}'"
    queries = [
        query(
            "numbers",
            "k + 1 AS up, 2 * k - 3 AS line, n - k AS apart, x * 0.5 AS half, ABS(k) AS size, x + k AS both_ways",
            "things",
            "ABS(k - 1) < 4 AND x * 2 >= k",
        ),
        query(
            "words",
            "UPPER(s) AS loud, LOWER(s) || '-' || s AS twice, LENGTH(s) AS letters, COALESCE(s, 'none') AS shown",
            "things",
            "s IS NULL OR s NOT LIKE '%b'",
        ),
        query(
            "chosen",
            "CASE WHEN k > 2 THEN 'high' WHEN k < -2 THEN 'low' ELSE '' END AS level, COALESCE(n, 0) AS m, t.at",
            "things AS t",
            f"t.at >= {middle} AND (f OR n IS NULL)",
        ),
        query("flags", "f, k, n", "things", "NOT f AND k IS NOT NULL"),
    ]
    return Case([stream("things", columns, rows, rng, files=4)], [], queries)


def star(seed: int) -> Case:
    """Stars: all columns of a stream, and of one of two sources."""
    rng = Random(seed)
    packets = packet_stream(rng, 120, file_format="parquet")
    queries = [
        query("all_of_one", "*", "packets", "bytes > 700"),
        query("one_of_two", "p.*, h.owner", "packets AS p, hosts AS h", "p.src = h.ip"),
    ]
    return Case([packets], [host_table()], queries)


def stored_table_join(seed: int) -> Case:
    """A stream and a stored table, in both orders and styles; keys that are double, missing and NULL."""
    rng = Random(seed)
    packets = packet_stream(rng, 250, files=5, file_format="json")
    queries = [
        query("owned", "h.owner, p.bytes", "packets AS p, hosts AS h", "p.src = h.ip AND p.bytes > 64", False),
        query("flipped", "p.bytes, owner", "hosts AS h, packets AS p", "h.ip = p.src AND h.owner LIKE 'o%'"),
        query("twice", "a.owner AS from_owner, b.owner AS to_owner", "packets AS p, hosts AS a, hosts AS b",
              "p.src = a.ip AND p.dst = b.ip AND a.owner <> b.owner", False),
    ]  # fmt: skip
    return Case([packets], [host_table()], queries)


def range_join(seed: int) -> Case:
    """Two streams, RANGE windows of different lengths."""
    rng = Random(seed)
    queries = [
        query("echo", "p.src, p.bytes, r.code", "packets [RANGE 3000000] AS p, replies [RANGE 1500000] AS r",
              "p.src = r.host AND r.code >= 400"),
        query("brief", "r.code, p.at", "replies [RANGE 250000] AS r, packets [RANGE 1500] AS p",
              "r.host = p.src", False),
    ]  # fmt: skip
    return Case([packet_stream(rng, 300, files=6), reply_stream(rng, 250, files=3)], [], queries)


def rows_join(seed: int) -> Case:
    """Two streams, ROWS windows; they count before the filters on both sides."""
    rng = Random(seed)
    queries = [
        query("recent", "p.src, p.bytes, r.code", "packets [ROWS 20] AS p, replies [ROWS 7] AS r",
              "p.src = r.host AND p.bytes > 300 AND r.code <> 200"),
        query("newest", "p.bytes, r.code", "packets [ROWS 1] AS p, replies [ROWS 1] AS r",
              "p.src <> r.host", False),
    ]  # fmt: skip
    packets = packet_stream(rng, 200, files=4, file_format="parquet")
    return Case([packets, reply_stream(rng, 200, files=9, file_format="csv")], [], queries)


def mixed_windows(seed: int) -> Case:
    """RANGE on one side and ROWS on the other, both ways round."""
    rng = Random(seed)
    condition = "p.src = r.host AND r.code >= 300"
    queries = [
        query("echo", "p.src, r.code", "packets [RANGE 2000000] AS p, replies [ROWS 15] AS r", condition),
        query("other", "p.src, r.code", "packets [ROWS 15] AS p, replies [RANGE 2000000] AS r", condition, False),
        query("turned", "p.src, r.code", "replies [ROWS 15] AS r, packets [RANGE 2000000] AS p", condition),
    ]
    return Case([packet_stream(rng, 250, files=5), reply_stream(rng, 180, file_format="parquet")], [], queries)


def three_way(seed: int) -> Case:
    """Three streams: a chain of keys, and one key for all."""
    rng = Random(seed)
    streams = [keyed_stream(rng, name, 90, keys=8, files=f) for name, f in (("a", 1), ("b", 4), ("c", 3))]
    queries = [
        query("chain", "a.v AS av, b.v AS bv, c.v AS cv",
              "a [RANGE 4000000] AS a, b [RANGE 2500000] AS b, c [ROWS 12] AS c", "a.k = b.k AND b.j = c.k"),
        query("one_key", "c.v, a.v AS av", "c [ROWS 9] AS c, a [RANGE 3000000] AS a, b [ROWS 9] AS b",
              "a.k = b.k AND b.k = c.k AND a.v > 20", False),
    ]  # fmt: skip
    return Case(streams, [], queries)


def four_way(seed: int) -> Case:
    """Four streams, all windows kinds."""
    rng = Random(seed)
    formats = {"a": "json", "b": "csv", "c": "parquet", "d": "json"}
    streams = [keyed_stream(rng, name, 70, keys=12, files=2, file_format=f) for name, f in formats.items()]
    return Case(streams, [], [
        query("q", "a.v AS av, b.v AS bv, c.v AS cv, d.v AS dv",
              "a [RANGE 3000000], b [ROWS 10], c [RANGE 5000000], d [ROWS 15]",
              "a.k = b.k AND b.k = c.k AND c.j = d.j", False),
    ])  # fmt: skip


def five_way(seed: int) -> Case:
    """Five streams around one key."""
    rng = Random(seed)
    streams = [keyed_stream(rng, name, 60, keys=15, files=1 + i) for i, name in enumerate("abcde")]
    return Case(streams, [], [
        query("q", "a.v AS av, b.v AS bv, c.v AS cv, d.v AS dv, e.v AS ev",
              "a [RANGE 5000000], b [ROWS 25], c [RANGE 8000000], d [ROWS 25], e [RANGE 8000000]",
              "a.k = b.k AND a.k = c.k AND a.k = d.k AND a.k = e.k AND e.v >= 10"),
    ])  # fmt: skip


def self_join(seed: int) -> Case:
    """A stream with itself, RANGE: a row meets itself, at either place, and once each."""
    rng = Random(seed)
    packets = packet_stream(rng, 160, files=5)
    queries = [
        query("pairs", "p.bytes AS one, q.bytes AS other",
              "packets [RANGE 1000000] AS p, packets [RANGE 2000000] AS q", "p.src = q.dst"),
        query("same", "p.bytes AS one, q.bytes AS other",
              "packets [RANGE 500000] AS p, packets [RANGE 500000] AS q", "p.src = q.src", False),
    ]  # fmt: skip
    return Case([packets], [], queries)


def self_join_rows(seed: int) -> Case:
    """A stream with itself, ROWS, with many equal times; and with another stream between."""
    rng = Random(seed)
    packets = packet_stream(rng, 150, files=3, ties=0.6, file_format="parquet")
    queries = [
        query("pairs", "p.bytes AS one, q.bytes AS other",
              "packets [ROWS 6] AS p, packets [ROWS 2] AS q", "p.src = q.src AND q.bytes > 200"),
        query("around", "p.bytes AS one, r.code, q.bytes AS other",
              "packets [ROWS 8] AS p, replies [ROWS 4] AS r, packets [RANGE 700000] AS q",
              "p.src = r.host AND r.host = q.src", False),
    ]  # fmt: skip
    return Case([packets, reply_stream(rng, 100, ties=0.6)], [], queries)


def self_join_of_three(seed: int) -> Case:
    """A stream three times: conditions that need all three rows, some that name a column twice."""
    rng = Random(seed)
    rows = "s [ROWS 3] AS a, s [ROWS 3] AS b, s [ROWS 3] AS c"
    mixed = "s [RANGE 200000] AS a, s [ROWS 2] AS b, s [RANGE 100000] AS c"
    queries = [
        query("by_case", "a.v AS av, b.v AS bv, c.k", rows, "CASE WHEN a.k = 1 THEN c.k = 2 ELSE b.v >= 18 END"),
        query("itself", "a.v AS av, b.k, c.v AS cv", mixed, "CASE WHEN a.k = a.k THEN c.j = 1 ELSE b.v >= 18 END"),
        query("either", "a.v AS av, b.v AS bv, c.v AS cv", mixed, "(b.j = b.j AND a.k > 1) OR a.v + b.v < c.v"),
        query("pair", "a.v AS av, b.v AS bv", "s [ROWS 4] AS a, s [ROWS 4] AS b", "a.k = a.k OR a.v > b.v"),
    ]
    return Case([keyed_stream(rng, "s", 60, keys=4, files=6)], [], queries)


def never_null(seed: int) -> Case:
    """Columns that are never NULL in some jobs and may be in others: constants, CASE, COALESCE."""
    rng = Random(seed)
    rows = [(maybe(rng, rng.randint(0, 9)), maybe(rng, rng.choice(HOSTS)), at) for at in times(rng, 120, ties=0.1)]
    events = stream("events", [("n", "INT"), ("host", "STRING"), ("at", "TIMESTAMP")], rows, rng, files=9)
    pair = "events [ROWS 3] AS e, events [ROWS 3] AS f"
    queries = [
        query("constant", "1 AS one, 'x' AS x, e.n", "events AS e", "e.n > 2"),
        query(
            "known",
            "coalesce(e.n, 0) AS n, CASE WHEN e.n IS NULL THEN 'no' ELSE 'yes' END AS known",
            "events AS e",
        ),
        query("joined", "coalesce(e.n, f.n, 0) AS n, 'x' AS x, f.host", pair, "e.host = f.host"),
        query("marked", "CASE WHEN e.n = f.n THEN 1 ELSE 0 END AS same, e.n IS NULL AS none", pair, "e.n >= f.n"),
    ]
    return Case([events], [], queries)


def shared_prefix(seed: int) -> Case:
    """Several queries with common selections, a common join, and constants that differ."""
    rng = Random(seed)
    common = "packets [RANGE 2000000] AS p, replies [ROWS 30] AS r"
    joined = "p.src = r.host AND p.bytes > 400"
    queries = [
        query("plain", "p.src, p.bytes", "packets AS p", "p.bytes > 400"),
        query("narrow", "p.src", "packets AS p", "p.bytes > 400 AND p.dst = 'h3'"),
        *(query(f"over_{n}", "p.dst, p.bytes", "packets AS p", f"p.bytes > {n}") for n in (300, 600, 1300)),
        query("join_all", "p.src, r.code", common, joined),
        query("join_bad", "p.bytes, r.code, r.at", common, f"{joined} AND r.code >= 500"),
        query("join_turned", "p.src, r.code", common, "p.bytes > 400 AND r.host = p.src", False),
        query("join_longer", "p.src, r.code", common.replace("30", "40"), joined),
        query("join_owner", "h.owner, r.code", f"{common}, hosts AS h", f"{joined} AND p.dst = h.ip"),
    ]
    return Case([packet_stream(rng, 220, files=4), reply_stream(rng, 150, files=2)], [host_table()], queries)


def null_keys(seed: int) -> Case:
    """NULLs in keys, on both sides and in the table: they meet nothing; empty strings meet each other."""
    rng = Random(seed)
    columns = [("k", "STRING"), ("v", "INT"), ("at", "TIMESTAMP")]
    made = [
        stream(name, columns, [(maybe(rng, rng.choice(["", "x", "y"]), 0.4), maybe(rng, i), at) for i, at in
               enumerate(times(rng, 80))], rng, files=3)
        for name in ("a", "b")
    ]  # fmt: skip
    names = TableData("names", [("k", "STRING"), ("name", "STRING")],
                      [("", "empty"), (None, "null"), ("x", None), ("x", "ex")], "json")  # fmt: skip
    queries = [
        query("joined", "a.k, a.v AS av, b.v AS bv", "a [ROWS 6] AS a, b [RANGE 800000] AS b", "a.k = b.k"),
        query("looked_up", "a.v, n.name", "a AS a, names AS n", "a.k = n.k", False),
        query(
            "unknown", "a.v AS av, b.v AS bv", "a [ROWS 3] AS a, b [ROWS 3] AS b", "a.k IS NULL AND b.k IS NULL"
        ),
        query("not_equal", "a.v AS av, b.v AS bv", "a [ROWS 3] AS a, b [ROWS 3] AS b", "a.k <> b.k"),
    ]
    return Case(made, [names], queries)


def equal_timestamps(seed: int) -> Case:
    """A handful of times for all rows, the same in all streams: places and sequence numbers decide."""
    rng = Random(seed)

    def crowded(name: str, count: int, file_format: str) -> StreamData:
        at = sorted(rng.choice(range(6)) for _ in range(count))
        rows = [(rng.randrange(4), i, BASE + timedelta(seconds=t)) for i, t in enumerate(at)]
        return stream(name, [("k", "INT"), ("v", "INT"), ("at", "TIMESTAMP")], rows, rng, 4, file_format)

    made = [crowded("a", 60, "json"), crowded("b", 50, "csv"), crowded("c", 55, "parquet")]
    queries = [
        query("rows_2", "a.v AS av, b.v AS bv", "a [ROWS 5] AS a, b [ROWS 5] AS b", "a.k = b.k"),
        query("turned", "a.v AS av, b.v AS bv", "b [ROWS 5] AS b, a [ROWS 5] AS a", "a.k = b.k", False),
        query("range_1s", "a.v AS av, b.v AS bv", "a [RANGE 1000000] AS a, b [RANGE 1] AS b", "a.k = b.k"),
        query("three", "a.v AS av, b.v AS bv, c.v AS cv", "c [ROWS 4], a [ROWS 4], b [RANGE 1000000]",
              "a.k = b.k AND b.k = c.k"),
        query("itself", "x.v AS xv, y.v AS yv", "a [ROWS 3] AS x, a [ROWS 3] AS y", "x.k = y.k"),
    ]  # fmt: skip
    return Case(made, [], queries)


def lateness(seed: int) -> Case:
    """Out of order within and beyond the lateness, with ROWS and RANGE; a single stream loses late rows too."""
    rng = Random(seed)
    packets = packet_stream(rng, 200, files=6, jitter_us=700 * MILLISECOND, lateness_us=500 * MILLISECOND)
    replies = reply_stream(rng, 150, files=2, jitter_us=2 * SECOND, lateness_us=2 * SECOND, file_format="csv")
    ordered = keyed_stream(rng, "strict", 100, keys=5, jitter_us=100 * MILLISECOND)
    queries = [
        query(
            "by_rows",
            "p.src, p.bytes, r.code",
            "packets [ROWS 12] AS p, replies [ROWS 8] AS r",
            "p.src = r.host",
        ),
        query(
            "by_range",
            "p.bytes, r.code",
            "replies [RANGE 1000000] AS r, packets [RANGE 500000] AS p",
            "p.src = r.host",
        ),
        query("alone", "src, bytes", "packets", "bytes > 500"),
        query("none_allowed", "s.v, p.bytes", "strict [ROWS 5] AS s, packets [ROWS 5] AS p", "s.k < 2", False),
    ]
    return Case([packets, replies, ordered], [], queries)


def table_two_streams(seed: int) -> Case:
    """A stored table whose ON refers to two streams."""
    rng = Random(seed)
    routes = TableData(
        "routes",
        [("a", "STRING"), ("b", "STRING"), ("hops", "INT")],
        [(a, b, rng.randint(1, 9)) for a in HOSTS for b in HOSTS if rng.random() < 0.3],
        "parquet",
    )
    queries = [
        query("table_last", "bytes, code, hops", "packets [RANGE 400000] AS p, replies [ROWS 5] AS r, routes AS t",
              "p.bytes > 500 AND t.a = p.src AND t.b = r.host", False),
        query("table_between", "p.bytes, t.hops", "packets [ROWS 4] AS p, routes AS t, replies [ROWS 9] AS r",
              "t.a = p.dst AND t.b = r.host AND p.src = r.host", False),
        query("table_first", "hops, code", "routes AS t, packets [ROWS 6] AS p, replies [RANGE 300000] AS r",
              "t.hops * 100 > r.code AND t.a = p.dst AND t.b = r.host"),
    ]  # fmt: skip
    return Case([packet_stream(rng, 150, files=3), reply_stream(rng, 150, files=3)], [routes], queries)


def out_of_step(seed: int) -> Case:
    """A long stream in many files beside a short one in a single file, and one that begins much later."""
    rng = Random(seed)
    long = packet_stream(rng, 400, files=25, file_format="parquet")
    short = reply_stream(rng, 50, files=1, step_us=800 * MILLISECOND)
    later = keyed_stream(rng, "later", 120, keys=6, files=2, start_us=35 * SECOND, step_us=50 * MILLISECOND)
    queries = [
        query("echo", "p.bytes, r.code", "packets [RANGE 2000000] AS p, replies [ROWS 10] AS r", "p.src = r.host"),
        query("tail", "p.bytes, l.v", "packets [ROWS 5] AS p, later [RANGE 1000000] AS l", "p.bytes > l.v", False),
        query("three", "p.bytes, r.code, l.v",
              "later [ROWS 8] AS l, packets [ROWS 20] AS p, replies [ROWS 20] AS r",
              "p.src = r.host AND l.v > 50"),
    ]  # fmt: skip
    return Case([long, short, later], [], queries)


def residual(seed: int) -> Case:
    """Conditions over two sources that are no equalities, ORs over several, constants, and no condition."""
    rng = Random(seed)
    streams = [
        keyed_stream(rng, name, 80, keys=6, files=2, file_format=f) for name, f in (("a", "json"), ("b", "csv"))
    ]
    windows = "a [RANGE 900000] AS a, b [ROWS 7] AS b"
    weights = TableData("weights", [("k", "INT"), ("w", "DOUBLE")], [(n, n / 4) for n in range(6)], "csv")
    queries = [
        query("less", "a.v AS av, b.v AS bv", windows, "a.v < b.v AND a.k = b.k"),
        query("only_less", "a.v AS av, b.v AS bv", windows, "a.v + 30 < b.v"),
        query("either", "a.v AS av, b.v AS bv", windows, "a.k = b.k OR a.v > 70 AND b.j = 1"),
        query("mixed", "a.v AS av, b.v AS bv, w.w", f"{windows}, weights AS w",
              "(a.k = w.k OR b.k = w.k) AND a.k = b.j AND a.v * w.w <= b.v"),
        query("constant", "a.v AS av, b.v AS bv", windows, "1 < 2 AND a.k = b.k AND 'x' LIKE 'x%'"),
        query("by_time", "a.v AS av, b.v AS bv", windows, "a.at < b.at AND a.j BETWEEN b.j AND b.j + 1"),
        query("free", "a.v AS av, b.v AS bv", windows),
        query("crossed", "a.v AS av, b.v AS bv", windows, "a.k > 2 AND b.k < 3", False),
    ]  # fmt: skip
    return Case(streams, [weights], queries)


def no_timestamp_filter(seed: int) -> Case:
    """A stream without a timestamp column: selections, and a stored table."""
    rng = Random(seed)
    rows = [(rng.choice(HOSTS), rng.randint(0, 100)) for _ in range(200)]
    events = stream("events", [("host", "STRING"), ("load", "INT")], rows, rng, files=5, timestamp=None)
    queries = [
        query("busy", "host, load", "events", "load > 50"),
        query("owned", "h.owner, e.load", "events AS e, hosts AS h", "e.host = h.ip AND e.load < 20", False),
    ]
    return Case([events], [host_table()], queries)


def window_edges(seed: int) -> Case:
    """Times on a grid of one microsecond, windows of a few: rows exactly as old as the window are in it."""
    rng = Random(seed)
    formats = {"a": "json", "b": "csv"}
    streams = [keyed_stream(rng, n, 100, keys=3, files=4, step_us=2, file_format=f) for n, f in formats.items()]
    queries = [
        query(f"v{v}", "a.v AS av, b.v AS bv", f"a [RANGE {v}] AS a, b [RANGE {v + 2}] AS b", "a.k = b.k")
        for v in (1, 2, 3)
    ]
    return Case(streams, [], queries)


def no_results(seed: int) -> Case:
    """Nothing comes out: of a false condition, of windows that never overlap, of a stream without rows."""
    rng = Random(seed)
    early = keyed_stream(rng, "early", 60, keys=3)
    late = keyed_stream(rng, "late", 60, keys=3, start_us=3600 * SECOND, file_format="csv")
    silent = keyed_stream(rng, "silent", 0, keys=3)
    queries = [
        query("never", "e.v", "early AS e", "e.k < 0"),
        query("apart", "e.v", "early [RANGE 5000000] AS e, late [RANGE 5000000] AS l", "e.k = l.k"),
        query("silent", "e.v", "early [ROWS 5] AS e, silent [ROWS 5] AS s", "e.k = s.k"),
    ]
    return Case([early, late, silent], [], queries)


SHAPES: dict[str, Callable[[int], Case]] = {
    "filter": filter_,
    "expression": expression,
    "star": star,
    "stored_table_join": stored_table_join,
    "range_join": range_join,
    "rows_join": rows_join,
    "mixed_windows": mixed_windows,
    "three_way": three_way,
    "four_way": four_way,
    "five_way": five_way,
    "self_join": self_join,
    "self_join_rows": self_join_rows,
    "self_join_of_three": self_join_of_three,
    "never_null": never_null,
    "shared_prefix": shared_prefix,
    "null_keys": null_keys,
    "equal_timestamps": equal_timestamps,
    "lateness": lateness,
    "table_two_streams": table_two_streams,
    "out_of_step": out_of_step,
    "residual": residual,
    "no_timestamp_filter": no_timestamp_filter,
    "window_edges": window_edges,
    "no_results": no_results,
}
EMPTY = {"no_results"}  # the shapes whose queries have no results
