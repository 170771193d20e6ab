"""What happens in a round of the crash harness: which kills, when, under which settings. All from the seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["python", "java", "both", "fault"]
KINDS: tuple[Kind, ...] = ("python", "java", "both", "fault")
WEIGHTS = {"python": 3, "java": 2, "both": 2, "fault": 5}
Rows = Literal["auto", "stored", "bulk"]
ROWS: tuple[Rows, ...] = ("auto", "stored", "bulk")
"""`stored`: all rows are in files that executors read. `bulk`: a stream of large files beside the others, whose
results executors write."""

OF_FILES = ("segment.", "retention.")
"""Fault points that are reached soon only where all rows are in files."""

FEWEST, MOST = 3, 5
"""Kills of a round."""
LONGEST_S = 9.0
EARLY_S = 7.0
"""A start takes about this time: early kills are before the run is up."""
MOST_COUNT = 8


@dataclass(frozen=True)
class Kill:
    """A kill: of what, and when; or at which fault point, when it is reached for the nth time."""

    kind: Kind
    after_s: float
    is_early: bool
    """Whether `after_s` counts from the start of the process, and not from when it was up."""
    waits: bool
    """Whether the next start waits until Java has ended."""
    point: str = ""
    count: int = 1

    def __str__(self) -> str:
        return f"fault {self.point}:{self.count}" if self.kind == "fault" else self.kind


@dataclass(frozen=True)
class RoundPlan:
    """A round."""

    seed: int
    number: int
    rows: Rows
    settings: dict[str, object]
    kills: Sequence[Kill]
    finished_after: int
    """After so many kills, all files are there; later runs drain."""
    starts_again: bool
    """Whether a run is started once more after the last one has drained."""
    input_seed: int
    checkpoints_often: bool
    """Whether checkpoints are written after every few journal entries."""

    def first(self, kills: int) -> "RoundPlan":
        """The same with no more than so many kills."""
        return replace(self, kills=self.kills[:kills], finished_after=min(self.finished_after, kills))

    def chance(self) -> random.Random:
        """For what is not in the plan, such as the pace of files."""
        return random.Random(f"pace {self.seed}/{self.number}")


def round_plan(
    seed: int,
    number: int,
    *,
    points: Sequence[str],
    kinds: Sequence[Kind] = KINDS,
    only: Sequence[str] | None = None,
    rows: Rows | None = None,
    per_input: int = 25,
) -> RoundPlan:
    """Plan a round. With `only`, its kills are at these fault points, one each."""
    chance = random.Random(f"round {seed}/{number}")
    thirds = random.Random(f"rows {seed}/{number // len(ROWS)}").sample(ROWS, len(ROWS))
    kinds = [kind for kind in kinds if points or kind != "fault"]
    kills = [one_kill(chance, kinds, points) for _ in range(chance.randint(FEWEST, MOST))]
    if only is not None:
        kills = [kill for point in only for kill in reaching(point, chance)]
    settings: dict[str, object] = {
        "publish": chance.choice(("500 ms", "1 s", "2 s")),
        "roll": chance.choice(("64MB", "300KB", "10 s")),
        "in_flight": chance.choice((1, 1, 2)),
        "policy": chance.choice(("bsd", "fifo", "hnr", "chain")),
    }
    if chance.random() < 0.3:
        settings["chunk_rows"] = chance.choice((100, 1000))
    chosen = rows or thirds[number % len(ROWS)]
    if only is not None and rows is None and any(point.startswith(OF_FILES) for point in only):
        chosen = "stored"
    if chosen == "stored":
        settings["rows"] = "stored"
    return RoundPlan(
        seed=seed,
        number=number,
        rows=chosen,
        settings=settings,
        kills=kills,
        finished_after=len(kills) - (chance.random() < 0.4),
        starts_again=chance.random() < 0.25,
        input_seed=seed + number // per_input,
        checkpoints_often=only is not None or chance.random() < 0.5,
    )


def one_kill(chance: random.Random, kinds: Sequence[Kind], points: Sequence[str]) -> Kill:
    [kind] = chance.choices(kinds, [WEIGHTS[kind] for kind in kinds])
    if kind == "fault":
        return at_point(chance.choice(points), chance)
    is_early = chance.random() < 0.15
    after_s = chance.uniform(0.3, EARLY_S) if is_early else chance.uniform(0, LONGEST_S)
    return Kill(kind, after_s, is_early, chance.random() < 0.5)


def reaching(point: str, chance: random.Random) -> list[Kill]:
    """Kills at a fault point. A recovery has work only after a kill between a commit and its renames."""
    before = [replace(at_point("reveal.before", chance), count=1)] if point.startswith("recovery.") else []
    return [*before, replace(at_point(point, chance), count=1)]


def at_point(point: str, chance: random.Random) -> Kill:
    count = chance.choice((1, 1, 1, chance.randint(2, MOST_COUNT)))
    return Kill("fault", 0.0, is_early=False, waits=chance.random() < 0.5, point=point, count=count)
