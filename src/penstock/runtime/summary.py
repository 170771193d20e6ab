"""`Summary`: the state of a run, or its end, as a value for screens, JSON and tests."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Protocol

from penstock.plan.probe_orders import JoinSummary
from penstock.runtime.closings import stream_below
from penstock.runtime.engine import Engine
from penstock.runtime.load_control import SheddingSummary
from penstock.runtime.policy_control import SelectionSummary
from penstock.runtime.rejections import Reason
from penstock.runtime.state import RuntimeState


@dataclass(frozen=True)
class StreamSummary:
    """A stream: rows in, rows rejected, and how long the oldest waiting row has waited.

    Of the `rows`, some are `late`, some `malformed`, some were `dropped` to shed load, the others `kept`. The
    present drop box keeps the share `keep`; `boxes` are all there were: from which number on, which share.
    """

    rows: int
    late: int
    malformed: int
    waiting_rows: int
    waiting_bytes: int
    kept_bytes: int
    lag_s: float
    ended: bool
    held: bool
    """Whether it is not read at the moment, because too much waits."""
    dropped: int = 0
    kept: int = 0
    lost: int = 0
    """Rows of files that vanished or changed before all queries had read them."""
    keep: float = 1.0
    boxes: tuple[tuple[int, float], ...] = ((0, 1.0),)
    derived: bool = False
    """Whether its rows are the results of queries."""
    pane_bytes: int = 0
    """Of `kept_bytes`, those of partial aggregates."""
    reasons: tuple[Reason, ...] = ()
    """Why rows were rejected, the most frequent reasons first, each with a count and an example."""

    @property
    def mostly_rejected(self) -> bool:
        """Whether half of the rows or more were late or malformed."""
        return 0 < self.rows <= (self.late + self.malformed) * 2


@dataclass(frozen=True)
class QuerySummary:
    """A query: the sequence numbers it saw (`end` excluded), its results, and their response and slowdown."""

    status: str
    reason: str
    first: Mapping[str, int]
    end: Mapping[str, int]
    outputs: int
    avg_response: float
    max_response: float
    l2_response: float
    avg_slowdown: float
    max_slowdown: float
    l2_slowdown: float
    recent_response: float
    recent_slowdown: float
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows of its streams that it would have seen, and that were dropped to shed load."""
    scaled: bool = False
    """Whether its counts, sums and averages are scaled for them."""


@dataclass(frozen=True)
class Summary:
    """A run."""

    policy: str
    mode: str
    seconds: float
    jobs: int
    utilization: float
    deciding: float
    """The share of the time spent on decisions: what runs next, what was learnt, what can be released."""
    waiting_rows: int
    waiting_bytes: int
    peak_bytes: int
    abandoned_rows: int
    setup_s: float | None
    stream_seconds: float
    """Seconds of stream time that have come in."""
    demand: float
    """The share of the machine that streams need at their own pace: seconds of jobs per second of stream time."""
    streams: Mapping[str, StreamSummary]
    queries: Mapping[str, QuerySummary]
    joins: Mapping[str, JoinSummary]
    qos: SelectionSummary = field(default_factory=SelectionSummary, kw_only=True)
    """How the policy was chosen."""
    shedding: SheddingSummary | None = field(default=None, kw_only=True)
    """What load shedding predicts; None if it is off or has not sampled yet."""
    pane_bytes: int = field(default=0, kw_only=True)
    """Bytes of partial aggregates in the driver's memory."""
    peak_pane_bytes: int = field(default=0, kw_only=True)

    @property
    def rows_dropped(self) -> int:
        """Rows that were dropped to shed load, all streams together."""
        return sum(stream.dropped for stream in self.streams.values())

    @property
    def rows_in(self) -> int:
        """Rows that came in, all streams together."""
        return sum(stream.rows for stream in self.streams.values() if not stream.derived)

    @property
    def rows_out(self) -> int:
        """Results, all queries together."""
        return sum(query.outputs for query in self.queries.values())

    @property
    def rejecting(self) -> tuple[str, ...]:
        """The streams of which most rows were rejected."""
        return tuple(name for name, stream in self.streams.items() if stream.mostly_rejected)

    @property
    def failed(self) -> tuple[str, ...]:
        """The queries that were stopped because they failed."""
        return tuple(name for name, query in self.queries.items() if query.status == "failed")

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it; a query's sequence range is called `from` and `to`."""
        found = asdict(self)
        found["rows_in"], found["rows_out"] = self.rows_in, self.rows_out
        found["rows_dropped"] = self.rows_dropped
        for query in found["queries"].values():
            query["from"], query["to"] = query.pop("first"), query.pop("end")
        return found


