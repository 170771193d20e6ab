"""Which simulations Figures 6 to 30 need: loads, policies, seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from penstock.experiments.claim import Claim
from penstock.experiments.figure import Figure
from penstock.experiments.reproduction import CellResults, ReproductionSettings
from penstock.experiments.sweep import SweepCell

NAMES = {
    "aurora": "RR",
    "srpt": "SRPT",
    "hr": "HR",
    "hnr": "HNR",
    "fifo": "FCFS",
    "lsf": "LSF",
    "brt": "BRT",
    "bsd": "BSD",
    "chain": "Chain",
}
"""The paper's names of the policies it compares."""

SHOWN_AT = 0.97
"""The load of Figures 13 to 17, which print none."""

LEARNING = {"hr": "avg_response", "hnr": "avg_slowdown", "brt": "l2_response", "bsd": "l2_slowdown"}
"""Each policy and the metric that it optimises."""

RATES = ("hr", "hnr")
"""The policies of Figures 29 and 30."""

SHARING = ("max", "sum", "pdt")


@dataclass(frozen=True)
class Sizes:
    """How much is simulated."""

    packets: int
    queries: int
    seeds: int
    loads: tuple[float, ...]
    most: tuple[float, ...]
    clusters: Mapping[str, tuple[int, ...]]
    deviations: tuple[int, ...]
    windows: tuple[int, ...]
    alphas: tuple[float, ...]


FULL = Sizes(
    packets=20_000,
    queries=500,
    seeds=2,
    loads=(0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99),
    most=(0.1, 0.2, 0.3, 0.5, 0.7, 1.0),
    clusters={"log": (2, 4, 6, 8, 10, 12, 16, 24, 48), "uniform": (2, 6, 12, 24, 48, 100, 1000, 10_000)},
    deviations=(5, 10, 15, 20, 25),
    windows=(10, 25, 50, 100, 150, 250, 500),
    alphas=(0.02, 0.05, 0.1, 0.175, 0.25, 0.5, 0.9),
)
QUICK = Sizes(
    packets=2_000,
    queries=200,
    seeds=1,
    loads=(0.7, 0.95, 0.97),
    most=(0.1, 0.5, 1.0),
    clusters={"log": (4, 6, 12, 24), "uniform": (6, 12, 10_000)},
    deviations=(5, 25),
    windows=(25, 100, 250),
    alphas=(0.05, 0.175, 0.5),
)


