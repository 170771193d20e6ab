"""From a network and a policy to the flat arrays that compiled code works on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.errors import NetworkError, PolicyError
from penstock.network import Edge, Network
from penstock.policies import Policy, Unit, units_of
from penstock.policies.policy import TURNS
from penstock.policies.turns import turns_each
from penstock.simulator.attributes import Attributes
from penstock.simulator.compiled import records
from penstock.simulator.compiled.bundles import (
    ArrivalArrays,
    LaneArrays,
    NetworkArrays,
    PlanArrays,
    PolicyCodes,
    RankArrays,
    Ranking,
    TermArrays,
    TurnArrays,
    UnitArrays,
    WorkArrays,
)
from penstock.simulator.compiled.fates import bar, salts
from penstock.simulator.compiled.records import NOBODY, NONE, Floats, Ints, Records
from penstock.simulator.compiled.terms import FEATURES, program
from penstock.simulator.compiled.tournament import PLACE_BITS

FACTOR_CODES = {"age": records.AGE, "length": records.LENGTH, TURNS: records.TURNS}
TIE_CODES = {"oldest": records.OLDEST, "static": records.STATIC}


class Lists:
    """The one array in which lists of numbers stand behind each other.

    >>> lists = Lists()
    >>> lists.add([5, 6]), lists.add([]), lists.add([7]), lists.array.tolist()
    ((0, 2), (2, 2), (2, 3), [5, 6, 7])
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def add(self, numbers: Iterable[int]) -> tuple[int, int]:
        """Put a list behind the others, and return where it begins and ends."""
        start = len(self.numbers)
        self.numbers.extend(numbers)
        return start, len(self.numbers)

    @property
    def array(self) -> Ints:
        """All of them."""
        return np.array(self.numbers, np.int64)


class Feed:
    """What arrives: tuples are numbered in its order, across streams in the order of the network."""

    def __init__(self, net: Network, times: Mapping[str, Floats], attributes: Attributes | None) -> None:
        each = [times.get(stream.name, np.empty(0)) for stream in net.streams]
        together = np.concatenate([np.empty(0), *each])
        order = np.argsort(together, kind="stable")
        self.time: Floats = together[order]
        self.stream: Ints = np.repeat(np.arange(len(each)), [len(part) for part in each])[order].astype(np.int64)
        self.numbers: Ints = np.argsort(self.stream, kind="stable").astype(np.int64)
        """The numbers of the first stream's tuples, then those of the second, …"""
        self.start = np.cumsum([0, *(len(part) for part in each)], dtype=np.int64)
        self.values: Floats = np.empty((len(together), 0))
        if attributes is not None:
            self.values = np.zeros((len(together), attributes.columns))
            for place, name in enumerate(net.stream_by_name):
                if name in attributes.values:
                    own = self.numbers[self.start[place] : self.start[place + 1]]
                    self.values[own, : attributes.values[name].shape[1]] = attributes.values[name]

    @property
    def arrays(self) -> ArrivalArrays:
        """All of it for compiled code."""
        return ArrivalArrays(self.time, self.stream, self.numbers, self.values)