@dataclass(frozen=True)
class Times:
    """The clock of a run: now, seconds since the start, seconds spent on decisions, jobs at a time."""

    now_us: int
    seconds: float
    deciding_s: float
    in_flight: int


class Held(Protocol):
    """What the summary reads of arrivals."""

    held: dict[str, bool]

    def waiting_bytes(self) -> int:
        """Return the bytes that wait in queues and sources."""
        ...


def summarize(
    engine: Engine,
    intake: Held,
    times: Times,
    *,
    abandoned_rows: int,
    shedding: SheddingSummary | None,
    qos: SelectionSummary,
) -> Summary:
    """Return the state of a run."""
    costs, state = engine.costs, engine.state
    panes = _pane_bytes(state)
    span_s = max((log.span_s for log in engine.streams.values()), default=0.0)
    return Summary(
        policy=engine.policy.name,
        mode=engine.mode,
        seconds=times.seconds,
        jobs=costs.jobs,
        deciding=times.deciding_s / times.seconds,
        utilization=min(costs.busy_s / times.seconds / times.in_flight, 1.0),
        waiting_rows=state.waiting_rows(),
        waiting_bytes=intake.waiting_bytes(),
        peak_bytes=int(engine.recorder.peak_bytes),
        abandoned_rows=abandoned_rows,
        setup_s=costs.overhead_s(0) if costs.is_measured else None,
        stream_seconds=span_s,
        demand=costs.busy_s / max(span_s, 1e-6),
        streams={
            name: stream_summary(engine, name, intake.held.get(name, False), times.now_us, panes.get(name, 0))
            for name in engine.streams
        },
        queries={name: query_summary(engine, name) for name in engine.queries},
        joins=_join_summaries(engine),
        shedding=shedding,
        qos=qos,
        pane_bytes=state.pane_bytes(),
        peak_pane_bytes=engine.recorder.peak_pane_bytes,
    )


def _pane_bytes(state: RuntimeState) -> dict[str, int]:
    """Return the bytes of the partial aggregates of each stream that has some."""
    found: dict[str, int] = defaultdict(int)
    for name, log in state.panes.items():
        found[stream_below(state, name).definition.name] += log.bytes
    return found


def stream_summary(engine: Engine, name: str, held: bool, now_us: int, panes: int = 0) -> StreamSummary:
    """Return the state of a stream, of whose rows partial aggregates take some bytes."""
    log, counts, state = engine.streams[name], engine.recorder.streams[name], engine.state
    oldest = state.oldest_arrival(engine.plan.network.out_edges.get(name, ()))
    return StreamSummary(
        rows=counts.rows,
        derived=log.definition.is_derived,
        late=counts.rejections.late,
        malformed=counts.rejections.malformed,
        reasons=counts.rejections.top,
        waiting_rows=state.backlog_rows(name),
        waiting_bytes=state.backlog(name),
        kept_bytes=log.bytes + panes,
        pane_bytes=panes,
        lag_s=0.0 if oldest is None else (now_us - oldest) / 1e6,
        ended=log.ended,
        held=held,
        dropped=log.box.dropped,
        kept=counts.kept,
        lost=counts.lost,
        keep=log.keep,
        boxes=tuple(log.box.history),
    )


def _join_summaries(engine: Engine) -> dict[str, JoinSummary]:
    """Return the probe orders of the joins that have several to choose from."""
    found = {}
    for name, plan in engine.planner.plans.items():
        span_s = max(engine.streams[port.stream].span_s for port in plan.join.ports)
        found[name] = plan.summarized(plan.current, partial(engine.planner.utilization, name, span_s=span_s))
    return found


def query_summary(engine: Engine, name: str) -> QuerySummary:
    """Return the state of a query."""
    state, statistics = engine.queries[name], engine.recorder.queries[name]
    ends = state.ends or {each: engine.streams[each].next_sequence for each in state.starts}
    response, slowdown = statistics.response, statistics.slowdown
    return QuerySummary(
        status=state.status,
        reason=state.reason,
        first=dict(state.starts),
        end=dict(ends),
        outputs=int(response.count),
        avg_response=response.mean,
        max_response=response.most,
        l2_response=response.l2,
        avg_slowdown=slowdown.mean,
        max_slowdown=slowdown.most,
        l2_slowdown=slowdown.l2,
        recent_response=response.recent,
        recent_slowdown=slowdown.recent,
        dropped=engine.dropped_rows(name),
        scaled=state.definition.scaled,
    )
