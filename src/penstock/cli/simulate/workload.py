"""The workload of `penstock simulate`: a network from a file or a population, and its arrivals."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path

import numpy as np
import typer

from penstock.cli.simulate.network_file import network_from
from penstock.cli.simulate.screen import AGGREGATES, OTHERS
from penstock.errors import ArrivalError, RunError, nearest
from penstock.network import Network
from penstock.workloads import POPULATIONS, Arrivals, Bursty, Flows, Poisson, Redrawn, Times, Trace, take, until
from penstock.workloads import population as built
from penstock.workloads.populations.population import first, scaled
from penstock.workloads.timefile import TimeFile

PROCESSES: dict[str, type[Poisson | Bursty | Flows | Redrawn]] = {
    "poisson": Poisson,
    "bursty": Bursty,
    "flows": Flows,
    "redrawn": Redrawn,
}
BYTES_A_TUPLE = 100
"""Approximate memory that an arrival takes from being drawn to being simulated."""


@dataclass(frozen=True)
class SimulatedWorkload:
    """A network and its arrivals, which come `speed` times as fast as the processes have them."""

    name: str
    network: Network
    arrivals: Mapping[str, Arrivals]
    classes: Mapping[str, str] = field(default_factory=dict)
    blocking: bool = False
    note: str = ""
    relative: bool = False
    """Whether costs are only relative to each other, and the load determines them in seconds."""
    speed: float = 1.0

    def with_arrivals(self, arrivals: Mapping[str, Arrivals]) -> "SimulatedWorkload":
        """Return the workload with other processes for some streams; their rates replace those of the network."""
        rates = {name: process.rate for name, process in arrivals.items() if process.rate is not None}
        return replace(self, network=self.network.measured(rates=rates), arrivals={**self.arrivals, **arrivals})

    def with_load(self, load: float) -> "SimulatedWorkload":
        """Return the workload with all costs multiplied by one factor, so that its load is `load`."""
        return replace(self, network=scaled(self.network, load))

    def with_rate(self, rate: float) -> "SimulatedWorkload":
        """Return the workload with arrivals sped up or slowed down to `rate` per second on all streams."""
        rates = {stream.name: stream.rate for stream in self.network.streams}
        for name, known in rates.items():
            if known is None:
                raise ArrivalError(f"--rate cannot change the arrivals of stream {name!r}: they have no rate")
        speed = rate / float(sum(known for known in rates.values() if known))
        faster = self.network.measured(rates={name: known * speed for name, known in rates.items() if known})
        return replace(self, network=faster, speed=self.speed * speed)

    def times(self, seed: int, count: int | None, seconds: float | None) -> dict[str, Times]:
        """Return the first `count` arrivals of all streams together or, with `seconds`, those before that time.

        Seeds are those of `Population.times`, so that a population's arrivals are the same here and there.
        """
        seeds = [
            int(np.random.SeedSequence((seed, i)).generate_state(1, np.uint64)[0])
            for i in range(len(self.arrivals))
        ]
        runs = [(*each, own) for each, own in zip(self.arrivals.items(), seeds, strict=True)]
        self._check_room(count, seconds)
        if seconds is not None:
            return {name: until(process, own, seconds * self.speed) / self.speed for name, process, own in runs}
        wanted = count or 0
        return first({name: take(process, own, wanted) / self.speed for name, process, own in runs}, wanted)

    def _check_room(self, count: int | None, seconds: float | None) -> None:
        """Raise if the arrivals would not fit into memory, before they are drawn."""
        tuples = 0.0
        for process in self.arrivals.values():
            drawn = float(count or 0) if seconds is None else (process.rate or 0) * self.speed * seconds
            tuples += min(drawn, process.count) if isinstance(process, Trace) else drawn
        room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
        if tuples * BYTES_A_TUPLE > room:
            raise RunError(
                f"about {tuples:,.0f} arrivals would take {tuples * BYTES_A_TUPLE / 2**30:,.1f} GiB, but only "
                f"{room / 2**30:,.1f} GiB are free: reduce --tuples or --seconds"
            )


def workload_named(given: str, *, load: float | None, queries: int | None, seed: int) -> SimulatedWorkload:
    """Return the network of a file, or the population of that name."""
    if given in POPULATIONS:
        return _population(given, load, queries, seed)
    if not Path(given).is_file():
        raise typer.BadParameter(_missing(given), param_hint="NETWORK")
    if queries is not None:
        raise typer.BadParameter(
            "only for sclp08 and its variants; the queries of a file are fixed", param_hint="--queries"
        )
    network = network_from(Path(given))
    return SimulatedWorkload(Path(given).name, network, {}, kinds_of(network))


def kinds_of(network: Network) -> dict[str, str]:
    """Return which queries have aggregates over windows, and which have not; nothing if none has."""
    if not network.panes:
        return {}
    closes = {edge.target for edge in network.window_work}
    windowed = {path.query for path in network.paths if not closes.isdisjoint(edge.target for edge in path.edges)}
    return {query.name: AGGREGATES if query.name in windowed else OTHERS for query in network.queries}


def _population(name: str, load: float | None, queries: int | None, seed: int) -> SimulatedWorkload:
    settings: dict[str, object] = {"seed": seed} | ({} if load is None else {"load": load})
    if queries is not None:
        if "queries" not in signature(POPULATIONS[name]).parameters:
            raise typer.BadParameter(f"the queries of population {name!r} are fixed", param_hint="--queries")
        settings["queries"] = queries
    found = built(name, **settings)
    return SimulatedWorkload(
        name, found.network, found.arrivals, found.classes, found.blocking, found.note, relative=True
    )


def _missing(given: str) -> str:
    if Path(given).is_dir():
        return f"{given} is a folder, not a network file"
    if Path(given).suffix or os.sep in given:
        return f"there is no file {given}"
    return f"there is no file or population {given!r}.{nearest(given, POPULATIONS)} --list shows the populations"


def with_processes(
    work: SimulatedWorkload, traces: Sequence[str], column: str | None, process: str | None
) -> SimulatedWorkload:
    """Return the workload with the arrivals of the options; other streams get Poisson arrivals at their rate."""
    streams = work.network.stream_by_name
    chosen: dict[str, Arrivals] = {}
    if process is not None and process not in PROCESSES:
        raise typer.BadParameter(
            f"{process!r} is not one of {', '.join(PROCESSES)}.{nearest(process, PROCESSES)}",
            param_hint="--arrivals",
        )
    files = _files(traces, streams)
    for name, stream in streams.items():
        if name in files:
            chosen[name] = _trace(files[name], column)
        elif process is not None or name not in work.arrivals:
            if stream.rate is None:
                raise ArrivalError(
                    f"stream {name!r} has no rate: give it one in the network file, or --trace {name}=FILE"
                )
            chosen[name] = PROCESSES[process or "poisson"](float(stream.rate))
    own_load = work.network.load
    changed = work.with_arrivals(chosen)
    if work.relative and chosen and own_load:
        return changed.with_load(float(own_load))
    return changed


def _files(traces: Sequence[str], streams: Mapping[str, object]) -> dict[str, str]:
    """Return the trace of each stream; one given without a stream is for all that have none of their own."""
    named: dict[str, str] = {}
    for given in traces:
        name, sign, file = given.partition("=")
        if sign and name not in streams and not Path(given).is_file():
            there = nearest(name, streams) or f" There are {', '.join(streams)}."
            raise typer.BadParameter(f"there is no stream {name!r} in the network.{there}", param_hint="--trace")
        for each in [name] if sign and name in streams else ["*"]:
            if each in named:
                whose = "for every stream" if each == "*" else f"for stream {each!r}"
                raise typer.BadParameter(f"there are two traces {whose}", param_hint="--trace")
            named[each] = file if each != "*" else given
    common = named.pop("*", None)
    return (dict.fromkeys(streams, common) if common is not None else {}) | named


def _trace(file: str, column: str | None) -> Trace:
    try:
        TimeFile.found(file, column)
    except ArrivalError as error:
        raise typer.BadParameter(str(error), param_hint="--trace") from error
    return Trace(file, column)
