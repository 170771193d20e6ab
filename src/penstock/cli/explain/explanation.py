"""The plan of a script as a JSON document, for `penstock explain`."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from penstock.cli.explain.orders import described, measured_joins, planned_joins
from penstock.cli.policy_option import chosen_policy
from penstock.cli.style import duration
from penstock.errors import RunError
from penstock.language.script import Script
from penstock.language.secrets import shown_options
from penstock.language.statements import Relation, WindowDef
from penstock.network import Edge, Network
from penstock.plan.group_differences import differences
from penstock.plan.plan import Plan, always, never
from penstock.plan.steps import Aggregate, Close, Columns, Join, Lookup
from penstock.policies import Policy, units_of
from penstock.runtime.script_checks import check_settings

ASSUMED = "Costs and selectivities are assumed until a run has measured them; so are the priorities shown here."
MEASURED = "Priorities are those before any run; orders of joins and their utilisation are as measured in {}."
SAMPLED = (
    "Orders of joins are from declared rates and sampled keys, and their utilisation is without the cost of jobs; "
    "a run chooses by what it measures, and adds that cost."
)
AS_WRITTEN = "SET optimize = false: joins run in the order written, streams linked by a condition first."


def explanation(file: Path, given: str | None, measured: Path | None = None) -> dict[str, Any]:
    """Return the plan of a script as a JSON document, under the given policy or the script's own.

    Orders of joins are those of the run whose summary is in the file `measured`, if it is given.
    """
    script = Script.read(file)
    policy = chosen_policy(given, script)
    check_settings(script)
    plan = Plan.of(script, always if script.settings.get("groups", True) else never)
    joins, notes = _joins(script, plan, measured)
    grouped = script.settings.get("groups", True)
    return {
        "streams": _streams(script, plan),
        "tables": {name: _relation(table) for name, table in script.tables.items()},
        "settings": dict(script.settings),
        "policy": {"name": policy.name, "formula": policy.formula, "unit": policy.unit},
        "operators": _operators(plan, joins),
        "queries": {name: _query(plan, name, plan.wanted()) for name in script.queries},
        "groups": {
            name: {"queries": list(group.members), "constants": list(group.template.types)}
            for name, group in plan.groups.items()
        },
        "alike": _alike(plan) if grouped else [],
        "units": _units(plan, policy),
        "notes": notes,
    }


def _joins(script: Script, plan: Plan, measured: Path | None) -> tuple[dict[str, Any], list[str]]:
    """Return the orders of joins, planned or as a run measured them, and notes on where they are from."""
    optimize = script.settings.get("optimize", True)
    joins = {name: described(join, optimize=optimize) for name, join in planned_joins(script, plan).items()}
    notes = [ASSUMED]
    if measured is not None:
        joins |= _measured(measured, joins)
        notes = [MEASURED.format(measured.name)]
    elif joins:
        notes.append(SAMPLED)
    if joins and not optimize:
        notes.append(AS_WRITTEN)
    return joins, notes


def _measured(file: Path, joins: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run measured of these joins; raise if the run was of another script."""
    ran = measured_joins(file)
    missing = [name for name in joins if len(joins[name]["orders"]) > 2 and name not in ran]
    both = ran.keys() & joins.keys()
    if missing or any(ran[name]["written"].keys() != joins[name]["written"].keys() for name in both):
        raise RunError(f"{file} is the summary of another script, or of a run without rows")
    return {name: join for name, join in ran.items() if name in joins}


def _streams(script: Script, plan: Plan) -> dict[str, Any]:
    """Return the streams, each with the columns that are read."""
    reads: dict[str, set[str]] = {name: set() for name in script.streams}
    for edge, columns in plan.wanted().items():
        if edge.source in reads:
            reads[edge.source] |= columns
    return {
        name: {**_relation(stream), "reads": _in_order(stream, reads[name])}
        for name, stream in script.streams.items()
    }


