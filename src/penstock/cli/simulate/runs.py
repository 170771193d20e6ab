"""The runs of `penstock simulate`, and their results as a JSON document."""

import signal
import time
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
from rich.text import Text

from penstock.cli.style import plural
from penstock.network import Network
from penstock.policies import Policy
from penstock.qos import Chosen, Selection

if TYPE_CHECKING:
    from penstock.cli.simulate.workload import SimulatedWorkload
    from penstock.simulator.result import Result
    from penstock.workloads import Times

COMPILING = "compiling the simulator (once, about a minute) …"
SILENT_S = 2.0
"""A run reports every few tenths of a second; after so long without a report, it may be compiling."""

MOST_EVENTS = 5_000_000
"""Tuples in queues of streams up to which every event of a run is kept, for percentiles."""


def keeps_events(work: "SimulatedWorkload", times: Mapping[str, "Times"]) -> bool:
    """Whether every event of a run is kept: where windows close, if there are not too many."""
    events = sum(len(each) * len(work.network.out_edges.get(stream, ())) for stream, each in times.items())
    return bool(work.network.panes) and events <= MOST_EVENTS


def run(
    network: Network,
    times: Mapping[str, "Times"],
    policies: Mapping[str, Policy | Selection],
    options: Mapping[str, Any],
    *,
    hidden: bool,
) -> tuple[dict[str, "Result"], bool]:
    """Simulate policies, and selections among them, one after the other.

    Return the results of those that finished, and whether Ctrl-C interrupted the rest.
    """
    from penstock.simulator.compiled import kernel, lanes
    from penstock.simulator.simulate import simulate

    console = Console(stderr=True)
    compiling = _Compiling((kernel.run, lanes.run_lanes))
    columns = (_Stage(compiling), BarColumn(bar_width=30), MofNCompleteColumn(), TimeElapsedColumn())
    shown = Progress(*columns, console=console, transient=True, disable=hidden or not console.is_terminal)
    found: dict[str, Result] = {}
    with shown as bar, _CtrlC(compiling) as keyboard:
        task = bar.add_task("", total=len(policies), policy="")
        for place, (name, policy) in enumerate(policies.items()):
            bar.update(task, policy=name)
            compiling.begin()

            def heard(share: float, place: int = place) -> None:
                bar.update(task, completed=place + share)
                compiling.end()
                keyboard.check()

            try:
                found[name] = simulate(network, times, policy, progress=heard, **options)
            except KeyboardInterrupt:
                return found, True
            except SystemError as error:  # what numba raises on Ctrl-C inside compiled code
                if not isinstance(error.__cause__, KeyboardInterrupt):
                    raise
                return found, True
    return found, False


class _Compiling:
    """Whether one of the simulator's loops is being compiled, which takes long the first time."""

    def __init__(self, loops: Sequence[Any]) -> None:
        self.loops = loops
        self.since: float | None = None
        self.missing = 0

    def begin(self) -> None:
        """Note that a run begins, which may need a loop that is not compiled yet."""
        self.since, self.missing = time.monotonic(), self._count()

    def end(self) -> None:
        """Note that a run has reported, so its loop is compiled."""
        self.since = None

    def __bool__(self) -> bool:
        silent = self.since is not None and time.monotonic() - self.since > SILENT_S
        return silent and 0 < self.missing == self._count()

    def _count(self) -> int:
        return sum(not getattr(loop, "overloads", True) for loop in self.loops)


class _CtrlC:
    """Defers Ctrl-C until the simulation reports: compiled code does not survive an exception. A second is not."""

    def __init__(self, compiling: _Compiling) -> None:
        self.compiling = compiling
        self.asked = False

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *exception: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def check(self) -> None:
        """Raise if Ctrl-C was pressed."""
        if self.asked:
            raise KeyboardInterrupt

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.asked or self.compiling:
            raise KeyboardInterrupt
        self.asked = True


class _Stage(ProgressColumn):
    """A column with the policy that runs, or a note that the simulator is being compiled."""

    def __init__(self, compiling: _Compiling) -> None:
        self.compiling = compiling
        super().__init__()

    def render(self, task: Task) -> Text:
        """Return the text before the bar."""
        return Text(COMPILING if self.compiling else task.fields["policy"])


