"""Changes of an edited script that wait to be carried out. A run may end before: then the next one does it.

A query is created only when the dropped one of its name has ended, which may take long.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from penstock.language.script import Script
from penstock.language.statements import Drop, QueryDef, Statement, create_statement
from penstock.storage.image import Image
from penstock.storage.script_changes import query_changes, same_query

_KINDS = {"create": "create", "drop": "drop", "forget": "drop"}


def changes_to_make(running: Script, before: Script, now: Script, image: Image) -> list[Statement]:
    """Return the statements that bring a running script to what its file says now."""
    left = [each for each in left_over(running, image) if _is_unchanged(each.name, before, now)]
    return [*left, *query_changes(running, before, now)]


def _is_unchanged(name: str, before: Script, now: Script) -> bool:
    one, other = before.queries.get(name), now.queries.get(name)
    return one is other if one is None or other is None else same_query(one, other)


def left_over(running: Script, image: Image) -> list[Statement]:
    """Return the statements that were to be carried out in the last run, and were not."""
    since = image.script.get("since", 0)
    done = Counter(
        (_KINDS[each["kind"]], each["name"], each.get("sql", ""), each.get("scaled", False))
        for each in _of_queries(image)[since:]
        if each["kind"] in _KINDS
    )
    left: list[tuple[str, str, str, bool]] = []
    for kind, name, sql, *scaled in image.script.get("waiting", ()):
        change = (kind, name, sql, bool(scaled))
        if done[change]:
            done[change] -= 1
        else:
            left.append(change)
    text, there = "", set(running.queries)
    for kind, name, sql, is_scaled in left:  # what was created or dropped by hand meanwhile stays
        if kind == "drop" and name in there:
            text += f"DROP QUERY `{name}`;\n"
            there.remove(name)
        elif kind == "create" and name not in there:
            text += f"{create_statement(name, sql, scaled=is_scaled)};\n"
            there.add(name)
    return list(running.read_statements(text))


def as_waiting(statements: Iterable[Statement], image: Image) -> dict[str, Any]:
    """Return statements as a checkpoint has them, with the number of changes before them."""
    waiting = [
        ["create", each.name, each.sql, *([True] if each.scaled else [])]
        if isinstance(each, QueryDef)
        else ["drop", each.name, ""]
        for each in statements
        if isinstance(each, QueryDef | Drop)
    ]
    return {"waiting": waiting, "since": len(_of_queries(image))}


def _of_queries(image: Image) -> list[dict[str, Any]]:
    return [each for each in image.engine["changes"] if each["kind"] != "set"]
