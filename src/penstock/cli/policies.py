"""`penstock policies`: lists every policy as gain ÷ cost × urgency."""

import json
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from penstock.cli.style import COMPACT, wide_console
from penstock.policies import POLICIES, Policy


def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list, one entry per policy.")] = False,
) -> None:
    """List every policy: what it schedules, its priority as gain ÷ cost × urgency, and where it comes from.

    Examples: `penstock policies`; `penstock policies --json | jq -r '.[].name'`
    """
    rows = [_row(policy) for policy in POLICIES.values()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    console = wide_console()
    table = Table(title="priority = gain ÷ cost × urgency", box=SIMPLE_HEAD, **COMPACT)
    table.add_column("name, unit", no_wrap=True)
    table.add_column("priority, and what it minimises")
    table.add_column("source", max_width=20 if console.width < 100 else None)
    for policy in POLICIES.values():
        name = Text(policy.name, style="bold").append(f"\n{policy.unit}", style="not bold dim")
        priority = Text(policy.formula).append(f"\n{policy.minimises}", style="dim")
        table.add_row(name, priority, policy.source)
    console.print(table)


def _row(policy: Policy) -> dict[str, str]:
    return {
        "name": policy.name,
        "unit": policy.unit,
        "gain": str(policy.gain),
        "cost": "1" if policy.cost is None else str(policy.cost),
        "urgency": policy.urgency,
        "formula": policy.formula,
        "minimises": policy.minimises,
        "source": policy.source,
    }