def described(
    work: "SimulatedWorkload",
    times: Mapping[str, "Times"],
    runs: Mapping[str, "Result"],
    options: Mapping[str, Any],
    policies: Mapping[str, Policy],
    interrupted: bool,
) -> dict[str, Any]:
    """Return the workload and the results of its runs as a JSON document."""
    network = work.network
    some = [of_stream for of_stream in times.values() if len(of_stream)]
    first, last = min(float(each[0]) for each in some), max(float(each[-1]) for each in some)
    result = next(iter(runs.values()), None)
    return {
        "network": work.name,
        "note": work.note,
        "queries": len(network.queries),
        "operators": len(network.operators),
        "streams": [
            {
                "name": stream.name,
                "rate": None if stream.rate is None else float(stream.rate),
                "arrivals": type(work.arrivals[stream.name]).__name__.lower(),
                "tuples": len(times[stream.name]),
            }
            for stream in network.streams
        ],
        "tuples": sum(map(len, times.values())),
        "seconds": last - first,
        "load": None if network.load is None else float(network.load),
        "load_as_arrived": None if result is None else result.load,
        **options,
        "policies": [_policy(name, each, work.classes, options["weights"]) for name, each in runs.items()],
        "unfinished": [name for name in policies if name not in runs] if interrupted else [],
        "notes": _notes(work, times, runs, options, policies),
    }


def _policy(
    name: str, result: "Result", classes: Mapping[str, str], weights: Mapping[str, float]
) -> dict[str, Any]:
    return {
        "policy": name,
        "name": result.policy,
        "metrics": result.metrics,
        "per_class": _per_class(result, classes),
        "weighed": {query: result.per_query[query] for query in weights},
        "decisions": result.decisions,
        "seconds": result.seconds,
        "elapsed": result.elapsed,
        "chosen": None if result.chosen is None else _chosen(result.chosen),
    }


def _per_class(result: "Result", classes: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Return the metrics of each class, with the 99th percentile of responses if every event was kept."""
    found = result.per_class(classes) if classes else {}
    for name, metrics in found.items() if result.detail is not None else ():
        members = [query for query, its_class in classes.items() if its_class == name]
        longest = result.response_percentile(members, 0.99)
        if longest is not None:
            metrics["p99_response"] = longest
    return found


def _chosen(chosen: Chosen) -> dict[str, Any]:
    return {
        "goals": str(chosen.goals),
        "shares": chosen.shares,
        "switches": chosen.switches,
        "statistics": chosen.values(),
    }


def _notes(
    work: "SimulatedWorkload",
    times: Mapping[str, "Times"],
    runs: Mapping[str, "Result"],
    options: Mapping[str, Any],
    policies: Mapping[str, Policy],
) -> list[str]:
    """Return remarks on how to read the results."""
    from penstock.workloads import Trace

    notes = list(dict.fromkeys(note for result in runs.values() for note in result.notes))
    for stream, process in work.arrivals.items():
        if isinstance(process, Trace) and len(times[stream]) < process.count:
            some = plural(len(times[stream]), "arrival")
            notes.append(f"Stream {stream!r}: the first {some} of the {process.count:,} in {process.path}.")
    saving = [name for name, policy in policies.items() if policy.saving is not None]
    if options["memory"] is not None and not saving:
        notes.append("The memory limit has no effect: none of the policies has a threshold.")
    if options["memory"] is None and any(_is_endless(policies[name]) for name in saving):
        notes.append(f"Without --memory, {', '.join(saving)} never changes its mode: no limit is reached.")
    if runs and not any(result.metrics["outputs"] for result in runs.values()):
        notes.append("No tuple produced a result, so there are no responses and no slowdowns.")
    return notes


def _is_endless(policy: Policy) -> bool:
    return policy.saving is not None and policy.saving.thresholds.memory == float("inf")


def over_time(result: "Result") -> dict[str, list[float | None]]:
    """Return the series of a run as lists; an interval without results has no average."""
    return {
        name: [None if value != value else float(value) for value in values]
        for name, values in result.series.items()
    }
