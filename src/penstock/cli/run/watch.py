"""`penstock run --watch`: applies changes of the script's file to the run: queries, policy, goals."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Protocol, Self

from penstock.cli.policy_option import chosen_policy
from penstock.errors import PenstockError, RunEndedError
from penstock.language.script import Script
from penstock.policies import Policy
from penstock.qos.settings import SETTINGS, PolicySettings
from penstock.storage.script_changes import same_query

INTERVAL_S = 0.4
"""How often the file is checked; it is read when it has not changed since the check before."""
LIMITS = ("memory", "shed")
"""Settings that can change, besides those for the choice of the policy."""

Stamp = tuple[int, int, int]


class Executes(Protocol):
    """A run that executes statements while it runs."""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        ...

    def execute(self, sql: str, timeout: float | None) -> list[str]:
        """Execute statements; wait without a limit if there is no timeout."""
        ...


def stamp_of(path: Path) -> Stamp | None:
    """Return a value that changes with the file; None while the file is missing, as when an editor replaces it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Watcher:
    """Applies changes of the script's file to a run, in a thread of its own.

    New queries are created, missing ones dropped. A changed one is dropped and, when it has ended, created again;
    meanwhile nothing is read, so that each row is seen by one of the two.
    A change that cannot be applied is reported, and the run continues as it is.
    """

    def __init__(
        self,
        path: Path,
        read: Stamp | None,
        script: Script,
        running: Executes,
        tell: Callable[[str], object],
        fixed_policy: bool = False,
    ) -> None:
        self._path = path
        self._script = script
        self._running = running
        self._tell = tell
        self._fixed_policy = fixed_policy
        self._there = set(script.queries)
        self._read = self._seen = read
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="penstock-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._leaving.set()

    def _watch(self) -> None:
        while not self._leaving.wait(INTERVAL_S) and self._running.alive:
            self.check()

    def check(self) -> None:
        """Check the file once, and apply its changes."""
        before, self._seen = self._seen, stamp_of(self._path)
        if self._seen is not None and self._seen == before and self._seen != self._read:
            self._read = self._seen
            self._follow()

    def _follow(self) -> None:
        try:
            new = Script.read(self._path)
            policy = chosen_policy(None, new)
            choosing = PolicySettings.of(new.settings, new.queries)
        except PenstockError as error:
            self._tell(f"change not applied: {error}")
            return
        old, self._script = self._script, new
        if new.streams != old.streams or new.tables != old.tables:
            self._script = old
            self._tell("change not applied: streams and tables cannot change during a run; restart it")
            return
        self._follow_queries(old, new)
        before = PolicySettings.of(old.settings, old.queries)
        if before != choosing:  # after the queries: goals may weigh a new one
            if self._fixed_policy:
                self._tell("policy and goals not applied: --policy overrides SET policy and SET qos")
            else:
                weighed = [name for name in before.weights if name in new.queries]
                for statement in _statements(choosing, policy, weighed):
                    self._execute(statement)
        names = {*old.settings, *new.settings} - set(SETTINGS)
        for name in sorted(name for name in names if old.settings.get(name) != new.settings.get(name)):
            if name in LIMITS and name in new.settings:
                self._execute(f"SET {name} = {str(new.settings[name]).lower()}")
            else:
                self._tell(f"setting {name} not applied: it cannot change during a run; restart it")

    def _follow_queries(self, old: Script, new: Script) -> None:
        for name in old.queries.keys() - new.queries.keys():
            if name in self._there and self._execute(f"DROP QUERY `{name}`"):
                self._there.remove(name)
        for name, query in new.queries.items():
            if name in old.queries and same_query(query, old.queries[name]):
                continue
            statements = [f"DROP QUERY `{name}`"] if name in self._there else []
            self._there.discard(name)
            if self._execute("; ".join([*statements, query.statement])):
                self._there.add(name)

    def _execute(self, sql: str) -> bool:
        try:
            self._running.execute(sql, None)
        except RunEndedError:  # with a state, the next run applies the change
            return False
        except (PenstockError, CancelledError) as error:
            self._tell(f"change not applied: {error}")
            return False
        return True


def _statements(choosing: PolicySettings, policy: Policy, weighed: Sequence[str]) -> list[str]:
    """Return the statements that set policy, goals and weights; queries in `weighed` had a weight before."""
    if not choosing.is_on:
        weights = dict.fromkeys(weighed, 1.0) | dict(choosing.weights)
        said = ", ".join(f"weigh {name} {weight:.12g}" for name, weight in weights.items())
        return [f"SET policy = {_quoted(policy.name)}", *([f"SET qos = {_quoted(said)}"] if said else [])]
    wanted = choosing.selection()
    values = {"candidates": ", ".join(wanted.names), "selector": wanted.selector, "qos": str(wanted.goals)}
    return [f"SET {name} = {_quoted(value)}" for name, value in values.items()]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
