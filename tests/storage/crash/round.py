"""A round: files keep coming while a run is killed and started again, and then the results are compared."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.storage.crash.compare import Difference, Expected, differences
from tests.storage.crash.plan import Kill, RoundPlan
from tests.storage.crash.process import ENDS_S, RunProcess
from tests.storage.crash.producer import Producer
from tests.storage.crash.reader import Problem, Reader
from tests.storage.crash.workload import COLUMNS, Workload

START_S = 90.0
"""The longest start of a run."""
FAULT_S = 60.0
"""After this time, a fault point that was not reached is given up."""
DRAIN_S = 300.0
FOLLOW_S = 25
"""Seconds of a run without `--state`, which is not killed."""
KILL_S = 11.0
"""What a kill takes on average, the start before it included."""
SIGKILL = -9

Tell = Callable[[str], object]


@dataclass(frozen=True)
class Killed:
    """What a kill did."""

    kill: Kill
    exit_code: int | None
    start_s: float | None
    """How long the start took; None if the run was not up."""
    lived_s: float
    ended_s: float
    """How long Python took to end after Java was killed."""
    missed: str = ""
    """Why there was no such kill: the point was not reached, or the run had ended."""
    drained: bool = False


@dataclass
class RoundResult:
    """What a round found."""

    plan: RoundPlan
    kills: list[Killed] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    reads: int = 0
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    last_drain_s: float | None = None

    @property
    def failed(self) -> bool:
        return bool(self.failures or self.problems or self.differences)

    def told(self) -> list[str]:
        """All that is wrong, a line each."""
        return [*self.failures, *map(str, self.problems), *map(str, self.differences)]


class Round:
    """Carries a plan out in `folder`."""

    def __init__(
        self, plan: RoundPlan, made: Workload, want: Expected, folder: Path, tell: Tell, *, with_state: bool = True
    ) -> None:
        self.result = RoundResult(plan)
        self._plan = plan
        self._want = want
        self._folder = folder
        self._tell = tell
        self._options = ["--state", str(folder / "state")] if with_state else []
        self._runs: list[RunProcess] = []
        bulk = plan.rows == "bulk"
        self._queries = made.queries(bulk=bulk)
        folder.mkdir(parents=True, exist_ok=True)
        self._script = folder / "script.sql"
        self._script.write_text(made.script(folder / "in", plan.settings, bulk=bulk), encoding="utf-8")
        self._out = folder / "out"
        seconds = KILL_S * max(plan.finished_after, 2)
        self._producer = Producer(made.files(bulk=bulk), folder / "in", seconds, plan.chance())
        self._reader = Reader(self._out, self._queries)

    def run(self) -> RoundResult:
        """Kill as planned, drain, and compare. A failure ends the kills, and the rest is still compared."""
        began = time.monotonic()
        self._producer.start()
        self._reader.start()
        try:
            going = True
            for number, kill in enumerate(self._plan.kills):
                if number == self._plan.finished_after:
                    self._producer.finish()
                going = going and self._kill(number, kill)
            if not self._options:
                self._follow()
            elif going:
                self._end()
        finally:
            self._producer.finish()
            self._reader.stop()
            for run in self._runs:
                if run.exit_code is not None and not run.wait_for_java():
                    self._fail(f"a process that it started lives {ENDS_S:.0f} s longer", run)
                run.clean_up()
        self.result.problems += self._reader.problems
        self.result.reads = self._reader.reads.total()
        self.result.seconds = time.monotonic() - began
        return self.result

    def _end(self) -> None:
        """Drain and compare, and perhaps once more."""
        self._producer.finish()
        if self._finish("drain"):
            self._compare("")
            if self._plan.starts_again and self._finish("again"):
                self._compare("after one more start: ")

    def _follow(self) -> None:
        """Follow the files for some time, without `--state`: joins then lack the last results."""
        if self._finish("follow", "--seconds", f"{FOLLOW_S}"):
            found = differences(self._want, self._out, list(self._queries), list(COLUMNS))
            self.result.differences += [each for each in found if each.doubled or each.foreign or not each.lost]

    def _start(self, name: str, *options: str, fault: str | None = None) -> RunProcess:
        drain = ["--drain"] if self._producer.finished else []
        logs, temporary = self._folder / "log", self._folder / "tmp"
        logs.mkdir(exist_ok=True)
        log = logs / f"{len(self._runs):02d}-{name}.jsonl"
        all_options = [*self._options, *drain, *options]
        module = "tests.storage.crash.launch" if self._plan.checkpoints_often else "penstock"
        run = RunProcess(self._script, self._out, log, temporary, all_options, fault, module)
        self._runs.append(run)
        return run

    def _fail(self, text: str, run: RunProcess) -> bool:
        said = run.last_words()
        self.result.failures.append(f"{text} ({run.log.name}){f': {said}' if said else ''}")
        return False

    def _kill(self, number: int, kill: Kill) -> bool:
        """Start a run and kill it; return whether the round can go on."""
        drains = self._producer.finished
        fault = f"{kill.point}:{kill.count}" if kill.kind == "fault" else None
        run = self._start(f"kill{number + 1}-{kill.kind}", fault=fault)
        going, missed, ended_s = True, "", 0.0
        if kill.kind == "fault":
            missed = self._wait_for_fault(run)
        elif not run.wait_until(kill.after_s, from_up=not kill.is_early):
            missed = "ended before"
        elif not kill.is_early and run.up_at is None:
            missed = "never up"
        lived_s = time.monotonic() - run.began
        if missed == "never up":
            run.abort()
            going = self._fail(f"kill {number + 1}: the run was not up after {lived_s:.0f} s", run)
        elif missed == "ended before":
            if run.exit_code != 0 or not drains:
                going = self._fail(f"kill {number + 1}: the run ended by itself with {run.exit_code}", run)
        elif kill.kind == "java":
            going, ended_s = self._kill_java(number, run)
        elif kill.kind != "fault" or missed:
            if kill.kind == "both":
                run.kill_java()
            run.kill()
        start_s = None if run.up_at is None else run.up_at - run.began
        done = Killed(kill, run.exit_code, start_s, lived_s, ended_s, missed, drains)
        self.result.kills.append(done)
        if kill.waits and not run.wait_for_java():
            going = self._fail(f"kill {number + 1}: Java lives {ENDS_S:.0f} s after Python was killed", run)
        self._tell(self._line(number, done))
        return going

    def _wait_for_fault(self, run: RunProcess) -> str:
        """Wait until the run kills itself; return why it did not."""
        while run.exit_code is None:
            if run.up_at is None and time.monotonic() > run.began + START_S:
                return "never up"
            if run.up_at is not None and time.monotonic() > run.up_at + FAULT_S:
                return "not reached"
            run.wait(0.2)
        return "" if run.exit_code == SIGKILL else "ended before"

    def _kill_java(self, number: int, run: RunProcess) -> tuple[bool, float]:
        """Kill Java alone; Python must then end with an error."""
        while not run.kill_java() and run.exit_code is None and time.monotonic() < run.began + START_S:
            time.sleep(0.1)
        killed = time.monotonic()
        code = run.wait(ENDS_S)
        ended_s = time.monotonic() - killed
        if code is None:
            run.abort()
            said = f"kill {number + 1}: Python hangs {ENDS_S:.0f} s after Java died; the stacks are in its log"
            return self._fail(said, run), ended_s
        if code == 0:
            return self._fail(f"kill {number + 1}: Java died and Python ended with 0", run), ended_s
        if any("Traceback" in line.get("text", "") for line in run.lines()):
            self.result.notes.append(
                f"kill {number + 1}: Java died, and Python printed a traceback ({run.log.name})"
            )
        return True, ended_s

    def _finish(self, name: str, *options: str) -> bool:
        """Run to the end; return whether that worked."""
        began = time.monotonic()
        run = self._start(name, *options)
        code = run.wait(DRAIN_S)
        if code is None:
            run.abort()
            return self._fail(f"{name}: it has not drained after {DRAIN_S:.0f} s; the stacks are in its log", run)
        if code != 0:
            return self._fail(f"{name}: exit code {code}", run)
        if name == "drain":
            self.result.last_drain_s = time.monotonic() - began
        return True

    def _compare(self, when: str) -> None:
        for each in differences(self._want, self._out, list(self._queries), list(COLUMNS)):
            self.result.differences.append(each)
            if when:
                self.result.failures.append(f"{when}{each.name} differs")

    def _line(self, number: int, done: Killed) -> str:
        start = "not up" if done.start_s is None else f"up after {done.start_s:.1f} s"
        missed = f" ({done.missed})" if done.missed else ""
        ended = f", Python ended {done.ended_s:.1f} s later" if done.ended_s else ""
        drained = ", draining" if done.drained else ""
        return (
            f"round {self._plan.number} ({self._plan.rows}) kill {number + 1}/{len(self._plan.kills)}: "
            f"{done.kill}{missed}, {start}{drained}, at {done.lived_s:.1f} s, exit {done.exit_code}{ended}; "
            f"{self._producer.moved} files, {self._reader.rows_seen:,} rows seen"
        )
