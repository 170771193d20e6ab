"""What changed in a script since the last run: streams and tables, and the queries to drop and to create."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from penstock.language.script import Script
from penstock.language.secrets import is_secret, masked
from penstock.language.source_options import DURATIONS
from penstock.language.statements import Column, Drop, QueryDef, Relation, Statement, StreamDef
from penstock.plan.translate import steps_of
from penstock.storage.image import Image


def kept_scripts(image: Image, folder: Path, now: Script | None = None) -> tuple[Script, Script]:
    """Return the script as the run began, with the latest streams and tables, and its latest version.

    `now` need not be parsed again if one of these has the same text.
    """
    kept = image.script
    parsed = {} if now is None else {now.text: now}
    for text in (kept["text"], kept["latest"]):
        if text not in parsed:
            parsed[text] = Script.parse(text, kept["name"], folder)
    first, latest = parsed[kept["text"]], parsed[kept["latest"]]
    return replace(first, streams=latest.streams, tables=latest.tables), latest


def relation_differences(before: Mapping[str, Relation], now: Mapping[str, Relation]) -> list[str]:
    """Return what is different in streams and tables that a state knows; nothing if they are the same."""
    return list(_differences(before, now))


def _differences(before: Mapping[str, Relation], now: Mapping[str, Relation]) -> Iterator[str]:
    for name, old in before.items():
        new = now.get(name)
        if new is None:
            yield f"{name} is gone"
            continue
        if isinstance(old, StreamDef) and isinstance(new, StreamDef) and not _same_branches(old, new):
            yield f"{name} is derived by another query now"
            continue
        if old.source != new.source:
            yield f"{name} was FROM {old.source} and is now FROM {new.source}"
        columns = {column.name: column for column in old.columns}
        names = {column.name: column for column in new.columns}
        for each in {**columns, **names}:
            was, is_now = columns.get(each), names.get(each)
            if was != is_now:
                yield f"{name}: column {each} was {_type(was)} and is now {_type(is_now)}"
        if columns == names and list(columns) != list(names):
            yield f"{name}: the columns were in the order {', '.join(columns)}"
        for option in sorted({*old.options, *new.options}):
            if old.options.get(option) != new.options.get(option):
                yield (
                    f"{name}: {option} has another value"
                    if is_secret(option)
                    else f"{name}: {option} was {_value(old, option)} and is now {_value(new, option)}"
                )


def _same_branches(old: StreamDef, new: StreamDef) -> bool:
    same = (same_query(one, other) for one, other in zip(old.branches, new.branches, strict=False))
    return len(old.branches) == len(new.branches) and all(same)


def _type(column: Column | None) -> str:
    if column is None:
        return "missing"
    return column.type.name + (f" at {column.path}" if column.path else "")


def _value(relation: Relation, option: str) -> str:
    if option not in relation.options:
        return "not set"
    value = relation.options[option]
    return f"{int(value) / 1e6:g} s" if option in DURATIONS else masked(repr(value))


def query_changes(running: Script, before: Script, now: Script) -> list[Statement]:
    """Return the statements that bring a running script from one version of its file to another.

    Queries that were created or dropped while it ran, and are the same in both versions, stay as they are.
    """
    drops: list[Statement] = []
    creates: list[Statement] = []
    for name, query in before.queries.items():
        edited = now.queries.get(name)
        if edited is not None and same_query(query, edited):
            continue
        if name in running.queries:
            drops.append(Drop(name))
        if edited is not None:
            creates.append(edited)
    for name, query in now.queries.items():
        if name in before.queries:
            continue
        if name in running.queries and not same_query(running.queries[name], query):
            drops.append(Drop(name))
        if name not in running.queries or not same_query(running.queries[name], query):
            creates.append(query)
    return [*drops, *creates]


def same_query(one: QueryDef, other: QueryDef) -> bool:
    """Whether two queries have the same meaning, in whatever words."""
    same_text = (one.sql, one.scaled) == (other.sql, other.scaled)
    return same_text or steps_of(one) == steps_of(other)
