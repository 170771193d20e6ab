"""The load monitor: samples memory and load for policies and shedding; carries out SET memory and SET shed."""

from collections.abc import Callable

from penstock.language.script import Script
from penstock.runtime.engine import Engine
from penstock.runtime.intake import Intake
from penstock.runtime.load_control import SAMPLE_US, LoadControl, RunCounters, SheddingSummary
from penstock.runtime.options import RunOptions


class LoadMonitor:
    """Tells the engine what is held, and load control how the run keeps up."""

    def __init__(
        self,
        script: Script,
        engine: Engine,
        intake: Intake,
        options: RunOptions,
        on_event: Callable[[str], object],
    ) -> None:
        self._script = script
        self._engine = engine
        self._intake = intake
        self._options = options
        self._on_event = on_event
        self._memory = options.memory
        self._sheds = options.shed
        self._control = LoadControl(engine, options.in_flight)
        self._sampled_us = 0

    def begin(self, now_us: int) -> None:
        """Sample the load first an interval from now."""
        self._sampled_us = now_us

    @property
    def summary(self) -> SheddingSummary | None:
        """What load shedding predicts; None if it is off or has not sampled yet."""
        return self._control.summary

    def set_memory(self, memory: int) -> str:
        """Continue with another memory limit. One that is too small is refused, and nothing changes."""
        self._options.check_memory(self._script, memory)
        self._memory = memory
        self._intake.set_memory(memory)
        self._engine.set_memory(memory)
        return f"memory {memory:,} bytes"

    def set_shed(self, sheds: bool) -> str:
        """Turn load shedding on or off; when it goes off, drop boxes open."""
        self._sheds = sheds
        if not sheds:
            self._control = LoadControl(self._engine, self._options.in_flight)
            self._engine.set_keep(dict.fromkeys(self._engine.streams, 1.0))
        return f"shedding {'on' if sheds else 'off: everything is kept'}"

    def sample(self, now_us: int, awake_us: int) -> None:
        """Record memory, and sample the load if that is due. `awake_us` is the time with something to do."""
        held = self._intake.waiting_bytes()
        self._engine.observe_memory(now_us / 1e6, held)
        if self._sheds and now_us - self._sampled_us >= SAMPLE_US:
            self._sampled_us = now_us
            self._check_load(now_us, awake_us, held)

    def _check_load(self, now_us: int, awake_us: int, held: int) -> None:
        offered = self._intake.offered(now_us)
        if not offered:
            return
        counts, costs = self._engine.recorder.streams, self._engine.costs
        message = self._control.sample(
            RunCounters(
                now_s=now_us / 1e6,
                offered=offered,
                served={name: counts[name].kept - self._engine.state.backlog_rows(name) for name in offered},
                row_bytes={name: counts[name].row_bytes for name in offered},
                held=held,
                limit=self._memory,
                behind=any(self._intake.held[name] for name in offered),
                worked_s=costs.busy_s,
                overhead_s=costs.jobs_overhead_s,
                awake_s=awake_us / 1e6,
            )
        )
        if message is not None:
            self._on_event(message)
