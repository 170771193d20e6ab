"""The benchmark as a whole: makes inputs, runs each case in a process of its own, and checks the results."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from penstock.bench.cluster import standalone_cluster
from penstock.bench.loopback import HOST, LOOPBACK
from penstock.bench.machine import described, scratch
from penstock.bench.processes import in_a_process
from penstock.bench.scale.case import SYSTEM_NAMES, InputFacts, MeasuredDrain, ScaleCase, ScaleResult
from penstock.bench.scale.claims import comparisons
from penstock.bench.scale.how import HOW
from penstock.bench.scale.inputs import MadeInput, make_input
from penstock.bench.scale.query_set import Sum
from penstock.bench.scale.ratios import speed_ratio
from penstock.errors import RunError

HEAP = "4g"
"""Java's heap in the driver, the same for all systems."""
LIMIT_S = 3600.0
"""A case that takes longer has failed."""
OWN_CLUSTER = "cluster"
"""The value of `--master` for a cluster that the benchmark starts."""

Stage = Callable[[str], object]


@dataclass(frozen=True)
class Where:
    """The Spark that cases run on; the local one if `master` is None."""

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    worker_pids: Sequence[int] = ()
    """The processes of the workers, if they are on this machine."""


@contextmanager
def opened(master: str | None) -> Iterator[Where]:
    """Yield where cases run; with `cluster`, start a cluster of two workers for as long."""
    if master == OWN_CLUSTER:
        with standalone_cluster() as cluster:
            yield Where(cluster.master, cluster.settings, cluster.worker_pids)
    else:
        on_loopback = master is not None and HOST in master
        yield Where(master, LOOPBACK if on_loopback else {})


@dataclass(frozen=True)
class RunListeners:
    """Functions that are told which case begins, what it does, and its result."""

    on_begin: Callable[[str], object]
    on_stage: Stage
    on_case: Callable[[ScaleResult], object]


def run_cases(cases: Sequence[ScaleCase], where: Where, listeners: RunListeners, limit_s: float = LIMIT_S) -> None:
    """Run cases one after the other; those that follow each other share their input."""
    for (source, on_disk), some in groupby(cases, key=lambda case: (case.input, case.on_disk)):
        where_made = None if on_disk else scratch()
        with tempfile.TemporaryDirectory(
            prefix="penstock-bench-", dir=where_made, ignore_cleanup_errors=True
        ) as name:
            folder = Path(name)
            made: MadeInput | None = None
            for case in some:
                listeners.on_begin(case.name)
                if made is None:
                    listeners.on_stage("making the input")
                    made = make_input(source, folder / "in")
                listeners.on_case(measure(case, made, folder, where, listeners.on_stage, limit_s))
                shutil.rmtree(folder / "out", ignore_errors=True)


def measure(
    case: ScaleCase, made: MadeInput, folder: Path, where: Where, on_stage: Stage, limit_s: float = LIMIT_S
) -> ScaleResult:
    """Run a case in a process, and check what it wrote in every drain."""
    began = time.monotonic()
    spec = {"case": asdict(case), "heap": HEAP, "folder": str(folder), **asdict(where)}
    (folder / "out").mkdir(exist_ok=True)
    try:
        on_stage("starting Spark")
        found = in_a_process("penstock.bench.scale.worker", spec, limit_s=limit_s, on_stage=on_stage)
    except RunError as error:
        return ScaleResult(case, "failed", str(error), took_s=time.monotonic() - began)
    result = evaluated(case, made, found)
    return replace(result, took_s=time.monotonic() - began)


def evaluated(case: ScaleCase, made: MadeInput, found: Mapping[str, Any]) -> ScaleResult:
    """Compare the results of each drain with the expected ones; if they agree, return the figures."""
    expected = made.expected(case.queries)
    for drain in found["drains"]:
        wrong = difference(expected, drain["found"])
        if wrong:
            return ScaleResult(case, "wrong", wrong)
    columns = case.queries.read_columns
    facts = InputFacts(
        files=made.files + (case.queries.kind == "table"),
        read_bytes=sum(made.arrow_bytes[name] for name in columns),
        time_bytes=8 * case.input.rows if case.input.window_rows else 0,
        file_bytes=made.file_bytes,
    )
    drains = tuple(MeasuredDrain(**drain["measured"]) for drain in found["drains"])
    return ScaleResult(case, "ok", "", drains, facts, found["peak_bytes"])


def difference(expected: Mapping[str, Sum], got: Mapping[str, Sequence[int]]) -> str:
    """Return a message about queries with wrong results; an empty text if there are none.

    >>> difference({"q0": (3, 70)}, {"q0": [3, 70]}), difference({"q0": (3, 70)}, {"q0": [2, 60]})
    ('', '1 of 1 queries have wrong results: q0 has 2 with the sum 60, not 3 with 70')
    """
    wrong = [name for name, total in expected.items() if tuple(got.get(name, (0, 0))) != total]
    if not wrong:
        return ""
    name = wrong[0]
    (count, total), (right, right_total) = got.get(name, (0, 0)), expected[name]
    some = f"{name} has {count:,} with the sum {total:,}, not {right:,} with {right_total:,}"
    return f"{len(wrong)} of {len(expected)} queries have wrong results: {some}"


def with_ratios(measured: Sequence[ScaleResult]) -> list[dict[str, Any]]:
    """Return results as JSON, each with Penstock's speed relative to it where Penstock ran the same."""
    good = [one for one in measured if one.status == "ok"]
    ours = {(one.case.part, one.case.what): one for one in good if one.case.system == "penstock"}
    found = []
    for one in measured:
        other = ours.get((one.case.part, one.case.what))
        pair = None
        if other is not None and one in good and one.case.system != "penstock":
            theirs = [drain.seconds for drain in one.drains]
            pair = asdict(speed_ratio([drain.seconds for drain in other.drains], theirs))
        found.append({**one.as_dict(), "penstock_speed": pair})
    return found


def document(
    measured: Sequence[ScaleResult], *, quick: bool, interrupted: bool, seconds: float, master: str | None
) -> dict[str, Any]:
    """Return all results of the benchmark as a JSON document."""
    return {
        "benchmark": "scale",
        "machine": described(HEAP),
        "master": master or "local[*]",
        "quick": quick,
        "interrupted": interrupted,
        "seconds": seconds,
        "systems": SYSTEM_NAMES,
        "cases": with_ratios(measured),
        "comparisons": [comparison.as_dict() for comparison in comparisons(measured)],
        "how": list(HOW),
    }
