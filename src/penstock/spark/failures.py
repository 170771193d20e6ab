"""Whose fault a failed job was: what it made is made part by part, each alone, and groups by halves."""

from collections.abc import Callable
from dataclasses import replace

from penstock.language.group import Group
from penstock.spark.engine import Engine
from penstock.spark.grouped import restricted
from penstock.spark.job import Work
from penstock.spark.session import explained
from penstock.spark.state import Run
from penstock.spark.walks import leaving

Execute = Callable[[Work], object]


def culprits(engine: Engine, run: Run, execute: Execute) -> dict[str, str]:
    """Return the queries that let a run's job fail, each with the reason; none if every part works alone."""
    found: dict[str, str] = {}
    plan = run.work.plan
    for operator in leaving(plan, run.taken, run.work.through):
        alone = replace(run.work, only=frozenset({operator}))
        reason = _fault(execute, alone)
        if reason is None:
            continue
        groups = [plan.groups.get(name) for name in plan.roots.get(operator, ())]
        if len(groups) == 1 and groups[0] is not None:
            found |= _halved(engine, execute, alone, groups[0], reason)
        else:
            found |= dict.fromkeys(engine.users_of(run, operator), reason)
    return found


def _fault(execute: Execute, work: Work) -> str | None:
    """Return why some work fails, if it does."""
    try:
        execute(work)
    except Exception as error:
        return explained(error)
    return None


def _halved(engine: Engine, execute: Execute, work: Work, group: Group, reason: str) -> dict[str, str]:
    """Return the members of a group whose constants let it fail, found by halving; all, if it fails anyway."""
    members = [name for name in group.members if engine.queries[name].live]
    without = _fault(execute, restricted(work, group, ()))
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
            fault = _fault(execute, restricted(work, group, half))
            if fault is not None:
                pending.append((half, fault))
    return found
