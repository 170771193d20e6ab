"""Kills runs with `--state` at random moments and at fault points, and checks that each result is there once.

    python -m tests.storage.killed --times 20 --seed 1        # 20 kills
    python -m tests.storage.killed --all-points               # each fault point once
    python -m tests.storage.killed --point entry.flushed      # one of them
    python -m tests.storage.killed --seed 1 --round 3         # a round again

A round begins with empty folders. Files keep coming, and a script of filters, stored-table joins and window joins
runs on them. It is killed and started again a few times, and in the end it drains. The results must be those that
DuckDB computes from the definition, and meanwhile readers of the folder must find each row once.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.storage.crash.compare import Expected, differences, expected_of, rejected_objects
from tests.storage.crash.plan import KINDS, MOST, ROWS, RoundPlan, round_plan
from tests.storage.crash.process import RunProcess
from tests.storage.crash.reader import Reader
from tests.storage.crash.report import summary_of, table
from tests.storage.crash.round import DRAIN_S, Round, RoundResult
from tests.storage.crash.workload import COLUMNS, Size, Workload, make_workload

Tell = Callable[[str], object]
TIMES = 10


class Inputs:
    """The workload of a seed with what it gives; an uninterrupted run without `--state` must agree."""

    def __init__(self, folder: Path, size: Size, tell: Tell, *, plain: bool = True) -> None:
        self._folder, self._size, self._tell, self._plain = folder, size, tell, plain
        self._known: dict[int, tuple[Workload, Expected]] = {}

    def of(self, seed: int) -> tuple[Workload, Expected]:
        """Make the workload of a seed; raise RuntimeError if the uninterrupted run is wrong."""
        if seed not in self._known:
            began = time.monotonic()
            made = make_workload(seed, self._folder / f"made-{seed}", self._size)
            want = expected_of(made)
            computed_s = time.monotonic() - began
            rows = sum(results.num_rows for results in want.results.values())
            said = f"input {seed}: {rows:,} results expected, computed in {computed_s:.0f} s"
            if self._plain:
                plain_s, reads, notes = uninterrupted(made, want, self._folder / f"plain-{seed}")
                said += f"; a run without --state has them, in {plain_s:.0f} s, as read {reads} times meanwhile"
                for note in notes:
                    self._tell(f"note, without --state and without kills: {note}")
            self._tell(said)
            self._known[seed] = (made, want)
        return self._known[seed]


def uninterrupted(made: Workload, want: Expected, folder: Path) -> tuple[float, int, list[str]]:
    """Run without `--state` and kills on all files at once. Return its seconds, the reads, and their problems."""
    folder.mkdir()
    script, out = folder / "script.sql", folder / "out"
    script.write_text(made.script(made.folder, {"publish": "1 s"}, bulk=True), encoding="utf-8")
    queries = made.queries(bulk=True)
    reader = Reader(out, queries)
    reader.start()
    began = time.monotonic()
    run = RunProcess(script, out, folder / "log.jsonl", folder / "tmp", ["--drain"])
    try:
        code = run.wait(DRAIN_S)
    finally:
        reader.stop()
        run.clean_up()
    seconds = time.monotonic() - began
    if code != 0:
        raise RuntimeError(f"the run without --state ended with {code}: {run.last_words()}")
    wrong = differences(want, out, list(queries), list(COLUMNS))
    if wrong:
        raise RuntimeError("the run without --state is wrong:\n" + "\n".join(map(str, wrong)))
    for stream in COLUMNS:
        assert rejected_objects(out, stream)
    shutil.rmtree(folder)
    return seconds, reader.reads.total(), list(map(str, reader.problems))


def plans(wanted: argparse.Namespace, points: Sequence[str]) -> Iterator[RoundPlan]:
    """The rounds that the arguments ask for."""
    number = wanted.round or 0
    only, left = wanted.points, wanted.times or (None if wanted.round is not None else TIMES)
    while True:
        now = None if only is None else only[:MOST]
        plan = round_plan(wanted.seed, number, points=points, kinds=wanted.kinds, only=now, rows=wanted.rows)
        if wanted.without_state:
            plan = plan.first(0)
        elif only is not None:
            only = only[MOST:]
        elif left is not None:
            plan = plan.first(left)
            left -= len(plan.kills)
        yield plan
        if wanted.round is not None or left == 0 or only == []:
            return
        number += 1


def again(wanted: argparse.Namespace, plan: RoundPlan) -> str:
    """The command that repeats a round."""
    words = ["python -m tests.storage.killed", f"--seed {plan.seed} --round {plan.number}"]
    if wanted.points is not None:
        words.append(f"--points {','.join(kill.point for kill in plan.kills)}")
    else:
        words.append(f"--times {len(plan.kills)}")
    words += [f"--rows {wanted.rows}"] if wanted.rows else []
    words += [f"--kinds {','.join(wanted.kinds)}"] if tuple(wanted.kinds) != KINDS else []
    words += [f"--files {wanted.files}"] if wanted.files != Size.files else []
    return " ".join(words)


def fault_points() -> tuple[str, ...]:
    """The names of all fault points; none where there are none yet."""
    try:
        from penstock.storage.faults import POINTS
    except ImportError:
        return ()
    return tuple(POINTS)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, help="kills; default 10")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="begin no round after so many seconds")
    parser.add_argument("--round", type=int, help="only this round of the seed")
    parser.add_argument("--point", help="only kills at this fault point, --times of them; default 3")
    parser.add_argument("--points", type=listed, help="kills at these fault points, separated by commas")
    parser.add_argument("--all-points", action="store_true", help="a kill at each fault point")
    parser.add_argument("--kinds", type=listed, default=list(KINDS), help="of " + ",".join(KINDS))
    parser.add_argument("--rows", choices=ROWS, help="where rows are in all rounds; default: in turns")
    parser.add_argument("--files", type=int, default=Size.files, help="files of each stream")
    parser.add_argument("--no-plain", action="store_true", help="no uninterrupted run without --state")
    parser.add_argument(
        "--without-state", action="store_true", help="to try the harness: without kills or --state"
    )
    parser.add_argument("--folder", type=Path, help="where folders are made; default: the temporary folder")
    parser.add_argument("--keep", action="store_true", help="keep the folders of all rounds")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON; progress goes to stderr")
    wanted = parser.parse_args(given)
    points = fault_points()
    if wanted.all_points:
        wanted.points = list(points)
    elif wanted.point:
        wanted.points = [wanted.point] * (wanted.times or 3)
    if unknown := set(wanted.points or ()) - set(points):
        parser.error(
            f"unknown fault points {', '.join(sorted(unknown))}; known: {', '.join(points) or 'none yet'}"
        )
    if unknown := set(wanted.kinds) - set(KINDS):
        parser.error(f"unknown kinds {', '.join(sorted(unknown))}")
    return wanted


def listed(text: str) -> list[str]:
    return text.split(",")


def run_rounds(wanted: argparse.Namespace, tell: Tell) -> dict:
    """Run rounds, and return the summary. The folder of a failed round stays."""
    began = time.monotonic()
    points = fault_points()
    place = Path(tempfile.mkdtemp(prefix="penstock-killed-", dir=wanted.folder))
    inputs = Inputs(place, Size(wanted.files), tell, plain=not wanted.no_plain)
    results: list[RoundResult] = []
    kept = False
    try:
        for plan in plans(wanted, points):
            if wanted.seconds is not None and time.monotonic() - began > wanted.seconds:
                tell(f"{wanted.seconds:.0f} s are over; the next round is {plan.number}")
                break
            made, want = inputs.of(plan.input_seed)
            folder = place / f"round-{plan.number}"
            result = Round(plan, made, want, folder, tell, with_state=not wanted.without_state).run()
            results.append(result)
            kills = sum(len(each.kills) for each in results)
            failed = sum(each.failed for each in results)
            verdict = "FAILED" if result.failed else "right"
            tell(
                f"round {plan.number}: {verdict} in {result.seconds:.0f} s, {result.reads} reads; "
                f"{kills} kills so far, {failed} of {len(results)} rounds failed"
            )
            for line in (*result.told(), *(f"note: {note}" for note in result.notes)):
                tell(f"  {line}")
            if result.failed:
                tell(f"  its folder is {folder}; again: {again(wanted, plan)}")
            kept = kept or result.failed
            if not (result.failed or wanted.keep):
                shutil.rmtree(folder, ignore_errors=True)
    finally:
        if not (kept or wanted.keep):
            shutil.rmtree(place, ignore_errors=True)
    return summary_of(results, wanted.seed, points)


def main(given: Sequence[str] | None = None) -> int:
    wanted = arguments(given)
    to = sys.stderr if wanted.json else sys.stdout

    def tell(text: str) -> None:
        to.write(f"{time.strftime('%H:%M:%S')} {text}\n")
        to.flush()

    tell(f"seed {wanted.seed}")
    summary = run_rounds(wanted, tell)
    if wanted.json:
        sys.stdout.write(json.dumps(summary, indent=2) + "\n")
    else:
        sys.stdout.write("\n".join(["", *table(summary)]) + "\n")
    return 1 if summary["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
