"""Parser of column declarations in CREATE STREAM and CREATE TABLE: names, types, paths into nested data."""

from sqlglot.tokenizer_core import TokenType

from penstock.errors import nearest
from penstock.language.names import field_key, name_key
from penstock.language.statements import Column
from penstock.language.text import Span
from penstock.language.tokens import Tokens
from penstock.language.types import NAMES, NO_DECIMAL, ColumnType, is_decimal
from penstock.language.values import is_whole

MOST_COLUMNS = 1000
MOST_DEPTH = 20
_NESTED = {"array": "ARRAY<INT>", "map": "MAP<STRING, INT>", "struct": "STRUCT<host: STRING, port: INT>"}
"""The nested types, each with an example."""
_WORDS = [*NAMES, *_NESTED]


def declared_columns(tokens: Tokens, where: str) -> tuple[tuple[Column, ...], dict[str, Span]]:
    """Read the columns in parentheses; return them, and the place of each declaration in the text."""
    tokens.expect("(", f"with the columns after the name of {where}")
    columns: list[Column] = []
    spans: dict[str, Span] = {}
    seen: set[str] = set()
    while True:
        name, span = tokens.quotable_name("a column")
        if name_key(name) in seen:
            tokens.text.fail(f"{where} has two columns named {name!r}", span)
        if len(columns) >= MOST_COLUMNS:
            tokens.text.fail(f"{where} has more than {MOST_COLUMNS} columns", span)
        seen.add(name_key(name))
        kind = _type(tokens, f"column {name}", 1)
        columns.append(Column(name, kind, _path(tokens, name)))
        spans[name] = Span(span.start, tokens.behind)
        if tokens.took(")"):
            return tuple(columns), spans
        if not tokens.took(","):
            tokens.fail(f"expected , or ) after column {name}, not {tokens.seen()}")


def _path(tokens: Tokens, column: str) -> str | None:
    if not tokens.took("PATH"):
        return None
    token = tokens.next
    if token is None or token.token_type != TokenType.STRING:
        tokens.fail(f"expected a path in quotes after PATH, as in {column} STRING PATH 'id.orig_h'")
    if not all(part.strip() for part in token.text.split(".")):
        tokens.fail(f"{token.text[:40]!r} is not a path: write names separated by dots, as in 'id.orig_h'")
    return tokens.take().text


def _type(tokens: Tokens, what: str, depth: int) -> ColumnType:
    word = tokens.word().lower()
    if depth > MOST_DEPTH:
        tokens.fail(f"the type of {what} is nested too deeply: at most {MOST_DEPTH} levels")
    if word in _NESTED:
        return _nested_type(tokens, what, depth)
    if word not in NAMES:
        tokens.fail(f"expected the type of {what}, not {tokens.seen()}.{nearest(word, _WORDS)}")
    start = tokens.take().start
    name = NAMES[word]
    if tokens.word() != "(":
        return ColumnType("DECIMAL(10,0)" if name == "DECIMAL" else name)
    tokens.take()
    numbers = [_whole(tokens)]
    while tokens.took(","):
        numbers.append(_whole(tokens))
    tokens.expect(")", f"after the type of {what}")
    if name == "STRING" and len(numbers) == 1:
        return ColumnType(name)  # VARCHAR(20): the length is not checked
    span = Span(start, tokens.behind)
    if name != "DECIMAL" or len(numbers) > 2:
        most = "two numbers" if name == "DECIMAL" else "one number" if name == "STRING" else "no numbers"
        tokens.text.fail(f"{name} takes {most} in parentheses", span)
    precision, scale = numbers[0], numbers[1] if len(numbers) == 2 else 0
    if not is_decimal(precision, scale):
        tokens.text.fail(NO_DECIMAL, span)
    return ColumnType(f"DECIMAL({precision},{scale})")


def _nested_type(tokens: Tokens, what: str, depth: int) -> ColumnType:
    word = tokens.take().text.lower()
    if not tokens.took("<"):
        tokens.fail(f"expected < after {word.upper()}, as in {_NESTED[word]}, not {tokens.seen()}")
    if word == "struct":
        made = ColumnType.struct(_fields(tokens, what, depth))
    elif word == "array":
        made = ColumnType.array(_type(tokens, f"the elements of {what}", depth + 1))
    else:
        here = tokens.here
        key = _type(tokens, f"the keys of {what}", depth + 1)
        if key.is_nested:
            tokens.text.fail(f"the keys of a map cannot be {key.family}s", Span(here.start, tokens.behind))
        tokens.expect(",", f"between the types of keys and values of {what}")
        made = ColumnType.map(key, _type(tokens, f"the values of {what}", depth + 1))
    tokens.expect(">", f"at the end of the type of {what}")
    return made


def _fields(tokens: Tokens, what: str, depth: int) -> dict[str, ColumnType]:
    fields: dict[str, ColumnType] = {}
    seen: set[str] = set()
    while True:
        name, span = tokens.quotable_name("a field")
        if field_key(name) in seen:
            tokens.text.fail(f"{what} has two fields named {name!r}", span)
        seen.add(field_key(name))
        tokens.took(":")  # Spark does not need it either
        fields[name] = _type(tokens, f"field {name}", depth + 1)
        if not tokens.took(","):
            return fields


def _whole(tokens: Tokens) -> int:
    token = tokens.next
    if token is None or token.token_type != TokenType.NUMBER or not is_whole(token.text):
        tokens.fail(f"expected a whole number, not {tokens.seen()}")
    return int(tokens.take().text)
