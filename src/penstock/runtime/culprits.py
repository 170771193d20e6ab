"""Which queries made a job fail: its outputs are run one by one, and groups by halves."""

from dataclasses import dataclass, replace

from penstock.plan.group import Group
from penstock.plan.plan import Plan
from penstock.plan.reach import leaving
from penstock.plan.steps import Aggregate
from penstock.runtime.backend import Backend
from penstock.runtime.group_rows import restricted
from penstock.runtime.job import Job
from penstock.runtime.result_limits import TooManyResults
from penstock.runtime.state import RuntimeState
from penstock.runtime.work import Work


@dataclass(frozen=True)
class Attempt:
    """Runs parts of a failed job again.

    A part that makes too many results is to blame with the reason `too_many`, or, without one, not at all.
    """

    backend: Backend
    too_many: str | None = None

    def fault(self, work: Work) -> str | None:
        """Return why some work fails; None if it does not."""
        try:
            self.backend.run(replace(work, target=None, discard=work.target is not None))
        except TooManyResults:
            return self.too_many
        except Exception as error:
            return self.backend.explain(error)
        return None


def culprits(state: RuntimeState, job: Job, attempt: Attempt) -> dict[str, str]:
    """Return the queries that made a job fail, each with the reason; none if every part works alone."""
    found: dict[str, str] = {}
    plan = job.work.plan
    for operator in leaving(plan, job.taken, job.work.through):
        alone = replace(job.work, only=frozenset({operator}))
        reason = attempt.fault(alone)
        if reason is None:
            continue
        parts = _parts(plan, alone, operator)
        for user, part in parts.items():
            why = reason if len(parts) == 1 or part is alone else attempt.fault(part)
            if why is None:
                continue
            group = plan.groups.get(user)
            if group is not None and (len(parts) == 1 or part is not alone):
                found |= _halved(state, attempt, part, group, why)
            else:
                found |= dict.fromkeys(_live(state, plan, user), why)
    return found


def _parts(plan: Plan, alone: Work, operator: str) -> dict[str, Work]:
    """Return the queries of the network for which an operator works, each with the work that it needs.

    Queries that share partial aggregates need different ones; all other shared work is the same for all.
    """
    using = plan.roots.get(operator) or plan.network.users[operator]
    if not isinstance(plan.steps[operator], Aggregate):
        return dict.fromkeys(using, alone)
    edges = plan.network.out_edges[operator]
    found = {}
    for user in using:
        others = [edge for edge in edges if user not in plan.network.users[edge.target]]
        found[user] = replace(alone, wanted={**alone.wanted, **dict.fromkeys(others, frozenset())})
    return found


def _live(state: RuntimeState, plan: Plan, user: str) -> list[str]:
    return [name for name in plan.served_by(user) if state.queries[name].live]


def users(state: RuntimeState, job: Job) -> list[str]:
    """Return the queries that a job works for."""
    operators = leaving(job.work.plan, job.taken, job.work.through)
    return list(dict.fromkeys(name for each in operators for name in state.live_users(job.work.plan, each)))


def too_many_of_one_row(job: Job) -> str:
    """Return the reason to stop a query of which one row makes too many results."""
    [edge] = [edge for edge, chunks in job.taken.items() if chunks]
    stream = edge.source if edge.source in job.work.plan.network.stream_by_name else edge.target
    most = "" if job.work.limit is None else f" {job.work.limit.results:,}"
    return (
        f"one row of {stream} makes more results than fit into memory at once, more than{most}: "
        "give it smaller windows or another condition, or Spark more memory (--driver-memory)"
    )


def _halved(state: RuntimeState, attempt: Attempt, work: Work, group: Group, reason: str) -> dict[str, str]:
    """Return the members of a group whose constants make it fail, found by halving; all, if it always fails."""
    members = [name for name in group.members if state.queries[name].live]
    without = attempt.fault(restricted(work, group, ()))
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
            fault = attempt.fault(restricted(work, group, half))
            if fault is not None:
                pending.append((half, fault))
    return found
