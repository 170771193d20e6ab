"""Requests to a running script: CREATE QUERY, DROP QUERY and SET, handed over from other threads."""

from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from penstock.errors import PenstockError, RunEndedError, RunError
from penstock.language.script import Script
from penstock.language.statements import Drop, QueryDef, Setting, Statement
from penstock.qos.settings import SETTINGS as POLICY_SETTINGS
from penstock.runtime.change import Change
from penstock.runtime.engine import Engine
from penstock.runtime.policy_control import PolicyControl

ONLY_QUERIES = "while a script runs, queries can be created and dropped; streams and tables cannot"


class Limits(Protocol):
    """What changes with SET memory and SET shed."""

    def set_memory(self, memory: int) -> str:
        """Continue with another memory limit; return a message."""
        ...

    def set_shed(self, sheds: bool) -> str:
        """Turn load shedding on or off; return a message."""
        ...


@dataclass
class _Request:
    statements: list[Statement]
    messages: list[str] = field(default_factory=list)
    done: "Future[list[str]]" = field(default_factory=Future)


class Requests:
    """A queue of statements, carried out in order by the loop."""

    def __init__(
        self,
        script: Script,
        engine: Engine,
        policy_control: PolicyControl,
        limits: Limits,
        exact_types: Callable[[QueryDef], QueryDef],
        open_query: Callable[[QueryDef], object],
        on_event: Callable[[str], object],
        on_change: Callable[[], object],
    ) -> None:
        self.script = script
        self._engine = engine
        self._policy_control = policy_control
        self._limits = limits
        self._exact_types = exact_types
        self._open_query = open_query
        self._on_event = on_event
        self._on_change = on_change
        """Called when a request was carried out, before its caller is told."""
        self._waiting: deque[_Request] = deque()
        self._settling: deque[Future[None]] = deque()
        self._awaited = ""
        """The old query of the name that the next query to create has."""

    def __bool__(self) -> bool:
        """Whether a request waits."""
        return bool(self._waiting)

    # From other threads -------------------------------------------------------------------------------------

    def add(self, statements: list[Statement]) -> "Future[list[str]]":
        """Hand statements to the loop; the result is a message for each."""
        for statement in statements:
            is_stream = isinstance(statement, Drop) and statement.what == "stream"
            if is_stream or not isinstance(statement, QueryDef | Drop | Setting):
                raise RunError(ONLY_QUERIES)
        request = _Request(list(statements))
        self._waiting.append(request)
        return request.done

    def add_settle(self) -> "Future[None]":
        """Ask to be told when everything that has arrived by now is drained as far as possible."""
        asked: Future[None] = Future()
        self._settling.append(asked)
        return asked

    # From the loop ------------------------------------------------------------------------------------------

    @property
    def settling(self) -> "list[Future[None]]":
        """Those who wait until everything is drained."""
        return list(self._settling)

    def settle(self, asked: "list[Future[None]]") -> None:
        """Tell them that it is."""
        for each in asked:
            self._settling.remove(each)
            each.set_result(None)

    @property
    def hold(self) -> bool:
        """Whether a query begins when the dropped one of its name has ended.

        Nothing is read until then: each row is seen by one of the two.
        """
        return bool(self._awaited)

    def handle(self) -> None:
        """Carry out requests in order.

        A query's name is free again when the dropped query of that name has ended.
        """
        self._awaited, before = "", self._awaited
        while self._waiting:
            request = self._waiting[0]
            try:
                while request.statements:
                    if self._must_wait(request.statements[0]):
                        self._awaited = request.statements[0].name
                        if self._awaited != before:
                            self._on_event(f"nothing is read until the old query {self._awaited} has ended")
                        return
                    request.messages.append(self._carry_out(request.statements.pop(0)))
                    self._on_event(request.messages[-1])
                self._on_change()
                request.done.set_result(request.messages)
            except PenstockError as error:
                request.done.set_exception(error)
            self._waiting.popleft()

    def refuse_all(self) -> None:
        """Answer everybody who waits that the run has ended."""
        while self._waiting:
            self._waiting.popleft().done.set_exception(RunEndedError("the run has ended"))
        while self._settling:
            self._settling.popleft().set_exception(RunEndedError("the run has ended"))

    def _must_wait(self, statement: Statement) -> bool:
        state = self._engine.queries.get(statement.name)
        return isinstance(statement, QueryDef) and state is not None and state.status == "ending"

    def _carry_out(self, statement: Statement) -> str:
        if isinstance(statement, QueryDef):
            statement = self._exact_types(statement)
            self._open_query(statement)
            message = f"query {statement.name} begins at {_places(self._engine.create(statement).starts)}"
        elif isinstance(statement, Drop):
            message = self._drop(statement)
        elif isinstance(statement, Setting):
            message = self._set(statement)
        else:
            raise RunError(ONLY_QUERIES)
        self.script = self.script.with_statements([statement])
        return message

    def _drop(self, statement: Drop) -> str:
        name = next((name for name in self._engine.queries if name.lower() == statement.name.lower()), None)
        if name is None or name not in self.script.queries:
            raise RunError(f"there is no running query {statement.name!r} to drop")
        if not self._engine.queries[name].live:
            self._engine.history.append(Change("forget", name))
            return f"query {name} had stopped already"
        return f"query {name} ends before {_places(self._engine.drop(name).ends or {})}"

    def _set(self, setting: Setting) -> str:
        message = self._applied(setting)
        self._engine.history.append(Change("set", setting.name, value=setting.value))
        return message

    def _applied(self, setting: Setting) -> str:
        if setting.name == "memory":
            return self._limits.set_memory(setting.value)
        if setting.name == "shed":
            return self._limits.set_shed(setting.value)
        if setting.name in POLICY_SETTINGS:
            return self._policy_control.set(setting.name, setting.value)
        raise RunError(f"setting {setting.name!r} cannot be changed while a script runs")


def _places(sequences: Mapping[str, int]) -> str:
    return ", ".join(f"{stream} {sequence}" for stream, sequence in sequences.items())
