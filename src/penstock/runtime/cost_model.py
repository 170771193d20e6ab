"""The cost model: what jobs, units, windows and rows cost, and selectivities, learnt from finished jobs."""

from collections import deque
from collections.abc import Iterable, Mapping
from statistics import geometric_mean
from typing import Any

import numpy as np
import scipy  # its part `optimize` is loaded on first use

from penstock.network import Network, Number, Operator
from penstock.plan.moving_average import moving_average
from penstock.runtime.work import Outcome

SETUP_S, UNIT_S, WINDOW_ROW_S = 0.05, 0.02, 1e-6
"""Seconds of a job, of each of its units, and of each row of a window it reads, until measured."""
RECENT = 32
"""Jobs from which that is estimated."""
ESTIMATED_EVERY = 5
_WEIGHT = 0.1
"""Weight of the assumed values, where a job has 1; squared, a hundredth."""
_LEAST_COST = 1e-9
_LEAST_SELECTIVITY = 1e-6


class CostModel:
    """The cost of serving n rows: c0 + b + w·window + n·cost (DESIGN §1), learnt from the jobs that ran."""

    def __init__(self) -> None:
        self.setup_s, self.unit_s, self.window_row_s = SETUP_S, UNIT_S, WINDOW_ROW_S
        self.pace = 1.0
        """Time of rows in recent jobs, divided by their expected time."""
        self.jobs = 0
        self.busy_s = 0.0
        self.jobs_overhead_s = 0.0
        """Time of all jobs in addition to their rows, as far as known."""
        self.window_rows: dict[str, float] = {}
        """Rows that a probe of each join reads on average."""
        self.window_parts: dict[str, float] = {}
        """Partial aggregates of which a window of each operator consists, on average: its cost is by them."""
        self._recent: deque[tuple[float, float, float, float]] = deque(maxlen=RECENT)
        self._costs: dict[str, tuple[float, ...]] = {}
        """Seconds per row, for each input of an operator."""
        self._ran: set[tuple[str, int]] = set()
        """Inputs of operators that have run. The first run measures Spark's compiler more than the rows."""
        self._selectivities: dict[str, float] = {}
        self._chunk_rows = 0.0

    def snapshot(self) -> dict[str, Any]:
        """Return what was learnt, as JSON has it."""
        return {
            "totals": [self.jobs, self.busy_s, self.jobs_overhead_s, self._chunk_rows],
            "overheads": [self.setup_s, self.unit_s, self.window_row_s, self.pace],
            "window_rows": self.window_rows,
            "window_parts": self.window_parts,
            "recent": list(self._recent),
            "costs": self._costs,
            "ran": sorted(self._ran),
            "selectivities": self._selectivities,
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Continue with what an earlier process learnt."""
        self.jobs, self.busy_s, self.jobs_overhead_s, self._chunk_rows = snapshot["totals"]
        self.setup_s, self.unit_s, self.window_row_s, self.pace = snapshot["overheads"]
        self.window_rows = dict(snapshot["window_rows"])
        self.window_parts = dict(snapshot.get("window_parts", {}))
        self._recent.extend(tuple(job) for job in snapshot["recent"])
        self._costs = {name: tuple(costs) for name, costs in snapshot["costs"].items()}
        self._ran = {(name, place) for name, place in snapshot["ran"]}
        self._selectivities = dict(snapshot["selectivities"])

    def estimate(self) -> None:
        """Estimate c0, b and w from recent jobs, by non-negative least squares of the relative errors.

        What was assumed at first counts a little, like a hundredth of a job: so what the jobs do not tell apart,
        as c0 and b where all have one unit, is shared out as was assumed.
        """
        if not self.is_measured:
            return
        units, window_rows, work, seconds = np.array(self._recent).T
        assumed = np.array([SETUP_S, UNIT_S, WINDOW_ROW_S, 1.0])
        seen = np.stack([np.ones(len(seconds)), units, window_rows, work], axis=1) * assumed / seconds[:, None]
        found, _ = scipy.optimize.nnls(
            np.concatenate([seen, np.eye(4) * _WEIGHT]), np.concatenate([np.ones(len(seconds)), [_WEIGHT] * 4])
        )
        self.setup_s, self.unit_s, self.window_row_s, self.pace = (
            max(float(each), 1e-12) for each in found * assumed
        )

    @property
    def is_measured(self) -> bool:
        """Whether enough jobs have run to know the cost of one."""
        return len(self._recent) >= ESTIMATED_EVERY

    @property
    def chunk_rows(self) -> float:
        """Mean number of rows a job took."""
        return max(self._chunk_rows, 1.0)

    def overhead_s(self, window_rows: float) -> float:
        """Return the cost of a job with one unit before its first row: c0 + b + w·window."""
        return self.setup_s + self.unit_s + self.window_row_s * window_rows

    def record(self, network: Network, outcome: Outcome, rows: int, seconds: float, units: int = 1) -> None:
        """Learn from a job: selectivities from its counts, costs from its time, divided by expected times."""
        self.jobs += 1
        self.busy_s += seconds
        self._chunk_rows = rows if self.jobs == 1 else moving_average(self._chunk_rows, rows)
        known = network.operator_by_name
        work = {name: taken for name, taken in outcome.taken.items() if taken and name in known}
        for name, taken in work.items():
            fanout = outcome.made[name] / taken
            self._selectivities[name] = moving_average(self._selectivities.get(name, fanout), fanout)
        inputs = {name: _served(name, outcome.ports.get(name)) for name in work}
        thought = sum(_seconds(known[name], taken, outcome.ports.get(name)) for name, taken in work.items())
        seconds = max(seconds, 1e-6)
        self._recent.append((units, outcome.window_rows, thought, seconds))
        if self.jobs % ESTIMATED_EVERY == 0:
            self.estimate()
        overhead = self.overhead_s(outcome.window_rows) + (units - 1) * self.unit_s
        self.jobs_overhead_s += overhead
        spent = max(seconds - overhead, _LEAST_COST)
        if thought > 0 and self.is_measured:  # else the cost of the job would be attributed to its rows
            ratio = min(max(spent / thought, 0.1), 10.0)
            for name in (name for name, some in inputs.items() if some <= self._ran):
                before = tuple(map(float, known[name].costs))
                found = list(self._costs.get(name, before))
                by_input = outcome.ports.get(name)
                for place, cost in enumerate(before):
                    if by_input is None or by_input[place]:
                        found[place] = moving_average(found[place], max(cost * ratio, _LEAST_COST))
                self._costs[name] = tuple(found)
        self._ran.update(*inputs.values())

    def probed(self, join: str, window_rows: int) -> None:
        """Learn how many rows a probe of a join reads."""
        self.window_rows[join] = moving_average(self.window_rows.get(join, window_rows), window_rows)

    def closed(self, name: str, windows: int, parts: int) -> None:
        """Learn from how many partial aggregates windows are merged."""
        found = parts / windows
        self.window_parts[name] = moving_average(self.window_parts.get(name, found), found)

    def expect(self, name: str, costs: Iterable[float], fanout: float | None = None) -> None:
        """Assume costs per row of each input of an operator, and a fanout, until they are measured."""
        self._costs[name] = tuple(max(cost, _LEAST_COST) for cost in costs)
        if fanout is not None:
            self._selectivities[name] = fanout

    def of(self, name: str) -> tuple[float, ...] | None:
        """Return the seconds per row of each input of an operator, if known."""
        return self._costs.get(name)

    def selectivity(self, name: str) -> float | None:
        """Return the measured selectivity of an operator."""
        return self._selectivities.get(name)

    def applied(self, network: Network, rates: Mapping[str, float]) -> Network:
        """Return the network with measured costs and selectivities. Joins get their measured fanout."""
        known = network.operator_by_name
        selectivities: dict[str, float] = {}
        read = {stream.name for stream in network.streams}
        rates = {name: rate for name, rate in rates.items() if rate > 0 and name in read}
        if any(operator.kind == "join" for operator in network.operators):
            network = network.measured(rates=rates)
        for name, measured in self._selectivities.items():
            if name not in known:
                continue
            if known[name].kind == "join":
                edges = network.in_edges[name]
                thought = float(sum(network.fanout[edge] for edge in edges)) / len(edges)
                share = float(known[name].selectivity) * max(measured, _LEAST_SELECTIVITY) / max(thought, 1e-12)
                selectivities[name] = max(share, 1e-15)
            else:
                most = 1.0 if known[name].kind in ("select", "project", "aggregate") else float("inf")
                selectivities[name] = min(max(measured, _LEAST_SELECTIVITY), most)
        costs = {name: cost for name, cost in self._costs.items() if name in known}
        by_name: dict[str, Number | tuple[Number, ...]] = {**_expected(known, costs)}
        by_name |= {name: cost if len(cost) > 1 else cost[0] for name, cost in costs.items()}
        network = network.measured(costs=by_name, selectivities=selectivities, rates=rates)
        ideals = {query.name: self.ideal_s(network, query.name) for query in network.queries}
        return network.measured(ideals=ideals)

    def ideal_s(self, network: Network, query: str) -> float:
        """Return the time that a query's unit needs for one average chunk alone: T on Spark (DESIGN §1)."""
        return self.setup_s + self.unit_s + self.chunk_rows * float(network.ideal_times[network.query(query).root])


def _served(name: str, by_input: tuple[int, ...] | None) -> set[tuple[str, int]]:
    """Return the inputs of an operator that had rows; the first, if they are not counted by input."""
    return {(name, place) for place, rows in enumerate(by_input) if rows} if by_input else {(name, 0)}


def _seconds(operator: Operator, rows: int, by_input: tuple[int, ...] | None) -> float:
    """Return the expected time of rows, by their input if known."""
    if by_input is None:
        return rows * float(max(operator.costs))
    return sum(some * float(cost) for some, cost in zip(by_input, operator.costs, strict=True))


def _expected(known: Mapping[str, Operator], costs: Mapping[str, tuple[float, ...]]) -> dict[str, float]:
    """Return expected costs of operators that were not measured: the geometric mean of their kind.

    With the arithmetic mean, a few expensive ones would make all others look expensive.
    """
    by_kind: dict[str, list[float]] = {}
    for name, cost in costs.items():
        by_kind.setdefault(known[name].kind, []).append(geometric_mean(cost))
    usual = {kind: geometric_mean(measured) for kind, measured in by_kind.items()}
    return {name: usual[operator.kind] for name, operator in known.items() if operator.kind in usual}
