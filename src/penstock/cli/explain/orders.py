"""Probe orders of joins for `penstock explain`: the optimizer's and the script's."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.style import COMPACT, rate
from penstock.errors import RunError
from penstock.language.script import Script
from penstock.plan.plan import Plan
from penstock.plan.probe_orders import ProbePlan, planned
from penstock.plan.samples import sampled
from penstock.plan.steps import Join

SPAN_S = 0.1
"""Assumed time span of the rows of a job, before any job has run."""
LARGEST_FILE = 10_000_000


def planned_joins(script: Script, plan: Plan) -> dict[str, ProbePlan]:
    """Return the probe plans of a script's joins, from declared rates and sampled keys."""
    names = [name for name, step in plan.steps.items() if isinstance(step, Join)]
    streams = {port.stream for name in names for port in plan.join(name).ports}
    samples = {name: sampled(script.streams[name], script.folder) for name in sorted(streams)}
    found = {}
    for name in names:
        ports = plan.join(name).ports
        each = planned(plan, name, [samples[port.stream] for port in ports], [SPAN_S] * len(ports))
        if each is not None:
            found[name] = each
    return found


def described(plan: ProbePlan, *, optimize: bool) -> dict[str, Any]:
    """Return one join as JSON, in the form of a run's summary."""
    return asdict(plan.summarized(plan.best if optimize else plan.written, plan.utilization))


def measured_joins(file: Path) -> Mapping[str, Any]:
    """Return the joins that a run measured, from the summary that `penstock run --json` printed."""
    if file.stat().st_size > LARGEST_FILE:
        raise RunError(f"{file} is too large to be the summary of a run")
    try:
        return {name: _read(join) for name, join in json.loads(file.read_text())["joins"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RunError(f"{file} is not a summary printed by `penstock run --json`") from None


def _read(join: Mapping[str, Any]) -> dict[str, Any]:
    """Return a join of a summary; raise if a key is missing or has the wrong type."""
    streams = join["orders"].keys()
    found: dict[str, Any] = {key: float(join[key]) for key in ("utilization", "at_best", "as_written")}
    for key in ("orders", "best", "written"):
        found[key] = {stream: [str(each) for each in join[key][stream]] for stream in streams}
    found["rates"] = {stream: float(join["rates"][stream]) for stream in streams}
    found["selectivities"] = {pair: float(share) for pair, share in join["selectivities"].items()}
    return found


def shown(name: str, join: Mapping[str, Any]) -> RenderableType:
    """Return the orders of one join as a table, with their predicted utilisation."""
    table = Table(title=f"{name}: which windows a row probes, in order", box=SIMPLE_HEAD, **COMPACT)
    for header in ("a row of", "rows/s", "the optimizer's", "as written"):
        table.add_column(header, justify="right" if header == "rows/s" else "left", overflow="fold")
    for stream, order in join["best"].items():
        written = join["written"][stream]
        other = Text(", ".join(written)) if written != order else Text("the same", style="dim")
        table.add_row(stream, rate(join["rates"][stream]), ", ".join(order), other)
    takes = Text.assemble(
        "predicted utilisation: ",
        (f"{100 * join['at_best']:.3g} % of a processor", "bold"),
        f", {100 * join['as_written']:.3g} % as written",
    )
    pairs = ", ".join(f"{pair.replace(',', '–')} {share:.3g}" for pair, share in join["selectivities"].items())
    return Group(table, takes, Text(f"selectivities: {pairs or 'none: a product'}", style="dim"))
