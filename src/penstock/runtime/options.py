"""`RunOptions`: how a script runs, by its settings and a caller's arguments. `defaults.py` has the defaults."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.language.script import Script
from penstock.policies import Exhaustive, Limited, Policy, Service, policy_named
from penstock.qos import Goals
from penstock.qos.settings import PolicySettings
from penstock.runtime.defaults import (
    CHUNK_ROWS,
    CHUNK_US,
    COMMIT_US,
    IN_FLIGHT,
    MEMORY,
    POLICY,
    PUBLISH_US,
    QUANTUM_US,
)
from penstock.runtime.memory_sizes import buffer_bytes, check_memory
from penstock.runtime.rows.place_choice import RowsSetting
from penstock.runtime.script_checks import check_script, policy_settings


@dataclass(frozen=True)
class RunOptions:
    """Checked options of a run. Use `of` to make them."""

    policy: Policy
    choice: PolicySettings
    """Goals, selector and candidates."""
    pinned: bool
    """Whether the caller gave the policy, which then overrides the goals."""
    drain: bool
    seconds: float | None
    chunk_rows: int
    chunk_us: int
    memory: int
    """Bytes that may wait."""
    has_memory_limit: bool
    """Whether the script sets `memory`. Only then do policies save memory and is load shed."""
    service: Service
    quantum_s: float
    in_flight: int
    shed: bool
    publish_us: int
    groups: bool
    optimize: bool
    buffer_bytes: int
    """Bytes that one source may read ahead."""
    rows: RowsSetting = "auto"
    """Where rows are."""
    commit_us: int = COMMIT_US
    """With a state: how long finished work may wait to be committed with other work."""
    state_bytes: int | None = None
    """With a state: bytes of rows that it may hold."""

    @classmethod
    def of(
        cls,
        script: Script,
        *,
        policy: str | Policy | None = None,
        qos: Goals | str | Mapping[str, float] | None = None,
        selector: str | None = None,
        drain: bool = False,
        seconds: float | None = None,
        chunk_rows: int | None = None,
        batch_rows: int | None = None,
        in_flight: int | None = None,
        publish_us: int = PUBLISH_US,
    ) -> "RunOptions":
        """Return the options of a run; raise if the script cannot run with them. Arguments override settings."""
        check_script(script, policy, drain=drain, seconds=seconds)
        settings = script.settings
        batch = batch_rows or settings.get("batch_rows")
        memory = settings.get("memory", MEMORY)
        found = cls(
            policy=policy_named(policy or settings.get("policy", POLICY)),
            choice=policy_settings(script, qos, selector),
            pinned=policy is not None,
            drain=drain,
            seconds=seconds,
            chunk_rows=chunk_rows or settings.get("chunk_rows", CHUNK_ROWS),
            chunk_us=settings.get("chunk_time", CHUNK_US),
            memory=memory,
            has_memory_limit="memory" in settings,
            service=Exhaustive() if batch is None else Limited(batch),
            quantum_s=settings.get("quantum", QUANTUM_US) / 1e6,
            in_flight=in_flight or settings.get("in_flight", IN_FLIGHT),
            shed=settings.get("shed", "memory" in settings and not drain),
            publish_us=settings.get("publish", publish_us),
            groups=settings.get("groups", True),
            optimize=settings.get("optimize", True),
            buffer_bytes=buffer_bytes(memory, len(script.streams)),
            rows=settings.get("rows", "auto"),
            commit_us=settings.get("commit", COMMIT_US),
            state_bytes=settings.get("state"),
        )
        if found.has_memory_limit:
            found.check_memory(script, memory)
        return found

    @property
    def memory_limit(self) -> int | None:
        """The limit that policies watch; None if the script sets none."""
        return self.memory if self.has_memory_limit else None

    def check_memory(self, script: Script, memory: int) -> None:
        """Raise if a memory limit is below one chunk of every stream."""
        check_memory(memory, script.streams.values(), self.chunk_rows, self.chunk_us)
