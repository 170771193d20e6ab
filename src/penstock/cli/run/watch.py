"""`penstock run --watch`: applies changes of the script's file to the run: queries, policy, goals."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Protocol, Self

from penstock.cli.policy_option import chosen_policy
from penstock.errors import PenstockError, RunError
from penstock.language.script import Script
from penstock.language.statements import QueryDef
from penstock.plan.translate import steps_of
from penstock.policies import Policy
from penstock.qos.settings import SETTINGS, PolicySettings

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

    def execute(self, sql: str) -> list[str]:
        """Execute statements."""
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

    New queries are created, missing ones dropped. A changed one is dropped and, when it has ended, created again.
    A change that cannot be applied is reported, and the run continues as it is.
    """

    def __init__(
        self,
        path: Path,
        read: Stamp | None,
        script: Script,
        running: Executes,
        is_live: Callable[[str], bool],
        tell: Callable[[str], object],
        fixed_policy: bool = False,
    ) -> None:
        self._path = path
        self._script = script
        self._running = running
        self._is_live = is_live
        self._tell = tell
        self._fixed_policy = fixed_policy
        self._there = set(script.queries)
        self._waiting: dict[str, QueryDef] = {}
        self._settings: list[str] = []
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
        for name, query in list(self._waiting.items()):
            if not self._is_live(name):
                del self._waiting[name]
                if self._execute(f"CREATE QUERY `{name}` AS {query.sql}"):
                    self._there.add(name)
        while self._settings and not self._waiting:  # goals may weigh a query that is not created yet
            self._execute(self._settings.pop(0))

    def _follow(self) -> None:
        try:
            new = Script.read(self._path)
            policy = chosen_policy(None, new)
            choosing = PolicySettings.of(new.settings, new.queries)
        except PenstockError as error:
            self._tell(f"change not applied: {error}")
            return
        old = self._script
        if new.streams != old.streams or new.tables != old.tables:
            self._tell("change not applied: streams and tables cannot change during a run; restart it")
            return
        self._script = new
        for name in self._outdated(old, new):
            if self._execute(f"DROP QUERY `{name}`"):
                self._there.remove(name)
        before = PolicySettings.of(old.settings, old.queries)
        if before != choosing:
            if self._fixed_policy:
                self._tell("policy and goals not applied: --policy overrides SET policy and SET qos")
            else:
                self._settings = _statements(
                    choosing, policy, [name for name in before.weights if name in new.queries]
                )
        names = {*old.settings, *new.settings} - set(SETTINGS)
        for name in sorted(name for name in names if old.settings.get(name) != new.settings.get(name)):
            if name in LIMITS and name in new.settings:
                self._settings.append(f"SET {name} = {str(new.settings[name]).lower()}")
                continue
            self._tell(f"setting {name} not applied: it cannot change during a run; restart it")

    def _outdated(self, old: Script, new: Script) -> Iterator[str]:
        """Return the running queries to drop; those to create wait until they have ended."""
        for name, query in old.queries.items():
            if name not in new.queries:
                self._waiting.pop(name, None)
            elif steps_of(query) != steps_of(new.queries[name]):
                self._waiting[name] = new.queries[name]
            else:
                continue
            if name in self._there:
                yield name
        self._waiting |= {name: query for name, query in new.queries.items() if name not in old.queries}

    def _execute(self, sql: str) -> bool:
        try:
            self._running.execute(sql)
        except (PenstockError, CancelledError, TimeoutError) as error:
            if self._running.alive or not isinstance(error, RunError):
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