def _operators(plan: Plan, joins: Mapping[str, Any]) -> dict[str, Any]:
    return {
        operator.name: {
            "kind": operator.kind,
            "inputs": list(operator.inputs),
            "sql": plan.steps[operator.name].sql,
            "queries": _served(plan, plan.network.users[operator.name]),
            **_more(plan, operator.name),
            **joins.get(operator.name, {}),
        }
        for operator in plan.network.operators
    }


def _units(plan: Plan, policy: Policy) -> list[dict[str, Any]]:
    """Return the units that the policy schedules, the highest priority first."""
    users = plan.network.users
    return [
        {
            "name": unit.name,
            "priority": float(unit.static),
            "queries": _served(plan, sorted({user for edge in unit.entries for user in users[edge.target]})),
        }
        for unit in sorted(units_of(plan.network, policy), key=lambda unit: -unit.static)
    ]


def _alike(plan: Plan) -> list[dict[str, Any]]:
    """Return similar queries that do not run as one group, and why."""
    return [
        {
            "queries": list(each.queries),
            "like": list(each.like),
            "differs_in": each.what,
            "here": each.here,
            "there": each.there,
        }
        for each in differences(plan.queries, plan.templates)
    ]


def _more(plan: Plan, name: str) -> dict[str, Any]:
    step = plan.steps[name]
    if isinstance(step, Lookup):
        return {"table": step.table.name, "prefix": step.prefix}
    if isinstance(step, Aggregate):
        return {
            "panes": _length(step.by, plan.pane_of(name)),
            "blocks": _length(step.by, block) if (block := plan.block_of(name)) else None,
            "keys": [key.sql for key in step.keys if not key.is_variant],
            "aggregates": [call.sql for call in step.calls],
            "names": {
                **{key.name: key.sql for key in step.keys},
                **{call.name: call.sql for call in step.calls},
            },
        }
    if isinstance(step, Close):
        return {"closes": list(dict.fromkeys(map(_window, plan.windows_of(step))))}
    if not isinstance(step, Join):
        return {}
    return {"windows": [{"stream": port.stream, "window": _window(port.window)} for port in step.ports]}


def _query(plan: Plan, name: str, wanted: Mapping[Edge, Columns]) -> dict[str, Any]:
    network = plan.network
    root = network.query(plan.runs_as(name)).root
    mine = _below(network, root)
    streams = {item.relation.name: item.relation for item in plan.queries[name].streams}.values()
    reads: dict[str, set[str]] = {stream.name: set() for stream in streams}
    for edge in (edge for each in mine for edge in network.in_edges[each]):
        if edge.source in reads:
            reads[edge.source] |= wanted[edge]
    return {
        "sql": plan.queries[name].sql,
        "group": plan.runs_as(name) if plan.runs_as(name) in plan.groups else None,
        "root": root,
        "operators": mine,
        "shared": {
            each: others
            for each in mine
            if (others := [other for other in _served(plan, network.users[each]) if other != name])
        },
        "reads": {stream.name: _in_order(stream, reads[stream.name]) for stream in streams},
    }


def _served(plan: Plan, users: Iterable[str]) -> list[str]:
    """Return the script's queries that these queries of the network serve, members of groups included."""
    return [name for user in users for name in plan.served_by(user)]


def _below(network: Network, root: str) -> list[str]:
    """Return the operators of a query, leaves first."""
    found: dict[str, None] = {}
    pending = [root]
    while pending:
        name = pending.pop()
        if name in network.operator_by_name and name not in found:
            found[name] = None
            pending += network.operator_by_name[name].inputs
    return list(reversed(found))


def _relation(relation: Relation) -> dict[str, Any]:
    columns = {column.name: column.type.name for column in relation.columns}
    return {"source": relation.source, "columns": columns, "options": shown_options(relation.options)}


def _in_order(relation: Relation, names: set[str]) -> list[str]:
    return [column.name for column in relation.columns if column.name in names]


def _window(window: WindowDef) -> str:
    slide = "" if window.slide is None else f" SLIDE {_length(window.kind, window.slide)}"
    return f"[{window.kind.upper()} {_length(window.kind, window.size)}{slide}]"


def _length(kind: str, size: int) -> str:
    return str(size) if kind == "rows" else duration(size)
