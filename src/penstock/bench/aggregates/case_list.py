"""The cases of the full benchmark and of the quick one."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from penstock.bench.aggregates.case import BY_HAND, EACH, AggregateCase

PARTS = {
    "one": "one query",
    "fifty": "50 queries of different windows and constants",
    "thousand": "1,000 queries that differ in constants, and one of them",
    "windows": "100 queries with windows of their own, and one of them",
    "long": "one query whose windows have 600 panes",
    "keys": "a million keys, with a state and a restart",
    "latency": "from a window's close to its results, at the same load for all",
    "sharing": "the 50 queries with and without groups",
}
"""What `--part` can name."""

MANY, MOST, OWN_WINDOWS = 50, 1000, 100
_KEYS, _QUICK_KEYS = 1_000_000, 100_000
_FEW_KEYS = 10
"""With slices of 0.1 %, a group of a window then has ten rows on average, in the full benchmark."""
_EACH = ("each", "each-rocksdb")
_LONG = AggregateCase("long", "", "long", files=5, file_rows=20_000, event_rate=1_000, warm_files=1, repeat=3)


def plan(parts: Collection[str], *, quick: bool = False, repeat: int | None = None) -> list[AggregateCase]:
    """Return the cases of these parts, in the order in which they run.

    A paced case comes after the drained one that its load is taken from, which is added if it is missing.
    """
    cases: list[AggregateCase] = []
    for case in _quick() if quick else _whole():
        if case.part not in parts:
            continue
        own = case if repeat is None or case.restart else replace(case, repeat=repeat)
        source = load_source(own)
        cases += [each for each in (source, own) if each is not None]
    return list(dict.fromkeys(cases))


def load_source(case: AggregateCase) -> AggregateCase | None:
    """Return the case whose rate the load of a paced case is taken from."""
    if case.feeding != "paced":
        return None
    usual = AggregateCase(case.queries, "each")
    return replace(case, part=case.queries, system="each", feeding="drain", load=usual.load, seconds=usual.seconds)


def _whole() -> Iterator[AggregateCase]:
    one = AggregateCase("one", "")
    fifty = AggregateCase("fifty", "", "fifty", MANY, repeat=3)
    yield from _by_system(one, (*_EACH, "penstock"))
    yield from _by_system(fifty, (*EACH, *BY_HAND, "penstock"))
    for kind in ("slices", "having", "wide"):
        yield from _by_count(AggregateCase("thousand", "penstock", kind, keys=_FEW_KEYS), MOST)
    yield from _by_count(AggregateCase("windows", "penstock", "windows"), OWN_WINDOWS)
    yield from _by_system(_LONG, (*_EACH, "penstock"))
    yield from _by_system(_keys(_KEYS), (*_EACH, "penstock-state"))
    yield from _by_system(replace(one, part="latency", feeding="paced"), (*_EACH, "penstock"))
    paced = replace(fifty, part="latency", feeding="paced")
    yield from _by_system(paced, ("each", "joined", "panes", "penstock"))
    yield from _sharing(fifty)


def _quick() -> Iterator[AggregateCase]:
    """Yield the cases that fit into twelve minutes on two cores: a tenth of the keys, fewer rows.

    Fifty queries one each take stock minutes to start and to warm up, so they run once, and not paced.
    """
    few = AggregateCase("one", "", files=8, file_rows=25_000, event_rate=2_500, warm_files=2, repeat=3)
    fifty = replace(few, part="fifty", queries="fifty", count=MANY)
    yield from _by_system(few, (*_EACH, "penstock"))
    yield replace(fifty, system="each", warm_files=1, repeat=1)
    yield from _by_system(fifty, ("joined", "panes", "penstock"))
    ours = replace(few, system="penstock")
    yield from _by_count(replace(ours, part="thousand", queries="slices", keys=_FEW_KEYS), MOST)
    yield from _by_count(replace(ours, part="windows", queries="windows"), OWN_WINDOWS)
    yield from _by_system(replace(_LONG, files=2, repeat=2), (*_EACH, "penstock"))
    yield from _by_system(_keys(_QUICK_KEYS), (*_EACH, "penstock-state"))
    paced = replace(few, part="latency", feeding="paced", seconds=10.0)
    yield from _by_system(paced, ("each", "penstock"))
    yield from _sharing(fifty)


def _keys(keys: int) -> AggregateCase:
    """Return a case whose parts last a window of ten seconds each, with two rows of a key on average."""
    case = AggregateCase("keys", "", "keys", keys=keys, files=4, file_rows=keys // 2, event_rate=keys // 5)
    return replace(case, warm_files=1, repeat=8, restart=True, on_disk=True)


def _by_system(case: AggregateCase, systems: tuple[str, ...]) -> Iterator[AggregateCase]:
    yield from (replace(case, system=system) for system in systems)


def _by_count(case: AggregateCase, most: int) -> Iterator[AggregateCase]:
    yield from (replace(case, count=count) for count in (1, most))


def _sharing(fifty: AggregateCase) -> Iterator[AggregateCase]:
    sharing = replace(fifty, part="sharing", repeat=min(fifty.repeat, 2))
    yield from _by_system(sharing, ("penstock-ungrouped", "penstock"))