class Wiring:
    """The network as arrays; queues and windows are empty."""

    def __init__(
        self, net: Network, feed: Feed, lists: Lists, seed: int, blocking: bool, attributes: Attributes | None
    ) -> None:
        self.net = net
        self.edge = {edge: place for place, edge in enumerate(net.edges)}
        self.operator = {operator.name: place for place, operator in enumerate(net.operators)}
        self.stream = {stream.name: place for place, stream in enumerate(net.streams)}
        self.blocking = {edge for edge in net.edges if blocking and net.operator_by_name[edge.target].windows}
        self.blocked = _ints(self.edge[edge] for edge in self.blocking)
        self.ideal = _floats(net.T(query.name) for query in net.queries)
        streams = (self._stream(place, feed, lists) for place in range(len(net.streams)))
        self.streams = _records(records.STREAM, streams)
        self.edges = _records(records.EDGE, (self._edge(edge, lists) for edge in net.edges))
        predicates = attributes.predicates if attributes else {}
        operators = (self._operator(operator.name, lists, predicates) for operator in net.operators)
        self.operators = _records(records.OPERATOR, operators)
        self.operators["salt"] = salts(seed, len(net.operators))

    def arrays(self, lists: Ints) -> NetworkArrays:
        """Return all of it for compiled code."""
        return NetworkArrays(self.streams, self.edges, self.operators, self.ideal, self.blocked, lists)

    def _stream(self, place: int, feed: Feed, lists: Lists) -> dict[str, Any]:
        stream = self.net.streams[place]
        leaves = self.net.out_edges.get(stream.name, ())
        leaf_from, leaf_to = lists.add(self.edge[edge] for edge in leaves)
        start, end = feed.start[place : place + 2]
        return {
            "memory": stream.size * len(leaves),
            "start": start,
            "total": end - start,
            "leaf_from": leaf_from,
            "leaf_to": leaf_to,
        }

    def _edge(self, edge: Edge, lists: Lists) -> dict[str, Any]:
        net, operator = self.net, self.net.operator_by_name[edge.target]
        found = {
            "cost": net.costs[edge],
            "size": net.sizes[edge.source],
            "operator": self.operator[edge.target],
            "stream": self.stream.get(edge.source, NONE),
            "range": np.inf,
            "rows": NOBODY,
            "other": NONE,
            "blocking": edge in self.blocking,
        }
        if not operator.windows:
            return found
        if len(operator.inputs) != 2:
            raise NetworkError(
                f"the simulator joins two inputs at a time, and {operator.name!r} has {len(operator.inputs)}: "
                "write it as a tree of joins"
            )
        if operator.selectivity > 1:
            raise NetworkError(
                f"the selectivity of the window join {operator.name!r} is the share of pairs that match: at most "
                f"1, not {operator.selectivity}"
            )
        window = operator.windows[edge.port]
        if window.kind == "rows" and window.size != int(window.size):
            raise NetworkError(f"a window of join {operator.name!r} holds whole rows, not {window.size}")
        up_from, up_to = lists.add(self._below(edge))
        kind = {"range": window.size} if window.kind == "range" else {"rows": int(window.size)}
        other = self.edge[net.in_edges[edge.target][1 - edge.port]]
        return found | kind | {"other": other, "up_from": up_from, "up_to": up_to}

    def _below(self, edge: Edge) -> list[int]:
        """The queues from which tuples may come through a queue, itself included."""
        reached = [edge]
        for here in reached:
            reached.extend(below for below in self.net.in_edges.get(here.source, ()) if below not in reached)
        return [self.edge[here] for here in reached]

    def _operator(self, name: str, lists: Lists, predicates: Mapping[str, Any]) -> dict[str, Any]:
        operator = self.net.operator_by_name[name]
        whole = records.FILTER if operator.selectivity <= 1 else records.COPIES
        result_from, result_to = lists.add(self.net.query_place[q] for q in self.net.queries_at.get(name, ()))
        return {
            "selectivity": operator.selectivity,
            "estimate": operator.selectivity,
            "low": predicates[name].low if name in predicates else 0.0,
            "column": predicates[name].column if name in predicates else NONE,
            "kind": records.JOIN if operator.windows else whole,
            "result_from": result_from,
            "result_to": result_to,
        }


