"""Figures 6 to 30, as data."""

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.experiments.figure import Figure
from penstock.experiments.reproduction import CellResults
from penstock.experiments.sclp08.claims import classes, ratio, shown
from penstock.experiments.sclp08.experiment import (
    LEARNING,
    NAMES,
    RATES,
    SHARING,
    STEPS,
    SCLP08Experiment,
    clustered,
)

LOAD = "system load"
SAY = {
    "avg_slowdown": "average slowdown",
    "max_slowdown": "maximum slowdown",
    "l2_slowdown": "ℓ2 norm of slowdowns",
    "avg_response": "average response, seconds",
    "max_response": "maximum response, seconds",
    "l2_response": "ℓ2 norm of responses, seconds",
    "mean_memory": "mean queue length, tuples",
}

Line = list[tuple[Any, float]]


def figures(paper: SCLP08Experiment, found: CellResults) -> list[Figure]:
    """Return all figures."""
    return [
        *_loads(paper, found),
        *_classes_and_time(paper, found),
        *_others(paper, found),
        *_learning(paper, found),
    ]


def _line(paper: SCLP08Experiment, found: CellResults, policy: str, metric: str) -> Line:
    return [(load, paper.mean(found, policy, load, metric)) for load in paper.sizes.loads]


def _lines(paper: SCLP08Experiment, found: CellResults, policies: Iterable[str], metric: str) -> dict[str, Line]:
    return {NAMES[policy]: _line(paper, found, policy, metric) for policy in policies}


def _loads(paper: SCLP08Experiment, found: CellResults) -> Iterator[Figure]:
    """Figures 6 to 12, 21 and 22."""
    for number, metric, policies in (
        (6, "avg_slowdown", ("aurora", "srpt", "hr", "hnr")),
        (7, "avg_response", ("aurora", "srpt", "fifo", "hr", "hnr")),
        (8, "max_response", ("aurora", "srpt", "fifo", "hr", "hnr")),
        (9, "max_slowdown", ("aurora", "srpt", "lsf", "hr", "hnr")),
        (11, "l2_slowdown", ("srpt", "lsf", "hr", "hnr", "bsd")),
        (12, "l2_response", ("srpt", "fifo", "hr", "hnr", "brt")),
        (21, "mean_memory", ("hr", "hnr", "brt", "bsd", "chain")),
    ):
        title = f"{SAY[metric].split(',')[0].capitalize()} against load"
        yield Figure(f"Figure {number}", title, LOAD, SAY[metric], _lines(paper, found, policies, metric), True)
    trade = {
        NAMES[policy]: [
            (paper.mean(found, policy, load, "avg_slowdown"), paper.mean(found, policy, load, "max_slowdown"))
            for load in paper.sizes.loads
        ]
        for policy in ("hnr", "lsf", "srpt", "bsd")
    }
    title = "Maximum against average slowdown, a point a load"
    yield Figure("Figure 10", title, SAY["avg_slowdown"], SAY["max_slowdown"], trade, True)
    metrics = {"avg_slowdown": "hnr", "l2_slowdown": "bsd", "avg_response": "hr", "l2_response": "brt"}
    worse = {
        f"Chain ÷ {NAMES[best]}, {SAY[metric].split(',')[0]}": [
            (load, paper.mean(found, "chain", load, metric) / paper.mean(found, best, load, metric))
            for load in paper.sizes.loads
        ]
        for metric, best in metrics.items()
    }
    yield Figure("Figure 22", "Chain under other metrics than memory", LOAD, "times the policy for it", worse)


def _classes_and_time(paper: SCLP08Experiment, found: CellResults) -> Iterator[Figure]:
    """Figures 13 to 17."""
    by_class = {NAMES[policy]: list(classes(paper, found, policy)) for policy in ("hr", "hnr", "bsd")}
    title = "Slowdown of low-cost queries, by selectivity"
    yield Figure("Figure 13", title, "selectivity of the query", SAY["avg_slowdown"], by_class, True, bars=True)
    for number, metric, policies in (
        (14, "avg_response", ("aurora", "srpt", "fifo", "hr")),
        (15, "avg_slowdown", ("aurora", "srpt", "hr", "hnr")),
        (16, "l2_response", ("fifo", "hr", "brt")),
        (17, "l2_slowdown", ("lsf", "hnr", "bsd")),
    ):
        lines = {}
        for policy in policies:
            series = shown(paper, found, policy)["series"]
            points = zip(series["time"], series[metric], strict=True)
            lines[NAMES[policy]] = [(moment, value) for moment, value in points if value]
        title = f"{SAY[metric].split(',')[0].capitalize()} over time, of each interval"
        yield Figure(f"Figure {number}", title, "seconds", SAY[metric], lines, True)


