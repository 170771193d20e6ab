"""Statements of a script, one reader each; the SELECT inside CREATE QUERY is read by `select.py`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot.tokenizer_core import TokenType

from penstock.errors import nearest
from penstock.language.bind import bound_query
from penstock.language.options import STREAMS, TABLES, Kind, OptionError, checked_options
from penstock.language.select import parsed_select
from penstock.language.settings import checked_setting
from penstock.language.statements import Column, Drop, QueryDef, Relation, Setting, Statement, StreamDef, TableDef
from penstock.language.text import Span
from penstock.language.tokens import Tokens
from penstock.language.types import NAMES, ColumnType
from penstock.language.values import Value, is_whole

MOST_COLUMNS = 1000


def parsed_statement(tokens: Tokens, relations: Mapping[str, Relation]) -> Statement:
    """Read one statement; `relations` are the streams and tables declared before it, by name in small letters."""
    word = tokens.expect_one_of(("CREATE", "DROP", "SET"), "at the start of a statement")
    if word == "SET":
        return _setting(tokens)
    if word == "DROP":
        tokens.expect("QUERY", "after DROP")
        name, _ = tokens.name("a query")
        tokens.expect_end()
        return Drop(name, tokens.span)
    what = tokens.expect_one_of(("STREAM", "TABLE", "QUERY"), "after CREATE")
    if what == "QUERY":
        return _query(tokens, relations)
    return _relation(tokens, stream=what == "STREAM")


def _setting(tokens: Tokens) -> Setting:
    name, span = tokens.name("a setting")
    tokens.expect("=", f"after SET {name}")
    value = _value(tokens)
    tokens.expect_end()
    try:
        return Setting(name.lower(), checked_setting(name.lower(), value), tokens.span)
    except ValueError as error:
        tokens.text.fail(str(error), span)


def _query(tokens: Tokens, relations: Mapping[str, Relation]) -> QueryDef:
    name, _ = tokens.name("a query")
    tokens.expect("AS", f"after CREATE QUERY {name}")
    if tokens.done:
        tokens.fail("expected SELECT after AS, not the end of the statement")
    return bound_query(name, parsed_select(tokens.rest()), relations, tokens.span)


def _relation(tokens: Tokens, *, stream: bool) -> StreamDef | TableDef:
    word, kinds = ("stream", STREAMS) if stream else ("table", TABLES)
    name, span = tokens.name(f"a {word}")
    columns = _columns(tokens, f"{word} {name}")
    tokens.expect("FROM", f"after the columns of {word} {name}")
    source, source_span = tokens.name(f"a kind of {word}")
    kind = kinds.get(source.lower())
    if kind is None:
        hint = nearest(source.lower(), kinds)
        tokens.text.fail(f"there is no kind of {word} {source!r}.{hint} There are {', '.join(kinds)}", source_span)
    options = _options(tokens, kind, source.lower(), columns, source_span)
    tokens.expect_end()
    made = (StreamDef if stream else TableDef)(name, columns, source.lower(), options, span)
    if isinstance(made, StreamDef) and made.timestamp is not None:
        column = made.column(made.timestamp)
        if column is None:
            hint = nearest(made.timestamp, [each.name for each in columns])
            tokens.text.fail(f"stream {name} has no column {made.timestamp!r} to take its time from.{hint}", span)
        if column.type.name != "TIMESTAMP":
            tokens.text.fail(
                f"the time of stream {name} must come from a TIMESTAMP, and {column.name} is {column.type.name}",
                span,
            )
        return replace(made, options={**options, "timestamp": column.name})
    return made


def _columns(tokens: Tokens, where: str) -> tuple[Column, ...]:
    tokens.expect("(", f"with the columns after the name of {where}")
    columns: list[Column] = []
    seen: set[str] = set()
    while True:
        name, span = tokens.name("a column")
        if name.lower() in seen:
            tokens.text.fail(f"{where} has two columns named {name!r}", span)
        if len(columns) >= MOST_COLUMNS:
            tokens.text.fail(f"{where} has more than {MOST_COLUMNS} columns", span)
        seen.add(name.lower())
        columns.append(Column(name, _type(tokens, name)))
        if tokens.took(")"):
            return tuple(columns)
        if not tokens.took(","):
            tokens.fail(f"expected , or ) after column {name}, not {tokens.seen()}")


def _type(tokens: Tokens, column: str) -> ColumnType:
    token = tokens.next
    word = tokens.word().lower()
    if token is None or word not in NAMES:
        hint = nearest(word, NAMES)
        tokens.fail(f"expected the type of column {column}, not {tokens.seen()}.{hint}")
    start = tokens.take().start
    name = NAMES[word]
    if tokens.word() != "(":
        return ColumnType("DECIMAL(10,0)" if name == "DECIMAL" else name)
    tokens.take()
    numbers = [_whole(tokens)]
    while tokens.took(","):
        numbers.append(_whole(tokens))
    tokens.expect(")", f"after the type of column {column}")
    if name == "STRING" and len(numbers) == 1:
        return ColumnType(name)  # VARCHAR(20): the length is not checked
    span = Span(start, tokens.behind)
    if name != "DECIMAL" or len(numbers) > 2:
        most = "two numbers" if name == "DECIMAL" else "one number" if name == "STRING" else "no numbers"
        tokens.text.fail(f"{name} takes {most} in brackets", span)
    precision, scale = numbers[0], numbers[1] if len(numbers) == 2 else 0
    if not 1 <= precision <= 38 or not 0 <= scale <= precision:
        tokens.text.fail("DECIMAL has 1 to 38 digits, of which some can be behind the point", span)
    return ColumnType(f"DECIMAL({precision},{scale})")


def _whole(tokens: Tokens) -> int:
    token = tokens.next
    if token is None or token.token_type != TokenType.NUMBER or not is_whole(token.text):
        tokens.fail(f"expected a whole number, not {tokens.seen()}")
    return int(tokens.take().text)


def _options(tokens: Tokens, kind: Kind, word: str, columns: Sequence[Column], source: Span) -> dict[str, Any]:
    given: dict[str, Any] = {}
    seen: set[str] = set()
    spans: dict[str, Span] = {}
    if tokens.took("WITH"):
        tokens.expect("(", "after WITH")
        while not tokens.took(")"):
            span = tokens.here
            name = _option_name(tokens)
            if name.lower() in seen:
                tokens.text.fail(f"option {name!r} is given twice", span)
            seen.add(name.lower())
            tokens.expect("=", f"after option {name}")
            given[name] = _value(tokens)
            spans[name] = Span(span.start, tokens.behind)
            if not tokens.took(",") and tokens.word() != ")":
                tokens.fail(f"expected , or ) after option {name}, not {tokens.seen()}")
    try:
        return checked_options(kind, word, given, columns)
    except OptionError as error:
        tokens.text.fail(str(error), spans.get(error.name or "", source))


def _option_name(tokens: Tokens) -> str:
    """Read a name, with dots as sources of Spark have them, or in quotes."""
    if tokens.next is not None and tokens.next.token_type == TokenType.STRING:
        return tokens.take().text
    parts = [tokens.name("an option")[0]]
    while tokens.took("."):
        parts.append(tokens.name("an option")[0])
    return ".".join(parts)


def _value(tokens: Tokens) -> Value:
    negative = tokens.took("-")
    token = tokens.take()
    if token.token_type == TokenType.NUMBER:
        try:
            number = int(token.text) if is_whole(token.text) else float(token.text)
        except ValueError:
            tokens.text.fail(f"{token.text!r} is not a number", Span(token.start, token.end + 1))
        return -number if negative else number
    if token.token_type == TokenType.STRING and not negative:
        return token.text
    if token.text.lower() in ("true", "false") and not negative:
        return token.text.lower() == "true"
    tokens.text.fail(
        f"expected a number, a string in quotes, true or false, not {token.text[:40]!r}",
        Span(token.start, token.end + 1),
    )