class Plan:
    """A policy on that network: its units as arrays, and the structure that finds the best of them."""

    def __init__(
        self, wiring: Wiring, policy: Policy, lists: Lists, *, adaptive: bool, decides: bool,
        setup: bool, by_scan: bool,
    ) -> None:  # fmt: skip
        self.wiring, self.net, self.policy = wiring, wiring.net, policy
        self.found = units_of(self.net, policy)
        self.changes = adaptive or policy.clairvoyant
        self._check(adaptive)
        static = _floats(unit.static for unit in self.found)
        group = np.unique(-static, return_inverse=True)[1].astype(np.int64)
        self.order = np.lexsort((np.arange(len(static)), -static)).astype(np.int64)
        self._lists = lists
        self._steps: list[dict[str, Any]] = []
        self._entries: list[dict[str, Any]] = []
        numbers, members = self._clusters(group, decides)
        ways = [way for unit in self.found for way in unit.ways]
        self.units = _records(records.UNIT, self._units(static, group, numbers, adaptive))
        self.entries = _records(records.ENTRY, self._entries)
        self.steps = _records(records.STEP, self._steps)
        self.served: list[list[int]] = [[] for _ in self.net.edges]
        for place, unit in enumerate(self.found):
            for entry in unit.entries:
                self.served[wiring.edge[entry]].append(place)
        self.doors = _records(records.DOOR, (_span("unit", lists.add(units)) for units in self.served))
        self.holders = _records(records.CROWD, (_span("unit", lists.add(units)) for units in self._turns()))
        each = turns_each(self.net, policy, self.found) if len(self.holders) else []
        self.holders["turns"] = each
        self._weighs_turns = any(turns != 1 for turns in each)
        self.clusters = _records(records.CROWD, (_span("unit", lists.add(units)) for units in members))
        self.factors = _ints(FACTOR_CODES[factor] for factor in policy.factors)
        self.ties = _ints(TIE_CODES[rule] for rule in policy.tie if rule in TIE_CODES)
        self.gain = program(policy.gain if self.changes else None)
        self.cost = program(policy.cost if self.changes else None)
        self.way_query = _ints(self.net.query_place[way.query] for way in ways)
        self.features = _features(ways)
        self.whole = _features([unit.whole for unit in self.found])
        self.made = np.zeros(len(ways))
        below: list[list[int]] = [[] for _ in self.net.operators]
        for place, unit in enumerate(self.found if adaptive else ()):
            for edge in self._route(unit):
                below[wiring.operator[edge.target]].append(place)
        self.below_from = np.cumsum([0, *map(len, below)], dtype=np.int64)
        self.below = _ints(place for places in below for place in places)
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
                f"policy {policy.name!r} foresees what a tuple will bring, and at a window join nobody can: "
                "it depends on what else is served before"
            )
        shared = any(len(paths) > 1 for paths in self.net.suffixes.values())
        joins = any(operator.windows for operator in self.net.operators)
        if adaptive and (policy.unit != "path" or policy.clusters or policy.clairvoyant or shared or joins):
            raise PolicyError(
                "adaptive statistics are for policies that rank paths, on networks that share no operators and "
                f"join no streams; {policy.name!r} on this network is not such a case"
            )

    def _units(
        self, static: Floats, group: Ints, numbers: Sequence[int], adaptive: bool
    ) -> Iterable[dict[str, Any]]:
        ways = 0
        by_turns = TURNS in self.policy.factors
        for place, unit in enumerate(self.found):
            first = len(self._entries)
            known: dict[Edge, int] = {}
            through = unit.through - self.wiring.blocking
            for entry in unit.entries:
                step = self._step(entry, through, known)
                self._entries.append(
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
                "entry_to": len(self._entries),
                "way_from": ways,
                "way_to": ways + len(unit.ways),
                **_span("route", self._lists.add(route)),
                **_span("holder", self._lists.add(unit.holders if by_turns else ())),
            }
            ways += len(unit.ways)

    def _route(self, unit: Unit) -> tuple[Edge, ...]:
        """The queues on the only way of a unit."""
        return self.net.suffixes[unit.entries[0]][0].edges

    def _step(self, edge: Edge, through: frozenset[Edge], known: dict[Edge, int]) -> int:
        """Return the step of a queue: its operator, then on into the queues in `through`, the others wait."""
        if edge not in known:
            known[edge] = len(self._steps)
            step: dict[str, Any] = {"edge": self.wiring.edge[edge]}
            self._steps.append(step)
            onward = self.net.out_edges.get(edge.target, ())
            children = [self._step(each, through, known) for each in onward if each in through]
            step |= _span("child", self._lists.add(children))
            step |= _span("wait", self._lists.add(self.wiring.edge[e] for e in onward if e not in through))
        return known[edge]

    def _foresight(self, unit: Unit, entry: Edge) -> int:
        """Return the first step of looking ahead: all the way to the roots that the unit is ranked by."""
        if not self.policy.clairvoyant:
            return NONE
        queries = {way.query for way in unit.ways}
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
        """The cluster of each unit; where candidates are counted without clusters, each is one."""
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
            is_cycle = policy.factors == (TURNS,) and not by_scan and not self._weighs_turns
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
        waits = [self._lists.numbers[step["wait_from"] : step["wait_to"]] for step in self._steps]
        children = [self._lists.numbers[step["child_from"] : step["child_to"]] for step in self._steps]
        todo = [
            entry["step"]
            for edge in edges
            for unit in self.served[edge]
            for entry in self._entries[self.units["entry_from"][unit] : self.units["entry_to"][unit]]
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
                for entry in self._entries[self.units["entry_from"][unit] : self.units["entry_to"][unit]]
            ]
            new = [s for s in (*children[step], *onward) if s not in seen]
            seen.update(new)
            todo.extend(new)

    def settle(self, edges: set[int]) -> None:
        """Make room for the search among the units that can ever have something to do."""
        active = {unit for edge in edges for unit in self.served[edge]}
        self.unit_at = _ints(unit for unit in self.order.tolist() if unit in active)
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
        """Return all of it for compiled code."""
        return PlanArrays(
            UnitArrays(self.units, self.unit_at, self.entries, self.steps, self.doors, self.clusters),
            self.ranking(self.units, time),
            self.turns(lists),
            TermArrays(
                self.way_query, self.features, self.whole, self.gain, self.cost, self.made, self.below_from,
                self.below, self.scratch,
            ),
            WorkArrays(self.stack, self.changed, self.chosen),
            self.codes,
        )  # fmt: skip

    def ranking(self, units: Records, time: Floats) -> Ranking:
        """Return what the search compares, of units or of lanes."""
        return Ranking(self.chooser, self.by_age, units, self.factors, self.ties, self.tree, self.keys, time)

    def turns(self, lists: Ints) -> TurnArrays:
        """Return who takes turns."""
        return TurnArrays(self.holders, lists, self.bits, self.summary, self.sweeps)

    @property
    def numbers(self) -> list[int]:
        """The common array of lists."""
        return self._lists.numbers

    def add(self, numbers: Iterable[int]) -> tuple[int, int]:
        """Put a list behind the others."""
        return self._lists.add(numbers)

    # Lanes --------------------------------------------------------------------------------------------------

    def lanes(self, reached: set[int]) -> "Lanes | None":
        """Return the units as lanes, or None if one of them is not."""
        policy, wiring = self.policy, self.wiring
        if policy.clusters or policy.oldest_every or policy.clairvoyant or policy.saving or wiring.blocking:
            return None
        if self._weighs_turns:
            return None
        served = {edge: self.served[edge][0] for edge in sorted(reached) if len(self.served[edge]) == 1}
        if len(set(served.values())) != len(reached):
            return None
        return Lanes.of(self, served)

    def row(self, unit: int, edge: int) -> tuple[list[int], int, int] | None:
        """Return the queues a tuple from `edge` passes in a run, where it waits then, and its query if it ends.

        None if it does not pass a row of operators.
        """
        first, last = self.units[unit]["entry_from"], self.units[unit]["entry_to"]
        step = next(entry["step"] for entry in self._entries[first:last] if entry["edge"] == edge)
        passed: list[int] = []
        while True:
            record = self._steps[step]
            passed.append(record["edge"])
            operator = self.wiring.operators[self.wiring.edges[record["edge"]]["operator"]]
            numbers = self._lists.numbers
            children = numbers[record["child_from"] : record["child_to"]]
            waits = numbers[record["wait_from"] : record["wait_to"]]
            results = numbers[operator["result_from"] : operator["result_to"]]
            if operator["kind"] != records.FILTER or operator["column"] != NONE:
                return None
            if len(children) + len(waits) + len(results) != 1:
                return None
            if not children:
                return passed, waits[0] if waits else NONE, results[0] if results else NONE
            step = children[0]


