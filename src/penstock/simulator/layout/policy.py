"""A policy on a network as arrays: its units, their runs, and the structure that finds the best of them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from penstock.errors import PolicyError
from penstock.network import Edge
from penstock.policies import Policy, Unit, units_of
from penstock.policies.policy import TURNS
from penstock.policies.turns import turns_each
from penstock.simulator.compiled import records
from penstock.simulator.compiled.bundles import (
    PlanArrays,
    PolicyCodes,
    Ranking,
    TermArrays,
    TurnArrays,
    UnitArrays,
    WorkArrays,
)
from penstock.simulator.compiled.records import NOBODY, NONE, Floats, Ints, Records
from penstock.simulator.compiled.terms import FEATURES, program
from penstock.simulator.compiled.tournament import PLACE_BITS
from penstock.simulator.layout.lists import Lists, floats_of, ints_of, records_of, span
from penstock.simulator.layout.network import Wiring

FACTOR_CODES = {"age": records.AGE, "length": records.LENGTH, TURNS: records.TURNS}
TIE_CODES = {"oldest": records.OLDEST, "static": records.STATIC}


class PolicyLayout:
    """A policy on that network: its units as arrays, and the structure that finds the best of them."""

    def __init__(
        self, wiring: Wiring, policy: Policy, lists: Lists, *, adaptive: bool, decides: bool,
        setup: bool, by_scan: bool,
    ) -> None:  # fmt: skip
        self.wiring, self.net, self.policy = wiring, wiring.net, policy
        self.found = units_of(self.net, policy)
        self.changes = adaptive or policy.clairvoyant
        self._check(adaptive)
        static = floats_of(unit.static for unit in self.found)
        group = np.unique(-static, return_inverse=True)[1].astype(np.int64)
        self.order = np.lexsort((np.arange(len(static)), -static)).astype(np.int64)
        self.lists = lists
        self.step_rows: list[dict[str, Any]] = []
        self.entry_rows: list[dict[str, Any]] = []
        numbers, members = self._clusters(group, decides)
        paths = [path for unit in self.found for path in unit.path_features]
        self.units = records_of(records.UNIT, self._units(static, group, numbers, adaptive))
        self.entries = records_of(records.ENTRY, self.entry_rows)
        self.steps = records_of(records.STEP, self.step_rows)
        self.served: list[list[int]] = [[] for _ in self.net.edges]
        for place, unit in enumerate(self.found):
            for entry in unit.entries:
                self.served[wiring.edge[entry]].append(place)
        self.doors = records_of(records.DOOR, (span("unit", lists.add(units)) for units in self.served))
        self.holders = records_of(records.CROWD, (span("unit", lists.add(units)) for units in self._turns()))
        each = turns_each(self.net, policy, self.found) if len(self.holders) else []
        self.holders["turns"] = each
        self.weighs_turns = any(turns != 1 for turns in each)
        self.clusters = records_of(records.CROWD, (span("unit", lists.add(units)) for units in members))
        self.factors = ints_of(FACTOR_CODES[factor] for factor in policy.factors)
        self.ties = ints_of(TIE_CODES[rule] for rule in policy.tie if rule in TIE_CODES)
        self.gain = program(policy.gain if self.changes else None)
        self.cost = program(policy.cost if self.changes else None)
        self.path_query = ints_of(self.net.query_place[path.query] for path in paths)
        self.features = _features(paths)
        self.whole = _features([unit.whole for unit in self.found])
        self.made = np.zeros(len(paths))
        below: list[list[int]] = [[] for _ in self.net.operators]
        for place, unit in enumerate(self.found if adaptive else ()):
            for edge in self._route(unit):
                below[wiring.operator[edge.target]].append(place)
        self.below_from = np.cumsum([0, *map(len, below)], dtype=np.int64)
        self.below = ints_of(place for places in below for place in places)
        positive = bool((static > 0).all()) and not self.changes
        self.chooser = self._chooser(static, setup, by_scan)
        self.by_age = policy.factors == ("age",) and positive
        self.sweeps = max(1, *each) if each else 1
        self.codes = PolicyCodes(
            every=policy.oldest_every or 0,
            together=policy.clusters is not None and policy.clusters.together,
            oracle=policy.clairvoyant,
            minds_setup=policy.minds_overhead,
            by_length="length" in policy.factors or policy.clairvoyant or setup,
        )
        words = -(-max(len(self.found), len(self.holders), 1) // 64)
        self.bits = np.zeros(words, np.uint64)
        self.summary = np.zeros(-(-words // 64), np.uint64)

    def _check(self, adaptive: bool) -> None:
        policy = self.policy
        if policy.clairvoyant and any(operator.windows for operator in self.net.operators):
            raise PolicyError(
                f"policy {policy.name!r} foresees the results of a tuple, which is impossible at a window join: "
                "they depend on what is served before"
            )
        if policy.clairvoyant and self.net.panes:
            raise PolicyError(
                f"policy {policy.name!r} foresees the results of a tuple, which is impossible at an aggregate "
                "over windows: a partial row stands for many tuples"
            )
        shared = any(len(paths) > 1 for paths in self.net.suffixes.values())
        joins = any(operator.windows for operator in self.net.operators) or bool(self.net.panes)
        if adaptive and (policy.unit != "path" or policy.clusters or policy.clairvoyant or shared or joins):
            raise PolicyError(
                "adaptive statistics are for policies that rank paths, on networks that share no operators and "
                f"have no windows; {policy.name!r} on this network is not such a case"
            )

    def _units(
        self, static: Floats, group: Ints, numbers: Sequence[int], adaptive: bool
    ) -> Iterable[dict[str, Any]]:
        paths = 0
        by_turns = TURNS in self.policy.factors
        for place, unit in enumerate(self.found):
            first = len(self.entry_rows)
            known: dict[Edge, int] = {}
            through = unit.through - self.wiring.blocking
            for entry in unit.entries:
                step = self._step(entry, through, known)
                self.entry_rows.append(
                    {"edge": self.wiring.edge[entry], "step": step, "foresight": self._foresight(unit, entry)}
                )
            route = [self.wiring.edge[edge] for edge in self._route(unit)] if adaptive else []
            yield {
                "static": static[place],
                "cost": np.nan if unit.cost is None else unit.cost,
                "rank": static[place],
                "cluster": numbers[place],
                "group": group[place],
                "entry_from": first,
                "entry_to": len(self.entry_rows),
                "path_from": paths,
                "path_to": paths + len(unit.path_features),
                **span("route", self.lists.add(route)),
                **span("holder", self.lists.add(unit.holders if by_turns else ())),
            }
            paths += len(unit.path_features)

    def _route(self, unit: Unit) -> tuple[Edge, ...]:
        """The queues on the only path of a unit."""
        return self.net.suffixes[unit.entries[0]][0].edges

    def _step(self, edge: Edge, through: frozenset[Edge], known: dict[Edge, int]) -> int:
        """Return the step of a queue: its operator, then the queues in `through`; results wait in the others."""
        if edge not in known:
            known[edge] = len(self.step_rows)
            step: dict[str, Any] = {"edge": self.wiring.edge[edge]}
            self.step_rows.append(step)
            onward = self.net.out_edges.get(edge.target, ())
            children = [self._step(each, through, known) for each in onward if each in through]
            step |= span("child", self.lists.add(children))
            step |= span("wait", self.lists.add(self.wiring.edge[e] for e in onward if e not in through))
        return known[edge]

    def _foresight(self, unit: Unit, entry: Edge) -> int:
        """Return the first step of an oracle: on to the roots that the unit is ranked by."""
        if not self.policy.clairvoyant:
            return NONE
        queries = {path.query for path in unit.path_features}
        onward = {edge for path in self.net.suffixes[entry] if path.query in queries for edge in path.edges}
        return self._step(entry, frozenset(onward), {})

    def _turns(self) -> list[list[int]]:
        """The units of each holder, where policies take turns."""
        if TURNS not in self.policy.factors:
            return []
        count = len(self.found) if self.policy.turn_of == "unit" else len(self.net.queries)
        held: list[list[int]] = [[] for _ in range(count)]
        for place, unit in enumerate(self.found):
            for holder in unit.holders:
                held[holder].append(place)
        return held

    def _clusters(self, group: Ints, decides: bool) -> tuple[list[int], list[list[int]]]:
        """The cluster of each unit; where candidates are counted without clusters, every unit is one."""
        if self.policy.clusters is None and not decides:
            return [NONE] * len(self.found), []
        given = [unit.cluster for unit in self.found if unit.cluster is not None]
        numbers = np.unique(given or -np.argsort(self.order), return_inverse=True)[1].tolist()
        members: list[list[int]] = [[] for _ in range(max(numbers, default=0) + 1)]
        for place, number in enumerate(numbers):
            members[number].append(place)
        return numbers, members

    def _chooser(self, static: Floats, setup: bool, by_scan: bool) -> int:
        policy = self.policy
        if TURNS in policy.factors:
            is_cycle = policy.factors == (TURNS,) and not by_scan and not self.weighs_turns
            return records.CYCLE if is_cycle else records.SCAN
        if by_scan:
            return records.LINES
        alike = policy.factors == ("age",) and len(np.unique(static)) == 1 and static[0] > 0
        fits = len(static) < 1 << PLACE_BITS
        if (policy.factors and not alike) or self.changes or (setup and policy.minds_overhead) or not fits:
            return records.KINETIC
        return records.ORDER

    def reach(self, edges: set[int]) -> None:
        """Add the queues that this policy fills, where those in `edges` may be filled."""
        waits = [self.lists.numbers[step["wait_from"] : step["wait_to"]] for step in self.step_rows]
        children = [self.lists.numbers[step["child_from"] : step["child_to"]] for step in self.step_rows]
        todo = [
            entry["step"]
            for edge in edges
            for unit in self.served[edge]
            for entry in self.entry_rows[self.units["entry_from"][unit] : self.units["entry_to"][unit]]
        ]
        seen = set(todo)
        while todo:
            step = todo.pop()
            filled = [edge for edge in waits[step] if edge not in edges]
            edges.update(filled)
            onward = [
                entry["step"]
                for edge in filled
                for unit in self.served[edge]
                for entry in self.entry_rows[self.units["entry_from"][unit] : self.units["entry_to"][unit]]
            ]
            new = [s for s in (*children[step], *onward) if s not in seen]
            seen.update(new)
            todo.extend(new)

    def settle(self, edges: set[int]) -> None:
        """Allocate the search structure for the units that can ever have work."""
        active = {unit for edge in edges for unit in self.served[edge]}
        self.unit_at = ints_of(unit for unit in self.order.tolist() if unit in active)
        self.units["place"][self.unit_at] = np.arange(len(self.unit_at))
        base = max(len(self.unit_at), 2)  # a tournament needs no power of two
        self.tree = np.zeros(2 * base, records.LEAF)
        self.tree["unit"], self.tree["until"] = NONE, np.inf
        self.keys = np.full(2 * base, NOBODY, np.int64)
        self.scratch = np.empty(len(FEATURES))
        self.stack = np.empty(2 * base + len(self.found) + 64, np.int64)
        self.changed, self.chosen = (
            np.empty(len(self.found) + 1, np.int64),
            np.empty(len(self.found) + 1, np.int64),
        )

    def arrays(self, time: Floats, lists: Ints) -> PlanArrays:
        """Return the arrays for compiled code."""
        return PlanArrays(
            UnitArrays(self.units, self.unit_at, self.entries, self.steps, self.doors, self.clusters),
            self.ranking(self.units, time),
            self.turns(lists),
            TermArrays(
                self.path_query, self.features, self.whole, self.gain, self.cost, self.made, self.below_from,
                self.below, self.scratch,
            ),
            WorkArrays(self.stack, self.changed, self.chosen),
            self.codes,
        )  # fmt: skip

    def ranking(self, units: Records, time: Floats) -> Ranking:
        """Return the arrays of the search, among units or lanes."""
        return Ranking(self.chooser, self.by_age, units, self.factors, self.ties, self.tree, self.keys, time)

    def turns(self, lists: Ints) -> TurnArrays:
        """Return the holders of turns."""
        return TurnArrays(self.holders, lists, self.bits, self.summary, self.sweeps)


def _features(paths: Sequence[object]) -> Floats:
    rows = [[float(getattr(path, name)) for name in FEATURES] for path in paths]
    return np.array(rows, np.float64).reshape(len(rows), len(FEATURES))
