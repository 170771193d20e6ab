"""The required comparisons of Penstock with stock, and with itself."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from penstock.bench.aggregates.case import BY_HAND, EACH, AggregateResult
from penstock.bench.aggregates.case_list import MANY, MOST, OWN_WINDOWS
from penstock.bench.comparisons import Comparison

MOST_GROWTH = 1.25
"""Peak memory of Python after twice as many windows."""

Figure = Callable[[AggregateResult], float | None]


def comparisons(measured: Iterable[AggregateResult]) -> list[Comparison]:
    """Return every required comparison; those whose cases were not run have no measurement."""
    found = list(measured)

    def of(part: str, queries: str, *systems: str, count: int | None = None) -> list[AggregateResult]:
        return [
            each
            for each in found
            if (each.case.part, each.case.queries) == (part, queries)
            and each.case.system in systems
            and count in (None, each.case.count)
        ]

    def rates(claim: str, required: float, part: str, ours: str, theirs: tuple[str, ...]) -> Comparison:
        queries = "fifty" if part == "sharing" else part
        open_claim = Comparison(claim, "at least", required)
        return _measured(open_claim, _rate, of(part, queries, ours), of(part, queries, *theirs))

    def costs(claim: str, required: float, part: str, queries: str, count: int) -> Comparison:
        both = (of(part, queries, "penstock", count=each) for each in (count, 1))
        return _measured(Comparison(claim, "at most", required), _cost, *both)

    def responses(claim: str, queries: str) -> Comparison:
        both = of("latency", queries, "penstock"), of("latency", queries, *EACH)
        return _measured(Comparison(claim, "at most", 1 / 3), _response, *both)

    growth = Comparison("many keys: Python's peak memory, twice as many windows ÷ once", "at most", MOST_GROWTH)
    constants, limits = f"{MOST:,} constants in WHERE", f"{MOST:,} limits in HAVING"
    hand = "throughput ÷ best stock job by hand"
    return [
        rates("1 query: throughput ÷ stock", 1.0, "one", "penstock", EACH),
        rates(f"{MANY} queries: throughput ÷ stock, one each", 20, "fifty", "penstock", EACH),
        rates(f"{MANY} queries: {hand}", 1.0, "fifty", "penstock", BY_HAND),
        costs(f"{constants}: cost per query ÷ that of 1 query", 1 / 300, "thousand", "slices", MOST),
        costs(f"{limits}: cost per query ÷ that of 1 query", 1 / 300, "thousand", "having", MOST),
        costs(
            f"{OWN_WINDOWS} windows: cost per query ÷ that of 1 query", 1 / 20, "windows", "windows", OWN_WINDOWS
        ),
        rates("window of 600 panes: throughput ÷ stock", 1.0, "long", "penstock", EACH),
        rates("many keys, --state, restarted: throughput ÷ stock", 0.7, "keys", "penstock-state", EACH),
        _absolute(growth, _growth, of("keys", "keys", "penstock-state")),
        responses("1 query, same load: from close to result ÷ stock", "one"),
        responses(f"{MANY} queries, same load: from close to result ÷ stock, one each", "fifty"),
        rates(
            f"{MANY} queries: throughput with groups ÷ without",
            1.0,
            "sharing",
            "penstock",
            ("penstock-ungrouped",),
        ),
    ]


def _rate(one: AggregateResult) -> float | None:
    return one.rows_per_s


def _cost(one: AggregateResult) -> float | None:
    return one.seconds_per_query


def _response(one: AggregateResult) -> float | None:
    return one.avg_response


def _growth(one: AggregateResult) -> float | None:
    return one.python_growth


def _measured(
    claim: Comparison, figure: Figure, ours: list[AggregateResult], theirs: list[AggregateResult]
) -> Comparison:
    """Divide our figure by the best of theirs; cases of theirs that failed do not count if another did not."""
    if not ours or not theirs:
        return replace(claim, reason="not part of this run")
    best = max if claim.side == "at least" else min
    own, good = _good(figure, ours), _good(figure, theirs)
    if not own or not good:
        return replace(claim, reason="a case failed", failed=True)
    return replace(claim, measured=own[0] / best(good))


def _absolute(claim: Comparison, figure: Figure, ours: list[AggregateResult]) -> Comparison:
    if not ours:
        return replace(claim, reason="not part of this run")
    own = _good(figure, ours)
    return replace(claim, measured=own[0]) if own else replace(claim, reason="a case failed", failed=True)


def _good(figure: Figure, cases: list[AggregateResult]) -> list[float]:
    values = [figure(each) for each in cases if each.status == "ok"]
    return [value for value in values if value is not None]