def _others(paper: SCLP08Experiment, found: CellResults) -> Iterator[Figure]:
    """Figures 18 to 20 and 23 to 27."""
    metric = "l2_slowdown"
    most = paper.sizes.most

    def cost(policy: str, share: float, name: str) -> float:
        return float(found.of(paper.same_cost(policy, share))[name])

    lines: dict[str, Line] = {NAMES[p]: [(m, cost(p, m, metric)) for m in most] for p in ("hr", "hnr", "bsd")}
    yield Figure("Figure 18", "Queries of one cost", "maximum selectivity", SAY[metric], lines, True)
    lines = {
        f"{NAMES[policy]}-O, {SAY[of].split(',')[0]}": [
            (m, cost(f"{policy}_oracle", m, of) / cost(policy, m, of)) for m in most
        ]
        for policy, of in (("hr", "avg_response"), ("hnr", "avg_slowdown"))
    }
    yield Figure("Figure 19", "What an oracle could gain", "maximum selectivity", "oracle ÷ policy", lines)
    lines = {
        NAMES[p]: [(load, float(found.of(paper.two_streams(p, load))[metric])) for load in paper.shared_loads]
        for p in ("aurora", "fifo", "hr", "hnr", "bsd")
    }
    yield Figure("Figure 20", "Queries of two streams", LOAD, SAY[metric], lines, True)
    ideal = float(found.of(paper.charged(*STEPS["no overhead"]))[metric])
    hnr = float(found.of(paper.charged("hnr", "scan", free=True))[metric])
    lines = {
        f"BSD, {name}": [(m, float(found.of(paper.charged(clustered(m, kind)))[metric])) for m in counts]
        for (kind, counts), name in zip(paper.sizes.clusters.items(), ("logarithmic", "uniform"), strict=True)
    }
    ends = (min(paper.sizes.clusters["log"]), max(paper.sizes.clusters["uniform"]))
    lines |= {name: [(m, value) for m in ends] for name, value in (("HNR", hnr), ("BSD, ideal", ideal))}
    yield Figure(
        "Figure 23", "Clusters of priorities, charged", "clusters, a logarithmic axis", SAY[metric], lines, True
    )
    steps = [(name, float(found.of(paper.charged(*step))[metric])) for name, step in STEPS.items()]
    yield Figure("Figure 24", "One technique after the other", "", SAY[metric], {"BSD": steps}, True, bars=True)
    for number, policy in ((25, "hr"), (26, "hnr"), (27, "bsd")):
        of = LEARNING[policy]
        lines = {
            how.capitalize() if how != "pdt" else "PDT": [
                (load, float(found.of(paper.shared(policy, how, load))[of])) for load in paper.shared_loads
            ]
            for how in SHARING
        }
        title = f"{NAMES[policy]} with shared selects"
        yield Figure(f"Figure {number}", title, LOAD, SAY[of], lines, True)


def _learning(paper: SCLP08Experiment, found: CellResults) -> Iterator[Figure]:
    """Figures 28 to 30."""
    sizes = paper.sizes
    low = sizes.deviations[0]
    say = "adaptive ÷ static"
    lines: dict[str, Line] = {
        NAMES[p]: [(d, ratio(paper, found, p, d)) for d in sizes.deviations] for p in LEARNING
    }
    yield Figure("Figure 28", "Adaptive statistics, by the spread of the data", "standard deviation", say, lines)
    lines = {NAMES[p]: [(w, ratio(paper, found, p, low, window=w)) for w in sizes.windows] for p in RATES}
    yield Figure("Figure 29", "Adaptive statistics, by the window", "window, tuples", say, lines)
    lines = {NAMES[p]: [(a, ratio(paper, found, p, low, alpha=a)) for a in sizes.alphas] for p in RATES}
    yield Figure("Figure 30", "Adaptive statistics, by α", "α", say, lines)
