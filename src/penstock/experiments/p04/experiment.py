"""Which simulations P04 §6 needs: plans, bursts, lengths, seeds, single policies and selectors."""

from collections.abc import Iterator, Sequence

from penstock.experiments.claim import Claim
from penstock.experiments.figure import Figure
from penstock.experiments.p04.claims import claims
from penstock.experiments.p04.mixes import ALONE, MIXED
from penstock.experiments.p04.plots import figures
from penstock.experiments.p04.runs import Outcome, Runs, RunSetting
from penstock.experiments.p04.study import FULL, PLANS, QUICK, SELECTORS
from penstock.experiments.reproduction import CellResults, ReproductionSettings
from penstock.experiments.sweep import SweepCell

PAPER = "P04"
NOTES = (
    "The figures of the operators are lost with the image of Figure 6.1. Those declared here (`penstock simulate "
    "p04_filters` and `p04_join` show them) were chosen so that single policies come out as in Figure 6.2; that "
    "its claims hold is therefore no finding. Results of selectors did not influence the choice. The load is 0.9, "
    "in bursts 1.2.",
    "As in the paper: statistics every second with w = 0.875, a choice every two, RATIO 0.3 and THRESHOLD 50, the "
    "first policy for 5 s, then each for a second. Only what comes after 10 s is counted, for single policies and "
    "selectors that do not explore, too. The decay, which the paper does not print, is 0.98 per second.",
    "Means are redrawn every 5 s, in bursts twice as high; the paper also calls a stream bursty that rises by an "
    "order of magnitude, which was run too (×10).",
    "Roulette is the paper's selector, foresight Penstock's own; UCB, Thompson sampling and EXP3 are bandits. All "
    "meet the same tuples. Gains are geometric means over the seeds, noise is two standard errors of them. Where "
    "policies cannot be told apart by that, all of them are the best.",
    "A run ends with its arrivals, and what then still waits has no delay.",
)


def experiment(settings: ReproductionSettings) -> "P04Experiment":
    """Return the experiment."""
    return P04Experiment(settings)


class P04Experiment:
    """Two plans, two kinds of bursts; one goal for 30 s and 300 s, several for 300 s; five selectors."""

    title = "Policies chosen by the goals (P04 §6)"
    notes: Sequence[str] = NOTES

    def __init__(self, settings: ReproductionSettings) -> None:
        self.seed = settings.seed
        self.study = QUICK if settings.quick else FULL

    def cells(self) -> list[SweepCell]:
        """Return every run of single policies and of selectors."""
        return [cell for _, _, cell in self._runs()]

    def claims(self, found: CellResults) -> list[Claim]:
        """Return what the paper says beside what was measured."""
        return claims(self.study, self.outcomes(found))

    def figures(self, found: CellResults) -> list[Figure]:
        """Return Figures 6.2 to 6.7 of the first seed, and what selectors come to over all seeds."""
        return figures(self.study, self.outcomes(found))

    def outcomes(self, found: CellResults) -> Runs:
        """Return what was found, by setting."""
        single: dict[RunSetting, dict[str, list[Outcome]]] = {}
        selected: dict[tuple[RunSetting, str], dict[str, list[Outcome]]] = {}
        for setting, selector, cell in self._runs():
            rows = (
                single.setdefault(setting, {})
                if selector is None
                else selected.setdefault((setting, selector), {})
            )
            for name, outcome in found.of(cell).items():
                rows.setdefault(name, []).append(outcome)
        return Runs(single, selected)

    def _runs(self) -> Iterator[tuple[RunSetting, str | None, SweepCell]]:
        short, long = [*ALONE.values()], [*ALONE.values(), *MIXED]
        for burst, (shorts, longs) in self.study.seeds.items():
            for plan in PLANS:
                for place in range(shorts):
                    yield from self._of_seed(self.study.at(plan, self.study.short, burst), place, short)
                for place in range(longs):
                    yield from self._of_seed(self.study.at(plan, self.study.long, burst), place, long)

    def _of_seed(
        self, setting: RunSetting, place: int, mixes: list[str]
    ) -> Iterator[tuple[RunSetting, str | None, SweepCell]]:
        settings = {**setting._asdict(), "seed": self.seed + place, "drawn": place == 0}
        yield setting, None, SweepCell(PAPER, "single", settings, weight=setting.seconds)
        for selector in SELECTORS:
            weight = setting.seconds * (4.0 if selector == "foresight" else 1.0)
            yield (
                setting,
                selector,
                SweepCell(PAPER, "selected", {"policy": selector, "mixes": mixes, **settings}, weight),
            )
