"""What the shapes are made of: times, streams of packets, replies and keys, a table of hosts, queries."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

from tests.oracle.model import FromItem, QuerySpec, StreamData, TableData

BASE = datetime(2026, 1, 1, microsecond=123_456)
SECOND = 1_000_000
MILLISECOND = 1_000
HOSTS = [f"h{n}" for n in range(10)]
SOURCE = re.compile(r"(\w+)(?: \[(ROWS|RANGE) (\d+)\])?(?: AS (\w+))?")
COMMA = re.compile(r",\s*(?![^()]*\))")  # not inside parentheses


def query(name: str, select: str, sources: str, where: str = "", comma_style: bool = True) -> QuerySpec:
    """A query from text; RANGE is in microseconds. A comma inside a string must be inside parentheses too."""
    shown = []
    for output in COMMA.split(select):
        text, _, named = output.partition(" AS ")
        shown.append((text, named or None))
    items = []
    for source in sources.split(", "):
        stored, kind, size, alias = SOURCE.fullmatch(source).groups()
        items.append(FromItem(stored, alias, (kind.lower(), int(size)) if kind else None))
    return QuerySpec(name, shown, items, where, comma_style)


def times(rng: Random, count: int, start_us: int = 0, step_us: int = 100 * MILLISECOND, ties: float = 0.2) -> list:
    """Ascending times, `step_us` apart on average before ties, on a grid, so that streams have times in common."""
    grid = max(1, step_us // 10)
    now, made = start_us, []
    for _ in range(count):
        now += 0 if rng.random() < ties else grid * rng.randint(1, 2 * step_us // grid)
        made.append(BASE + timedelta(microseconds=now))
    return made


def stream(
    name: str,
    columns: Sequence[tuple[str, str]],
    rows: Sequence[tuple],
    rng: Random,
    files: int = 1,
    file_format: str = "json",
    timestamp: str | None = "at",
    lateness_us: int = 0,
) -> StreamData:
    """A stream in `files` files, cut at random, so that some may be empty."""
    cuts = sorted(rng.randint(0, len(rows)) for _ in range(files - 1))
    counts = [end - start for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    return StreamData(name, columns, rows, timestamp, counts, lateness_us, file_format)


def timed(rng: Random, count: int, jitter_us: int = 0, **clock) -> list[datetime]:
    """Times as by `times`, each moved back by up to `jitter_us`, most of them by little."""
    back = [timedelta(microseconds=int(jitter_us * rng.random() ** 3)) for _ in range(count)]
    return [at - moved for at, moved in zip(times(rng, count, **clock), back, strict=True)]


def split_options(options: dict) -> tuple[dict, dict]:
    """Options of the clock, and options of the stream."""
    clock = {name: options.pop(name) for name in ("jitter_us", "start_us", "step_us", "ties") if name in options}
    return clock, options


def packet_stream(rng: Random, count: int, **options) -> StreamData:
    """packets (src, dst, bytes, at)"""
    clock, rest = split_options(options)
    rows = [(rng.choice(HOSTS), rng.choice(HOSTS), rng.randint(40, 1500), at) for at in timed(rng, count, **clock)]
    columns = [("src", "STRING"), ("dst", "STRING"), ("bytes", "INT"), ("at", "TIMESTAMP")]
    return stream("packets", columns, rows, rng, **rest)


def reply_stream(rng: Random, count: int, **options) -> StreamData:
    """replies (at, host, code)"""
    clock, rest = split_options(options)
    codes = [200, 200, 301, 404, 500, 503]
    rows = [(at, rng.choice(HOSTS), rng.choice(codes)) for at in timed(rng, count, **clock)]
    return stream("replies", [("at", "TIMESTAMP"), ("host", "STRING"), ("code", "INT")], rows, rng, **rest)


def keyed_stream(rng: Random, name: str, count: int, keys: int, **options) -> StreamData:
    """A stream (k, j, v, at) with `keys` different k, three j, and v up to 100."""
    clock, rest = split_options(options)
    rows = [(rng.randrange(keys), rng.randrange(3), rng.randint(0, 100), at) for at in timed(rng, count, **clock)]
    columns = [("k", "INT"), ("j", "INT"), ("v", "BIGINT"), ("at", "TIMESTAMP")]
    return stream(name, columns, rows, rng, **rest)


def host_table() -> TableData:
    """hosts (ip, owner): one ip twice, some not at all, one NULL, one owner NULL, one with a comma."""
    owners = ["ops", "web", "o, p & q", None, "ops", "db"]
    rows = [*zip(HOSTS, owners, strict=False), ("h1", "second"), (None, "nobody")]
    return TableData("hosts", [("ip", "STRING"), ("owner", "STRING")], rows, "csv")


def maybe(rng: Random, value, null: float = 0.15):
    """The value, or NULL with the given probability."""
    return None if rng.random() < null else value
