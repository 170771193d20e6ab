"""What several reports show: the machine, and what was required."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.report.page import Raw, table

NOTHING = "–"


def machine(found: Mapping[str, Any]) -> str:
    """Return the machine in a sentence."""
    memory = f", {found['memory_bytes'] / 1e9:.0f} GB" if found["memory_bytes"] else ""
    folders = "in memory" if found["folders_in_memory"] else "on disk"
    return (
        f"{found['processor']}, {found['cores']} cores{memory}; {found['system']}; Python {found['python']}, "
        f"PySpark {found['pyspark']}, Java heap {found['java_heap']}, files {folders}."
    )


def comparisons(required: Sequence[Mapping[str, Any]]) -> Raw:
    """Return a table of required and measured values."""
    marks = {True: Raw("<span class=good>holds</span>"), False: Raw("<span class=bad>does not hold</span>")}
    rows = [
        (
            each["claim"],
            f"{'≥' if each['side'] == 'at least' else '≤'} {each['required']:.3g}",
            NOTHING if each["measured"] is None else f"{each['measured']:.3g}",
            marks.get(each["holds"], each["reason"]),
        )
        for each in required
    ]
    return table(("", "required", "measured", ""), rows)
