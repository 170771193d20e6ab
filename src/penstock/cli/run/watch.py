"""`penstock run --watch`: when the script's file changes, its queries, its policy and its goals follow."""

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
LIMITS = ("memory", "shed")
"""Settings that are taken over beside those for the choice of the policy."""
"""The file is looked at so often; it is read when it has not changed since the look before."""

Stamp = tuple[int, int, int]


class Executes(Protocol):
    """A run that takes statements while it goes on."""

    @property
    def alive(self) -> bool:
        """Whether it goes on."""
        ...

    def execute(self, sql: str) -> list[str]:
        """Carry statements out."""
        ...


def stamp_of(path: Path) -> Stamp | None:
    """Return what tells one version of a file from another; None while an editor is about to put it back."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Watcher:
    """Keeps a run as its file says, from a thread of its own.

    New queries are created, missing ones dropped. A changed one is dropped and, when it has ended, created again.
    What cannot be taken over is told, and the run goes on as it is.
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
            self.look()

    def look(self) -> None:
        """Look at the file once, and do what is to be done."""
        before, self._seen = self._seen, stamp_of(self._path)
        if self._seen is not None and self._seen == before and self._seen != self._read:
            self._read = self._seen
            self._follow()
        for name, query in list(self._waiting.items()):
            if not self._is_live(name):
                del self._waiting[name]
                if self._execute(f"CREATE QUERY `{name}` AS {query.sql}"):
                    self._there.add(name)
        while self._settings and not self._waiting:  # goals may weigh a query that is still to come
            self._execute(self._settings.pop(0))

    def _follow(self) -> None:
        try:
            new = Script.read(self._path)
            policy = chosen_policy(None, new)
            choosing = PolicySettings.of(new.settings, new.queries)
        except PenstockError as error:
            self._tell(f"not taken over: {error}")
            return
        old = self._script
        if new.streams != old.streams or new.tables != old.tables:
            self._tell("not taken over: streams and tables cannot change while a script runs; start it again")
            return
        self._script = new
        for name in self._outdated(old, new):
            if self._execute(f"DROP QUERY `{name}`"):
                self._there.remove(name)
        before = PolicySettings.of(old.settings, old.queries)
        if before != choosing:
            if self._fixed_policy:
                self._tell("policy and goals not taken over: --policy goes before SET policy and SET qos")
            else:
                self._settings = _statements(
                    choosing, policy, [name for name in before.weights if name in new.queries]
                )
        names = {*old.settings, *new.settings} - set(SETTINGS)
        for name in sorted(name for name in names if old.settings.get(name) != new.settings.get(name)):
            if name in LIMITS and name in new.settings:
                self._settings.append(f"SET {name} = {str(new.settings[name]).lower()}")
                continue
            self._tell(f"setting {name} not taken over: it cannot change while a script runs; start it again")

    def _outdated(self, old: Script, new: Script) -> Iterator[str]:
        """Return the queries that are there and are to go; those that are to come wait for that."""
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
                self._tell(f"not taken over: {error}")
            return False
        return True


def _statements(choosing: PolicySettings, policy: Policy, weighed: Sequence[str]) -> list[str]:
    """Return what lets a run choose its policy like this, or go on with this one; these queries had a weight."""
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
