"""What a folder of results must hold in the end, and what is lost, doubled or foreign there."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from penstock.sinks.read import read
from tests.oracle.aggregate_model import AggregateSpec
from tests.oracle.aggregates import expected_aggregates
from tests.oracle.oracle import expected, expected_late
from tests.storage.crash.workload import BULK_QUERIES, Workload, expected_bulk

HIDDEN = ("_recent", "_groups", "_writing")
Rejected = Sequence[tuple[int, str]]
"""Sequence numbers and kinds of rejected rows."""


@dataclass(frozen=True)
class Expected:
    """What a workload gives: results by query, and rejected rows by stream."""

    results: Mapping[str, pa.Table]
    rejected: Mapping[str, Rejected]


@dataclass(frozen=True)
class Difference:
    """What is wrong with the results of a query, or with the rejected rows of a stream."""

    name: str
    way: str
    lost: int = 0
    doubled: int = 0
    foreign: int = 0
    detail: str = ""

    def __str__(self) -> str:
        counts = f"{self.lost} lost, {self.doubled} doubled, {self.foreign} foreign"
        return f"{self.name} ({self.way}): {counts}{': ' if self.detail else ''}{self.detail}"


def expected_of(made: Workload) -> Expected:
    """Compute from the definition, in DuckDB; no part of Penstock takes part."""
    results = {}
    for query in made.case.queries:
        computed = expected_aggregates if isinstance(query, AggregateSpec) else expected
        results[query.name] = as_table(computed(made.case, query.name))
    results |= {name: expected_bulk(made.folder, name) for name in BULK_QUERIES}
    rejected = {}
    for stream in made.case.streams:
        late = [(row[0], "late") for row in expected_late(made.case, stream.name)]
        rejected[stream.name] = [*late, *((line, "malformed") for line in made.malformed[stream.name])]
    return Expected(results, rejected)


def as_table(rows: Sequence[tuple]) -> pa.Table:
    if not rows:
        raise ValueError("a query without results tests nothing")
    columns = list(zip(*rows, strict=True))
    return pa.table([pa.array(column) for column in columns], [f"c{place}" for place in range(len(columns))])


def differences(want: Expected, out: Path, queries: Sequence[str], streams: Sequence[str]) -> list[Difference]:
    """Compare the files of a run that has ended, and what `penstock.read` returns."""
    with duckdb.connect(config={"threads": 2}) as database:
        found = [
            result_difference(database, want.results[query], out, query, way)
            for query in queries
            for way in ("duckdb", "penstock")
        ]
    found += [rejected_difference(want.rejected[stream], out, stream) for stream in streams]
    found += [leftover_difference(out)]
    return [each for each in found if each is not None]


def result_difference(
    database: duckdb.DuckDBPyConnection, want: pa.Table, out: Path, query: str, way: str
) -> Difference | None:
    try:
        if way == "duckdb":
            database.execute(f"CREATE OR REPLACE VIEW got AS FROM read_parquet('{out / query}/*.parquet')")
        else:
            database.register("arrow_got", read(out, query))
            database.execute("CREATE OR REPLACE VIEW got AS FROM arrow_got")
        database.register("want", want)
        lost = count(database, "FROM want EXCEPT ALL FROM got")
        extra = count(database, "FROM got EXCEPT ALL FROM want")
        foreign = count(database, "FROM got EXCEPT FROM want")
        if not (lost or extra):
            return None
        samples = []
        for said, sql in (
            ("lost", "FROM want EXCEPT ALL FROM got"),
            ("too many", "FROM got EXCEPT ALL FROM want"),
        ):
            rows = database.execute(f"SELECT * FROM ({sql}) ORDER BY ALL LIMIT 3").fetchall()
            samples += [f"{said} e.g. {rows}"] if rows else []
        return Difference(query, way, lost, extra - foreign, foreign, "; ".join(samples))
    except Exception as error:
        return Difference(query, way, want.num_rows, detail=f"{type(error).__name__}: {str(error)[:500]}")


def count(database: duckdb.DuckDBPyConnection, sql: str) -> int:
    return database.execute(f"SELECT count(*) FROM ({sql})").fetchall()[0][0]


def rejected_objects(out: Path, stream: str) -> list[dict]:
    """The objects in the files of rejected rows; raise ValueError for a line that is none."""
    lines = [
        line
        for path in sorted((out / "_rejected" / stream).glob("*.json"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [json.loads(line) for line in lines]


def rejected_difference(want: Rejected, out: Path, stream: str) -> Difference | None:
    try:
        objects = rejected_objects(out, stream)
    except ValueError as error:
        return Difference(f"_rejected/{stream}", "json", len(want), detail=f"a line is no JSON: {error}")
    got = Counter((each.get("_seq"), each.get("_kind")) for each in objects)
    lost, extra = Counter(want) - got, got - Counter(want)
    odd = [each for each in objects if int(each.get("id", each["_seq"])) != each["_seq"]]
    if not (lost or extra or odd):
        return None
    foreign = sum(1 for each in extra if each not in set(want))
    detail = f"lost e.g. {sorted(lost)[:3]}, too many e.g. {sorted(extra)[:3]}, with another id e.g. {odd[:2]}"
    return Difference(
        f"_rejected/{stream}", "json", lost.total(), extra.total() - foreign, foreign + len(odd), detail
    )


def leftover_difference(out: Path) -> Difference | None:
    """What a run that has ended must not leave: unpublished or unfinished files, and its marker."""
    left = [path for name in HIDDEN for path in (out / name).rglob("*") if path.is_file()]
    left += [path for path in (out / "_running",) if path.exists()]
    if not left:
        return None
    shown = ", ".join(str(path.relative_to(out)) for path in sorted(left)[:5])
    return Difference("the folder", "listing", detail=f"{len(left)} files left, such as {shown}")
