"""How a run stands, or how it went: a value for screens, JSON and tests."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from penstock.plan.probe_orders import JoinSummary
from penstock.runtime.engine import Engine
from penstock.runtime.load_control import SheddingSummary
from penstock.runtime.policy_control import SelectionSummary
from penstock.runtime.rejections import Reason, Rejections


@dataclass
class Counts:
    """What came of a stream: rows in, rows turned away, since when it is silent, whether it is held back."""

    rejections: Rejections
    rows: int = 0
    silent_since: int | None = None
    held: bool = False
    kept: int = 0
    """Rows that came to queues."""
    bytes: int = 0
    """What those took."""

    @property
    def bytes_a_row(self) -> float:
        """What a row took in the mean; 0 if none came."""
        return self.bytes / self.kept if self.kept else 0.0


@dataclass(frozen=True)
class StreamSummary:
    """A stream: rows in, rows turned away, how long the oldest row that waits has waited.

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
    keep: float = 1.0
    boxes: tuple[tuple[int, float], ...] = ((0, 1.0),)
    reasons: tuple[Reason, ...] = ()
    """Why rows were turned away, the most frequent reasons first, each with a count and an example."""

    @property
    def mostly_rejected(self) -> bool:
        """Whether half of the rows or more were late or malformed."""
        return 0 < self.rows <= (self.late + self.malformed) * 2


@dataclass(frozen=True)
class QuerySummary:
    """A query: the rows it saw, by sequence number (from, up to but without), its results and how they fared."""

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


@dataclass(frozen=True)
class Summary:
    """A run."""

    policy: str
    mode: str
    seconds: float
    jobs: int
    utilization: float
    deciding: float
    """The share of the time that went into decisions: what runs next, what was learnt, what can be let go."""
    waiting_rows: int
    waiting_bytes: int
    peak_bytes: int
    abandoned_rows: int
    setup_s: float | None
    stream_seconds: float
    """How much of the streams' own time has come in."""
    demand: float
    """The share of the machine that they took, at their own pace: seconds of jobs, by seconds of the streams."""
    streams: Mapping[str, StreamSummary]
    queries: Mapping[str, QuerySummary]
    joins: Mapping[str, JoinSummary]
    qos: SelectionSummary = field(default_factory=SelectionSummary, kw_only=True)
    """How the policy was chosen."""
    shedding: SheddingSummary | None = field(default=None, kw_only=True)
    """What load shedding reckons with; None if it is off, or has not looked yet."""

    @property
    def rows_dropped(self) -> int:
        """Rows that were dropped to shed load, all streams together."""
        return sum(stream.dropped for stream in self.streams.values())

    @property
    def rows_in(self) -> int:
        """Rows that came in, all streams together."""
        return sum(stream.rows for stream in self.streams.values())

    @property
    def rows_out(self) -> int:
        """Results, all queries together."""
        return sum(query.outputs for query in self.queries.values())

    @property
    def rejecting(self) -> tuple[str, ...]:
        """The streams of which most rows were turned away."""
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


def stream_summary(engine: Engine, name: str, counts: Counts, now_us: int) -> StreamSummary:
    """Return how a stream stands."""
    log = engine.streams[name]
    queues = [engine.queues[edge] for edge in engine.plan.network.out_edges.get(name, ())]
    oldest = min((queue.chunks[0].arrival for queue in queues if queue.chunks), default=now_us)
    return StreamSummary(
        rows=counts.rows,
        late=counts.rejections.late,
        malformed=counts.rejections.malformed,
        reasons=counts.rejections.top,
        waiting_rows=max((queue.rows for queue in queues), default=0),
        waiting_bytes=engine.backlog(name),
        kept_bytes=log.bytes,
        lag_s=(now_us - oldest) / 1e6,
        ended=log.ended,
        held=counts.held,
        dropped=log.box.dropped,
        kept=counts.kept,
        keep=log.box.keep,
        boxes=tuple(log.box.history),
    )


def join_summaries(engine: Engine) -> dict[str, JoinSummary]:
    """Return how the joins probe that there was something to choose for."""
    found = {}
    for name, plan in engine.planner.plans.items():
        span_s = max(engine.streams[port.stream].span_s for port in plan.join.ports)
        found[name] = plan.summarized(plan.current, partial(engine.planner.utilization, name, span_s=span_s))
    return found


def query_summary(engine: Engine, name: str) -> QuerySummary:
    """Return how a query stands."""
    state = engine.queries[name]
    ends = state.ends or {each: engine.streams[each].next_sequence for each in state.starts}
    return QuerySummary(
        status=state.status,
        reason=state.reason,
        first=dict(state.starts),
        end=dict(ends),
        outputs=state.outputs,
        avg_response=state.response.mean,
        max_response=state.response.most,
        l2_response=state.response.l2,
        avg_slowdown=state.slowdown.mean,
        max_slowdown=state.slowdown.most,
        l2_slowdown=state.slowdown.l2,
        recent_response=state.response.recent,
        recent_slowdown=state.slowdown.recent,
        dropped=engine.dropped_for(name),
    )
