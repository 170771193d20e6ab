"""The streams, the stored table and the queries of the crash harness, all from a seed.

Names of files increase, and so do times over files: results do not depend on when the files are listed. Every
line of a stream has an id, which is also its sequence number, and every query but a few aggregates selects ids of
the rows that it combines. So no two results of one query are equal.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.oracle.aggregate_model import aggregate_query
from tests.oracle.model import Case, FromItem, QuerySpec, StreamData, TableData
from tests.storage.crash.lines import write_lines

START = datetime(2026, 1, 1)
FILE_SECONDS = 10
"""Seconds of event time in a file."""
STEP_US = 10_000
"""Times are multiples of this, so that many are equal."""
HOSTS = 40
WORDS = ("scan", "scanned", "login", "probe", "idle")

SECOND = 1_000_000
COLUMNS = {
    "packets": (
        ("id", "BIGINT"),
        ("at", "TIMESTAMP"),
        ("host", "INT"),
        ("port", "INT"),
        ("size", "INT"),
        ("note", "STRING"),
    ),
    "replies": (("id", "BIGINT"), ("at", "TIMESTAMP"), ("host", "INT"), ("code", "INT"), ("delay", "DOUBLE")),
    "alerts": (("id", "BIGINT"), ("at", "TIMESTAMP"), ("host", "INT"), ("level", "INT"), ("tag", "STRING")),
}
FORMATS = {"packets": "parquet", "replies": "json", "alerts": "csv"}
LATENESS_US = {"packets": 0, "replies": 2 * SECOND, "alerts": 500_000}
BULK_FILES, BULK_ROWS = 3, 600_000
BULK_QUERIES = {"bulk_most": "v <> 7", "bulk_low": "v < 300", "bulk_less": "v < 550"}


@dataclass(frozen=True)
class Size:
    """How much a workload has: files of each stream, and rows of a file on average."""

    files: int = 30
    rows: int = 300


@dataclass(frozen=True)
class Workload:
    """Files that were made in a folder, and what there is to know about them."""

    seed: int
    size: Size
    folder: Path
    case: Case
    """What the oracle knows: streams without the lines that are no rows."""
    malformed: Mapping[str, Sequence[int]]
    """The ids of malformed lines."""

    def files(self, *, bulk: bool) -> list[tuple[str, Path]]:
        """Streams and files, in the order in which they appear."""
        streams = [*COLUMNS, "bulk"] if bulk else list(COLUMNS)
        found = [(stream, path) for stream in streams for path in sorted((self.folder / stream).iterdir())]
        apart = self.size.files // BULK_FILES
        numbers = {path: int(path.stem[5:]) * (apart if stream == "bulk" else 1) for stream, path in found}
        return sorted(found, key=lambda each: numbers[each[1]])

    def queries(self, *, bulk: bool) -> dict[str, list[str]]:
        """The columns of each query that hold ids."""
        names = {query.name: [name or "id" for name in query.output_names()] for query in self.case.queries}
        names |= {name: ["id"] for name in BULK_QUERIES} if bulk else {}
        return {
            query: [each for each in columns if each == "id" or each.endswith("_id")]
            for query, columns in names.items()
        }

    def script(self, folder: Path, settings: Mapping[str, object], *, bulk: bool) -> str:
        """The script that reads streams from subfolders of `folder`."""
        definitions = [definition(stream, folder / stream.name) for stream in self.case.streams]
        definitions += [table_definition(table, self.folder / f"{table.name}.csv") for table in self.case.tables]
        if bulk:
            definitions.append(
                "CREATE STREAM bulk (id BIGINT, at TIMESTAMP, v INT)\n"
                f"  FROM files WITH (path = '{folder / 'bulk'}', format = 'parquet', timestamp = 'at');"
            )
            definitions += [
                f"CREATE QUERY {name} AS\n  SELECT id, v FROM bulk WHERE {condition};"
                for name, condition in BULK_QUERIES.items()
            ]
        return Case(self.case.streams, self.case.tables, self.case.queries, settings).script(definitions)


def make_workload(seed: int, folder: Path, size: Size | None = None) -> Workload:
    """Make the files of a seed in `folder`: a subfolder for each stream, and the stored table."""
    size = size or Size()
    chance = random.Random(f"workload {seed}")
    folder.mkdir(parents=True, exist_ok=True)
    streams, malformed = [], {}
    for name, columns in COLUMNS.items():
        lines = [line for number in range(size.files) for line in lines_of(name, number, size, chance)]
        numbered = [(line[0], (id_, *line[1:])) for id_, line in enumerate(lines)]
        bad = bad_lines(name, numbered, size, chance)
        write_lines(folder / name, name, FORMATS[name], columns, numbered, bad)
        rows = [row for _, row in numbered if row[0] not in bad]
        streams.append(StreamData(name, columns, rows, "at", lateness_us=LATENESS_US[name], format=FORMATS[name]))
        malformed[name] = sorted({*bad, *(row[0] for row in rows if row[1] is None)})
    make_bulk(folder / "bulk", seed)
    hosts = [(host, f"owner{host % 7}", host % 5) for host in range(HOSTS) if host % 9]
    table = TableData("hosts", (("host", "INT"), ("owner", "STRING"), ("zone", "INT")), hosts)
    table.write(folder)
    return Workload(seed, size, folder, Case(streams, [table], queries(chance)), malformed)


def lines_of(stream: str, number: int, size: Size, chance: random.Random) -> list[tuple]:
    """The lines of a file: the number of the file, and all columns but the id."""
    count = chance.randint(size.rows // 2, size.rows * 3 // 2)
    steps = FILE_SECONDS * SECOND // STEP_US
    places = sorted(chance.randrange(steps) for _ in range(count))
    return [(number, moved(stream, number * steps + place, chance), *values(stream, chance)) for place in places]


def moved(stream: str, step: int, chance: random.Random) -> datetime | None:
    """A time that is in order, or within the lateness, or late, or missing."""
    luck, back_us = chance.random(), 0
    if luck < 0.002:
        return None
    if luck < 0.015:
        back_us = LATENESS_US[stream] + chance.randrange(STEP_US, 8 * SECOND, STEP_US)
    elif LATENESS_US[stream] and luck < 0.3:
        back_us = chance.randrange(0, LATENESS_US[stream], STEP_US)
    return START + timedelta(microseconds=step * STEP_US - back_us)


def values(stream: str, chance: random.Random) -> tuple:
    host = None if chance.random() < 0.01 else chance.randrange(HOSTS)
    if stream == "packets":
        note = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=60))
        return host, chance.randrange(8), chance.randrange(40, 1500), note
    if stream == "replies":
        return host, chance.randrange(200, 600), round(chance.random(), 6)
    return host, chance.randrange(6), f"{chance.choice(WORDS)}-{chance.randrange(100)}"


def bad_lines(
    stream: str, numbered: Sequence[tuple[int, tuple]], size: Size, chance: random.Random
) -> dict[int, str]:
    """Ids of lines that cannot be read as rows, and what is wrong; in a third of the files, others stay plain."""
    if FORMATS[stream] == "parquet":
        return {}
    files = set(chance.sample(range(size.files), size.files // 3))
    kinds = ("type", "time") if FORMATS[stream] == "csv" else ("type", "time", "cut")
    return {row[0]: chance.choice(kinds) for file, row in numbered if file in files and chance.random() < 0.02}


def make_bulk(folder: Path, seed: int) -> None:
    """Large, narrow parquet files, whose results executors write."""
    folder.mkdir()
    values_of = np.random.default_rng(seed)
    for number in range(BULK_FILES):
        ids = np.arange(number * BULK_ROWS, (number + 1) * BULK_ROWS, dtype=np.int64)
        first_us = int(START.replace(tzinfo=UTC).timestamp()) * SECOND
        columns = {
            "id": pa.array(ids),
            "at": pa.array(first_us + ids * 50, pa.timestamp("us", tz="UTC")),
            "v": pa.array(values_of.integers(0, 1000, BULK_ROWS), pa.int32()),
        }
        pq.write_table(pa.table(columns), folder / f"part-{number:05d}.parquet", row_group_size=100_000)


def expected_bulk(folder: Path, query: str) -> pa.Table:
    with duckdb.connect() as database:
        files = f"read_parquet('{folder / 'bulk'}/*.parquet')"
        return database.sql(f"SELECT id, v FROM {files} WHERE {BULK_QUERIES[query]}").to_arrow_table()


def queries(chance: random.Random) -> list[QuerySpec]:
    """Filters, a group of five, joins with the stored table, and window joins of two and three streams."""
    packets = [FromItem("packets")]
    found = [
        QuerySpec(
            f"large_{port}",
            [("id", None), ("host", None), ("size", None)],
            packets,
            f"size > {chance.randrange(300, 1200)} AND port = {port}",
        )
        for port in range(5)
    ]
    found += [
        QuerySpec("everything", [("*", None)], packets),
        QuerySpec(
            "slow",
            [("id", None), ("code", None), ("delay", None)],
            [FromItem("replies")],
            "code >= 500 OR delay > 0.8",
        ),
        QuerySpec(
            "scans",
            [("id", None), ("level", None), ("tag", None)],
            [FromItem("alerts")],
            "tag LIKE 'scan-%' AND level IN (1, 2, 5)",
        ),
        QuerySpec(
            "owned",
            [("p.id", "id"), ("h.owner", "owner"), ("p.size", "size")],
            [FromItem("packets", "p"), FromItem("hosts", "h")],
            "p.host = h.host AND p.size > 500",
        ),
        QuerySpec(
            "zoned",
            [("r.id", "id"), ("h.zone", "zone")],
            [FromItem("replies", "r"), FromItem("hosts", "h")],
            "r.host = h.host AND h.zone < 3",
            comma_style=False,
        ),
    ]
    return found + window_joins(chance) + aggregates(chance)


def aggregates(chance: random.Random) -> list[QuerySpec]:
    """A group with windows of several sizes, keys from the stored table, windows of rows, and sliding windows.

    Where windows do not overlap, the lowest id of a group is that of no other result. The others have no ids.
    """
    found = [
        aggregate_query(
            f"volume_{port}",
            "min(id) AS id, host, count(*) AS n, sum(size) AS total, max(note) AS note",
            f"packets [RANGE {seconds * SECOND} SLIDE {seconds * SECOND}]",
            f"port = {port} AND size > {chance.randrange(100, 400)}",
            "host",
            "count(*) > 1",
        )
        for port, seconds in enumerate((5, 7, 2, 5))
    ]
    return [
        *found,
        aggregate_query(
            "owners",
            "min(r.id) AS id, h.owner, count(*) AS n, sum(r.code) AS codes, count(DISTINCT r.host) AS hosts",
            f"replies [RANGE {4 * SECOND} SLIDE {4 * SECOND}] AS r, hosts AS h",
            "r.host = h.host",
            "h.owner",
        ),
        aggregate_query(
            "tens",
            "min(id) AS id, count(*) AS n, first(host) AS host, last(note) AS note, window_end",
            "packets [ROWS 10 SLIDE 10]",
            "size > 200",
        ),
        aggregate_query(
            "levels",
            "level, count(*) AS n, max_by(tag, id) AS tag, window_start",
            f"alerts [RANGE {6 * SECOND} SLIDE {2 * SECOND}]",
            group="level",
        ),
        aggregate_query("slides", "count(*) AS n, min(code) AS code, window_end", "replies [ROWS 40 SLIDE 20]"),
    ]


def window_joins(chance: random.Random) -> list[QuerySpec]:
    def ranged(stream: str, alias: str, milliseconds: int) -> FromItem:
        return FromItem(stream, alias, ("range", milliseconds * 1000))

    def rows(stream: str, alias: str, count: int) -> FromItem:
        return FromItem(stream, alias, ("rows", count))

    def ids(*aliases: str) -> list[tuple[str, str]]:
        return [(f"{alias}.id", f"{alias}_id") for alias in aliases]

    found = [
        QuerySpec(
            f"echoes_{least}",
            [*ids("p", "r"), ("p.size", "size"), ("r.code", "code")],
            [ranged("packets", "p", 5000), ranged("replies", "r", 3000)],
            f"p.host = r.host AND p.size > {chance.randrange(700, 1000)} AND r.code >= {least}",
        )
        for least in (450, 520)
    ]
    return [
        *found,
        QuerySpec(
            "latest",
            [*ids("r", "a"), ("a.tag", "tag")],
            [rows("replies", "r", 60), rows("alerts", "a", 80)],
            "r.host = a.host AND r.delay < 0.4 AND a.level > 2",
            comma_style=False,
        ),
        QuerySpec(
            "mixed",
            [*ids("p", "a"), ("p.size + a.level", "total")],
            [ranged("packets", "p", 1500), rows("alerts", "a", 150)],
            "p.host = a.host AND p.port < 4",
        ),
        QuerySpec(
            "pairs",
            [*ids("x", "y"), ("y.size - x.size", "more")],
            [rows("packets", "x", 25), ranged("packets", "y", 800)],
            "x.host = y.host AND x.port = y.port AND x.size < y.size",
        ),
        QuerySpec(
            "chains",
            [*ids("p", "r", "a"), ("r.code", "code")],
            [ranged("packets", "p", 3000), rows("replies", "r", 100), ranged("alerts", "a", 4000)],
            "p.host = r.host AND r.host = a.host AND p.size > 900 AND r.code < 350 AND a.level < 3",
        ),
    ]


def definition(stream: StreamData, place: Path) -> str:
    columns = ", ".join(f"{name} {kind}" for name, kind in stream.columns)
    lateness = f", lateness = '{stream.lateness_us // 1000} ms'" if stream.lateness_us else ""
    options = f"path = '{place}', format = '{stream.format}', timestamp = '{stream.timestamp}'{lateness}"
    return f"CREATE STREAM {stream.name} ({columns})\n  FROM files WITH ({options});"


def table_definition(table: TableData, path: Path) -> str:
    columns = ", ".join(f"{name} {kind}" for name, kind in table.columns)
    return f"CREATE TABLE {table.name} ({columns}) FROM csv WITH (path = '{path}');"
