"""A test of JC03 Theorem 3: segment scheduling never needs more peak memory than Chain. It is false.

`python -m penstock.experiments.theorem_3` shows an instance where it needs more, and counts how often, and by how
much, on random ones. docs/theorems.md has the finding and what the proof overlooks.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from penstock.network import Network
from penstock.simulator import BBDM03, JC03, Rules, run_fractional

Arrivals = Mapping[str, Sequence[int]]
RULES = {"JC03": JC03, "BBDM03": BBDM03}


def counterexample() -> tuple[Network, Arrivals]:
    """Return two paths on which the segments forget what Chain sees.

    Path a releases 0.2, 0.1, 9 and 0.2 per time unit, leaving 0.99, 0.98, 0.07 and 0 of a tuple; path b releases
    0.3. JC03 cuts a into 1 | 2 3 | 4, so that its leaf waits behind b; Chain's envelope is 1 2 3 | 4, and a
    tuple is nearly gone after a quarter of a time unit.
    """
    sizes = [Fraction(1), Fraction(99, 100), Fraction(98, 100), Fraction(7, 100), Fraction(0)]
    releases = [Fraction(2, 10), Fraction(1, 10), Fraction(9), Fraction(2, 10)]
    pairs = zip(releases, sizes, sizes[1:], strict=False)
    path_a = [((1 - after / before) / release, after / before) for release, before, after in pairs]
    net = Network.chains([path_a, [(Fraction(10, 3), 0)]], stream=["a", "b"])
    return net, {"a": [0, 1], "b": [0]}


def peaks(net: Network, arrivals: Arrivals, rules: Rules = BBDM03) -> tuple[Fraction, Fraction]:
    """Return the peak queue memory of segment scheduling and of Chain."""
    segment, chain = (run_fractional(net, arrivals, name, rules).peak_memory for name in ("segment", "chain"))
    return Fraction(segment), Fraction(chain)


@dataclass(frozen=True)
class PeakMemories:
    """Peak memories on one instance, and whether its JC03 segments are the chains of its lower envelopes."""

    segment: Fraction
    chain: Fraction
    same_segments: bool

    @property
    def excess(self) -> float:
        """How much more segment scheduling needs, as a share."""
        return float(self.segment / self.chain - 1)


def instances(count: int, seed: int) -> Iterator[tuple[Network, Arrivals]]:
    """Yield random networks of two or three paths of one to four operators, each with a small burst."""
    rng = random.Random(seed)
    for _ in range(count):
        chains = [
            [(round(0.05 * 100 ** rng.random(), 2), rng.randint(1, 20) / 20) for _ in range(rng.randint(1, 4))]
            for _ in range(rng.randint(2, 3))
        ]
        streams = [f"s{index}" for index in range(len(chains))]
        arrivals = {name: sorted(rng.choices(range(8), k=rng.randint(1, 4))) for name in streams}
        yield Network.chains(chains, streams), arrivals


def agree_on_segments(net: Network) -> bool:
    """Return whether every JC03 segment is also a chain of a lower envelope, and the other way round."""
    segments = {segment.operators for segment in net.segments()}
    chains = {path.operators[c.start : c.stop] for path in net.paths for c in net.envelope(path)}
    return segments == chains


def compare(count: int, seed: int, rules: Rules) -> list[PeakMemories]:
    """Compare peak memories on `count` random instances."""
    console = Console(stderr=True)
    drawn = track(
        instances(count, seed),
        "comparing",
        total=count,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    return [PeakMemories(*peaks(net, arrivals, rules), agree_on_segments(net)) for net, arrivals in drawn]


def main() -> None:
    """Print the counterexample and the survey."""
    parser = argparse.ArgumentParser(
        description="JC03 Theorem 3: peak memory of segment scheduling against Chain."
    )
    parser.add_argument("--count", type=_count, default=1000, help="random instances (default: 1000)")
    parser.add_argument("--seed", type=int, default=1, help="of the random instances (default: 1)")
    options = parser.parse_args()
    console = Console()
    console.print("Peak memory of segment scheduling against Chain\n")
    for name, rules in RULES.items():
        segment, chain = peaks(*counterexample(), rules)
        console.print(f"counterexample, rules of {name}: {float(segment):g} against {float(chain):g}")
    title = f"\n{options.count} random instances, seed {options.seed}: where segments need more, how much more"
    table = Table(title=title, box=SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0))
    for heading in ("rules", "on", "instances", "less", "more", "", "mean", "largest"):
        table.add_column(heading, justify="left" if heading in ("rules", "on") else "right")
    for name, rules in RULES.items():
        every = compare(options.count, options.seed, rules)
        for label, some in (("all", every), ("segments = chains", [c for c in every if c.same_segments])):
            more = [c.excess for c in some if c.segment > c.chain]
            less = sum(c.segment < c.chain for c in some)
            figures = ("", "–", "–")
            if more:
                figures = (f"{len(more) / len(some):.1%}", f"{sum(more) / len(more):.1%}", f"{max(more):.0%}")
            table.add_row(name, label, f"{len(some)}", f"{less}", f"{len(more)}", *figures)
    console.print(table)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {count}")
    return count


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
