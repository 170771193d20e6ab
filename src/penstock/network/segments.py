"""Segments of operator paths (JC03 §3.3): which operators run together, and the pruned list over all paths."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from penstock.network.graph import Path
from penstock.network.numbers import Number


@dataclass(frozen=True)
class Segment:
    """Consecutive operators of a path that are scheduled as one.

    `released` is the memory that one tuple frees by passing the segment, `time` how long that takes; their ratio
    is the segment's memory release capacity, JC03 (3.2).
    """

    path: Path
    start: int
    stop: int
    released: Number
    time: Number

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators, bottom to top."""
        return self.path.operators[self.start : self.stop]

    @property
    def release(self) -> Number:
        """Memory released per unit time, JC03 (3.2): the priority of the segment."""
        return self.released / self.time

    def __str__(self) -> str:
        return "{" + ", ".join(self.operators) + "}"


def rising_runs(releases: Sequence[Number], gamma: Number = 1) -> list[tuple[int, int]]:
    """Cut a path where an operator releases less than `gamma` times what the one below it does.

    The comparison is a product, never a ratio: a release can be negative (JC03 §3.3, with γ = 1).

    >>> rising_runs([0.2, 0.1, 9, 0.2])
    [(0, 1), (1, 3), (3, 4)]
    """
    cuts = [i for i in range(1, len(releases)) if _falls(releases[i - 1], releases[i], gamma)]
    return list(zip([0, *cuts], [*cuts, len(releases)], strict=True))


def _falls(below: Number, above: Number, gamma: Number) -> bool:
    """Return whether `above` is less than γ · `below`, by more than the rounding error of floats."""
    rounding = 0 if isinstance(below, Fraction) else 1e-12 * max(abs(float(below)), abs(float(above)))
    return gamma * below - above > rounding


def first_run_and_rest(releases: Sequence[Number], gamma: Number) -> list[tuple[int, int]]:
    """Cut a path at most once: the leaf with similar successors, then everything else (JC03 §3.3).

    >>> first_run_and_rest([1, 0.8, 0.1, 5], gamma=0.75)
    [(0, 2), (2, 4)]
    """
    stop = rising_runs(releases, gamma)[0][1]
    return [(0, stop)] if stop == len(releases) else [(0, stop), (stop, len(releases))]


def pruned(candidates: Iterable[Segment]) -> tuple[Segment, ...]:
    """Return the system's segment list: each new segment replaces its subsets, or is dropped for a superset.

    The largest sets remain, whatever the order of paths. Where several paths build the same set (one query ends at
    an operator where another continues), the one with the highest release represents it.
    """
    kept: dict[frozenset[str], Segment] = {}
    holding: dict[str, set[frozenset[str]]] = defaultdict(set)
    for segment in candidates:
        new = frozenset(segment.operators)
        if new in kept:
            kept[new] = max(kept[new], segment, key=_by_release)
            continue
        if any(new < other for other in holding[segment.operators[0]]):
            continue
        touching = set().union(*(holding[name] for name in new))
        for subset in [other for other in touching if other < new]:
            del kept[subset]
            for name in subset:
                holding[name].discard(subset)
        kept[new] = segment
        for name in new:
            holding[name].add(new)
    return tuple(kept.values())


def _by_release(segment: Segment) -> tuple[Number, Number, str]:
    return segment.release, segment.released, str(segment.path)