class Lanes:
    """The units of a plan as lanes, their operators behind each other, and the streams that fill them.

    Lanes stand in the order of their static part, so that what is served one after the other is close together;
    where they take turns, in their own.
    """

    def __init__(self, plan: Plan, lanes: Records, parts: Records, streams: Records) -> None:
        self.lanes, self.parts, self.streams = lanes, parts, streams
        self.unit_at = np.arange(len(lanes))
        self.links = np.zeros((1024, 2), np.int64)
        self.links[:, 1] = np.arange(1, 1025)
        self.stats = np.zeros((len(lanes), 8))
        self.ranks = self._ranks(plan)
        words = -(-max(len(self.ranks), 1) // 64)
        self.bits = np.zeros(words, np.uint64)
        self.summary = np.zeros(-(-words // 64), np.uint64)
        self.full = np.zeros(words, np.uint64)
        for rank in range(len(self.ranks)):
            self.full[rank >> 6] |= np.uint64(1) << np.uint64(rank & 63)

    def _ranks(self, plan: Plan) -> Records:
        """Lanes of one static part together, where nothing else is needed: one stream, and every lane its leaf."""
        leaves = self.lanes["stream"] != NONE
        if plan.chooser != records.ORDER or len(self.streams) != 1 or not leaves.all():
            return np.zeros(0, records.RANK)
        _, first, count = np.unique(self.lanes["group"], return_index=True, return_counts=True)
        made = np.zeros(len(first), records.RANK)
        made["first"], made["count"] = first, count
        self.tracks = np.zeros(len(self.lanes), records.TRACK)
        for name in ("alone", "part_from", "part_to"):
            self.tracks[name] = self.lanes[name]
        self.tracks["ideal"] = plan.wiring.ideal[self.lanes["query"]]
        self.tracks["row"] = np.arange(len(self.lanes))
        return made

    def arrays(self, plan: Plan) -> LaneArrays:
        """Return them for `run_lanes`."""
        by_length = plan.codes.by_length
        return LaneArrays(self.streams, self.parts, self.unit_at, plan.wiring.ideal, plan.stack, by_length)

    @property
    def rank_arrays(self) -> RankArrays:
        """The same for `run_ranks`."""
        size, memory = float(self.lanes[0]["size"]), float(self.streams[0]["memory"])
        return RankArrays(self.tracks, self.parts, self.ranks, self.bits, self.summary, self.full, size, memory)

    @classmethod
    def of(cls, plan: Plan, served: Mapping[int, int]) -> "Lanes | None":
        """Return the lanes of a plan, given the unit that serves each queue; None if one is not a lane."""
        wiring = plan.wiring
        by_turns = plan.chooser in (records.CYCLE, records.SCAN)
        order = range(len(plan.found)) if by_turns else plan.unit_at.tolist()
        index = {unit: place for place, unit in enumerate(order)}
        found = {unit: (edge, plan.row(unit, edge)) for edge, unit in served.items()}
        if any(row is None for _, row in found.values()):
            return None
        rows: list[dict[str, Any]] = []
        parts: list[tuple[float, int, int]] = []
        spent = dict.fromkeys(served, 0.0)
        for edge, row in found.values():  # from the leaves up: how long a tuple takes alone until it waits there
            after = spent[edge]
            for queue in row[0] if row else ():
                after += wiring.edges[queue]["cost"]
            spent[row[1] if row else edge] = after
        for unit in order:
            edge, row = found.get(unit, (NONE, None))
            if row is None:
                rows.append({"head": NOBODY})
                continue
            passed, waits, query = row
            first = len(parts)
            after = spent[edge]
            for queue in passed:
                operator = wiring.operators[wiring.edges[queue]["operator"]]
                after += wiring.edges[queue]["cost"]
                parts.append((wiring.edges[queue]["cost"], operator["salt"], bar(float(operator["selectivity"]))))
            names = ("static", "rank", "place", "group", "holder_from", "holder_to")
            rows.append(
                {name: plan.units[unit][name] for name in names}
                | {
                    "size": wiring.edges[edge]["size"],
                    "alone": after,
                    "head": NOBODY,
                    "stream": wiring.edges[edge]["stream"],
                    "next": index[served[waits]] if waits != NONE else NONE,
                    "query": query,
                    "part_from": first,
                    "part_to": len(parts),
                }
            )
        streams = wiring.streams.copy()
        for stream in streams:
            leaves = plan.numbers[stream["leaf_from"] : stream["leaf_to"]]
            stream["leaf_from"], stream["leaf_to"] = plan.add(index[served[edge]] for edge in leaves)
        return cls(plan, _records(records.LANE, rows), np.array(parts, records.PART), streams)


def _span(name: str, ends: tuple[int, int]) -> dict[str, int]:
    return {f"{name}_from": ends[0], f"{name}_to": ends[1]}


def _records(kind: np.dtype[Any], rows: Iterable[Mapping[str, Any]]) -> Records:
    """Return records of what is given by name; what is not is 0."""
    given = list(rows)
    made = np.zeros(len(given), kind)
    for name in dict.fromkeys(key for row in given for key in row):
        made[name] = [row.get(name, 0) for row in given]
    return made


def _features(ways: Sequence[object]) -> Floats:
    rows = [[float(getattr(way, name)) for name in FEATURES] for way in ways]
    return np.array(rows, np.float64).reshape(len(rows), len(FEATURES))


def _floats(values: Iterable[Any]) -> Floats:
    return np.array([float(value) for value in values], np.float64)


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int64)
