"""Whose fault a failed job was: what it made is made part by part, each alone, and groups by halves."""

from collections.abc import Callable
from dataclasses import replace

from penstock.plan.group import Group
from penstock.plan.reach import leaving
from penstock.runtime.engine import Engine
from penstock.runtime.groups import restricted
from penstock.runtime.query_state import Job
from penstock.runtime.result_limits import TooManyResults
from penstock.spark.job import Work
from penstock.spark.session import explained

Execute = Callable[[Work], object]


def culprits(engine: Engine, run: Job, execute: Execute, too_many: str | None = None) -> dict[str, str]:
    """Return the queries that let a run's job fail, each with the reason; none if every part works alone.

    A part that makes too many results is to blame with the reason `too_many`, or, without one, not at all.
    """
    found: dict[str, str] = {}
    plan = run.work.plan
    for operator in leaving(plan, run.taken, run.work.through):
        alone = replace(run.work, only=frozenset({operator}))
        reason = _fault(execute, alone, too_many)
        if reason is None:
            continue
        groups = [plan.groups.get(name) for name in plan.roots.get(operator, ())]
        if len(groups) == 1 and groups[0] is not None:
            found |= _halved(engine, execute, alone, groups[0], reason, too_many)
        else:
            found |= dict.fromkeys(engine.users_of(run, operator), reason)
    return found


def users(engine: Engine, run: Job) -> list[str]:
    """Return the queries that a run works for."""
    operators = leaving(run.work.plan, run.taken, run.work.through)
    return list(dict.fromkeys(name for each in operators for name in engine.users_of(run, each)))


def too_many_of_one_row(run: Job) -> str:
    """Return the reason for which a query is stopped of which one row makes too many results."""
    [edge] = [edge for edge, chunks in run.taken.items() if chunks]
    stream = edge.source if edge.source in run.work.plan.network.stream_by_name else edge.target
    most = "" if run.work.limit is None else f" {run.work.limit.results:,}"
    return (
        f"one row of {stream} makes more results than fit into memory at once, more than{most}: "
        "give it smaller windows or another condition, or Spark more memory (--driver-memory)"
    )


def _fault(execute: Execute, work: Work, too_many: str | None) -> str | None:
    """Return why some work fails, if it does."""
    try:
        execute(work)
    except TooManyResults:
        return too_many
    except Exception as error:
        return explained(error)
    return None


def _halved(
    engine: Engine, execute: Execute, work: Work, group: Group, reason: str, too_many: str | None
) -> dict[str, str]:
    """Return the members of a group whose constants let it fail, found by halving; all, if it fails anyway."""
    members = [name for name in group.members if engine.queries[name].live]
    without = _fault(execute, restricted(work, group, ()), too_many)
    if without is not None:
        return dict.fromkeys(members, without)
    found: dict[str, str] = {}
    pending = [(members, reason)]
    while pending:
        names, why = pending.pop()
        if len(names) == 1:
            found[names[0]] = why
            continue
        middle = len(names) // 2
        for half in (names[:middle], names[middle:]):
            fault = _fault(execute, restricted(work, group, half), too_many)
            if fault is not None:
                pending.append((half, fault))
    return found