class SCLP08Experiment:
    """The experiment: the simulations it needs, and access to their results."""

    title = "SCLP08: many heterogeneous continuous queries"

    def __init__(self, settings: ReproductionSettings) -> None:
        self.sizes = QUICK if settings.quick else FULL
        self.seed = settings.seed
        self.trace = None if settings.trace is None else str(settings.trace)
        where = "the trace that was given" if self.trace else "a bursty process of 8 ON/OFF flows"
        self.notes: Sequence[str] = (
            f"Arrivals: the first {self.sizes.packets:,} packets of {where}, instead of LBL-PKT-4, which is not "
            "available. Costs are set by their mean gap.",
            f"{self.sizes.queries} queries, {self.sizes.seeds} populations; figures are averages over them. "
            "Figures 28 to 30 have a tenth of the queries, and five times the packets so that an interval is "
            "longer than a window.",
            "A tuple's fates at different operators are independent. The paper draws two attributes per packet "
            "and does not say which predicate reads which.",
            f"Figures 13 to 17 are at a load of {SHOWN_AT}; 18, 19 and 25 to 30 at {self.other_load}; the paper "
            "prints none.",
            "A percentage holds within 10 points of the printed one, within 5 where that is 20 or less; a factor "
            "within a quarter. 'Up to' is the most over all loads.",
        )

    other_load = 0.95

    # Cells --------------------------------------------------------------------------------------------------

    @property
    def seeds(self) -> range:
        """The populations."""
        return range(self.seed, self.seed + self.sizes.seeds)

    def _cell(self, study: str, weight: float = 1.0, **settings: object) -> SweepCell:
        common: dict[str, object] = {"count": self.sizes.packets, "queries": self.sizes.queries, "seed": self.seed}
        if study != "two streams":
            common["trace"] = self.trace
        return SweepCell("SCLP08", study, common | settings, weight)

    def at_load(self, policy: str, load: float, seed: int) -> SweepCell:
        """Figures 6 to 17, 21 and 22."""
        over_time = load == SHOWN_AT and seed == self.seed
        return self._cell("load", 3, policy=policy, load=load, seed=seed, over_time=over_time)

    def same_cost(self, policy: str, most: float) -> SweepCell:
        """Figures 18 and 19."""
        return self._cell("same cost", 6, policy=policy, most=most, load=self.other_load, count=self._half)

    def two_streams(self, policy: str, load: float) -> SweepCell:
        """Figure 20."""
        return self._cell("two streams", 2, policy=policy, load=load, count=self.sizes.packets // 5)

    def charged(self, policy: str, search: str = "fagin", free: bool = False) -> SweepCell:
        """Figures 23 and 24."""
        return self._cell("charged", 8, policy=policy, search=search, free=free, load=0.95, count=self._half // 2)

    def shared(self, policy: str, sharing: str, load: float) -> SweepCell:
        """Figures 25 to 27."""
        return self._cell("shared", 2, policy=f"{policy}.shared('{sharing}')", load=load, count=self._half)

    def drifting(self, policy: str, deviation: int, alpha: float | None = 0.175, window: float = 100) -> SweepCell:
        """Figures 28 to 30."""
        return self._cell(
            "drifting",
            3,
            policy=policy,
            deviation=deviation,
            alpha=alpha,
            window=window,
            load=self.other_load,
            count=self.sizes.packets * 5,
            queries=self.sizes.queries // 10,
        )

    @property
    def _half(self) -> int:
        return self.sizes.packets // 2

    @cached_property
    def shared_loads(self) -> tuple[float, ...]:
        """The loads of Figures 20 and 25 to 27."""
        return tuple(dict.fromkeys((*self.sizes.loads[:-2:2], 0.9, SHOWN_AT)))

    def cells(self) -> list[SweepCell]:
        """Return every simulation."""
        sizes = self.sizes
        low = sizes.deviations[0]
        found = [
            *(self.at_load(p, load, seed) for p in NAMES for load in sizes.loads for seed in self.seeds),
            *(self.same_cost(p, m) for p in ("hr", "hnr", "bsd", "hr_oracle", "hnr_oracle") for m in sizes.most),
            *(self.two_streams(p, x) for p in ("aurora", "fifo", "hr", "hnr", "bsd") for x in self.shared_loads),
            *(self.charged(p) for p in self.clustered),
            *(self.charged(policy, search, free) for policy, search, free in STEPS.values()),
            self.charged("hnr", "scan", free=True),
            *(self.shared(p, how, x) for p in ("hr", "hnr", "bsd") for how in SHARING for x in self.shared_loads),
            *(self.drifting(p, d, alpha) for p in LEARNING for d in sizes.deviations for alpha in (None, 0.175)),
            *(self.drifting(policy, low, window=window) for policy in RATES for window in sizes.windows),
            *(self.drifting(policy, low, alpha) for policy in RATES for alpha in sizes.alphas),
        ]
        return list({cell.key: cell for cell in found}.values())

    @property
    def clustered(self) -> list[str]:
        """BSD with few and many clusters, of both kinds."""
        return [clustered(m, spacing) for spacing, counts in self.sizes.clusters.items() for m in counts]

    # Results ------------------------------------------------------------------------------------------------

    def claims(self, found: CellResults) -> list[Claim]:
        """Return what the paper says beside what was measured."""
        from penstock.experiments.sclp08.claims import claims

        return claims(self, found)

    def figures(self, found: CellResults) -> list[Figure]:
        """Return the figures."""
        from penstock.experiments.sclp08.plots import figures

        return figures(self, found)

    def mean(self, found: CellResults, policy: str, load: float, metric: str) -> float:
        """Return a metric at a load, averaged over populations."""
        return fmean(float(found.of(self.at_load(policy, load, seed))[metric]) for seed in self.seeds)


def clustered(m: int, spacing: str) -> str:
    """Return the name of BSD with `m` clusters."""
    return f"bsd.clustered({m}, '{spacing}')"


STEPS = {
    "no overhead": ("bsd", "scan", True),
    "naive": ("bsd", "scan", False),
    "clusters": ("bsd.clustered(12, together=False)", "scan", False),
    "and pruning": ("bsd.clustered(12, together=False)", "fagin", False),
    "and clustered processing": (clustered(12, "log"), "fagin", False),
}
"""Figure 24: one technique after the other."""


def experiment(settings: ReproductionSettings) -> SCLP08Experiment:
    """Return the experiment."""
    return SCLP08Experiment(settings)
