"""Parser of statements, one function each; `select.py` parses the query behind AS."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot.tokenizer_core import TokenType

from penstock.errors import nearest
from penstock.language.compose import bound_query, derived_stream
from penstock.language.names import name_key
from penstock.language.parse_columns import declared_columns
from penstock.language.scaling import scaled_query
from penstock.language.secrets import keep_secret
from penstock.language.select import ParsedQuery, parsed_query
from penstock.language.settings import checked_setting
from penstock.language.source_options import STREAMS, TABLES, Kind, OptionError, checked_options
from penstock.language.statements import Column, Drop, QueryDef, Relation, Setting, Statement, StreamDef, TableDef
from penstock.language.text import Span
from penstock.language.tokens import Tokens
from penstock.language.types import called
from penstock.language.values import Value, is_whole

_KAFKA = (
    " Write FROM structured WITH (format = 'kafka', `kafka.bootstrap.servers` = 'host:9092', subscribe = 'name'), "
    "and start Spark with --packages org.apache.spark:spark-sql-kafka-0-10 of its version."
)


def parsed_statement(tokens: Tokens, relations: Mapping[str, Relation]) -> Statement:
    """Read one statement; `relations` are the streams and tables declared before it, by `name_key`."""
    word = tokens.expect_one_of(("CREATE", "DROP", "SET"), "at the start of a statement")
    if word == "SET":
        return _setting(tokens)
    if word == "DROP":
        return _drop(tokens)
    what = tokens.expect_one_of(("STREAM", "TABLE", "QUERY"), "after CREATE")
    if what == "QUERY":
        return _query(tokens, relations)
    return _relation(tokens, relations, stream=what == "STREAM")


def _drop(tokens: Tokens) -> Drop:
    if tokens.expect_one_of(("QUERY", "STREAM"), "after DROP") == "QUERY":
        name, _ = tokens.name("a query")
        tokens.expect_end()
        return Drop(name, tokens.span)
    name, _ = tokens.name("a stream")
    tokens.expect_end()
    return Drop(name, tokens.span, what="stream")


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
    scaled = _asks_to_scale(tokens)
    tokens.expect("AS", f"after CREATE QUERY {name}")
    query = bound_query(name, _parsed(tokens), relations, tokens.span)
    return query if scaled is None else scaled_query(query, tokens.text, scaled)


def _asks_to_scale(tokens: Tokens) -> Span | None:
    """Read the options of a query, and return the place of `scaled = true`; None if it is not among them."""
    given, spans = _given_options(tokens)
    for name, value in given.items():
        if name_key(name) != "scaled":
            hint = nearest(name_key(name), ["scaled"]) or " There is scaled."
            tokens.text.fail(f"a query has no option {name!r}.{hint}", spans[name])
        if not isinstance(value, bool):
            tokens.text.fail(f"option {name} must be true or false", spans[name])
    return next((spans[name] for name, value in given.items() if value), None)


def _parsed(tokens: Tokens) -> ParsedQuery:
    """Parse the query behind AS."""
    if tokens.done:
        tokens.fail("expected SELECT after AS, not the end of the statement")
    return parsed_query(tokens.rest())


def _relation(tokens: Tokens, relations: Mapping[str, Relation], *, stream: bool) -> StreamDef | TableDef:
    word, kinds = ("stream", STREAMS) if stream else ("table", TABLES)
    name, span = tokens.name(f"a {word}")
    if stream and tokens.took("AS"):
        return derived_stream(name, _parsed(tokens), relations, span)
    if tokens.word() == "AS":
        tokens.fail(
            "a stored table is read from files. CREATE STREAM has the results of a query: CREATE STREAM … AS"
        )
    columns, spans = declared_columns(tokens, f"{word} {name}")
    if tokens.word() == "AS":
        tokens.fail(f"a derived stream has the columns of its SELECT: write CREATE STREAM {name} AS SELECT …")
    tokens.expect("FROM", f"after the columns of {word} {name}")
    source, source_span = tokens.name(f"a kind of {word}")
    kind = kinds.get(source.lower())
    if kind is None:
        hint = _KAFKA if stream and source.lower() == "kafka" else nearest(source.lower(), kinds)
        tokens.text.fail(f"there is no kind of {word} {source!r}.{hint} There are {', '.join(kinds)}", source_span)
    options = _options(tokens, kind, source.lower(), columns, source_span)
    tokens.expect_end()
    _check_nested(tokens, columns, spans, kind, options.get("format", source.lower()))
    made = (StreamDef if stream else TableDef)(name, columns, source.lower(), options, span)
    if isinstance(made, StreamDef) and made.timestamp is not None:
        column = made.column(made.timestamp)
        if column is None:
            hint = nearest(made.timestamp, [each.name for each in columns])
            tokens.text.fail(f"stream {name} has no column {made.timestamp!r} for its event time.{hint}", span)
        if column.type.name != "TIMESTAMP":
            tokens.text.fail(
                f"the event time of stream {name} must be a TIMESTAMP, but {column.name} is {column.type.name}",
                span,
            )
        return replace(made, options={**options, "timestamp": column.name})
    return made


def _check_nested(
    tokens: Tokens, columns: Sequence[Column], spans: Mapping[str, Span], kind: Kind, form: str
) -> None:
    """Reject nested columns and paths where the source cannot have them."""
    for column in columns:
        if kind.makes_rows and column.path is not None:
            tokens.text.fail(
                "PATH applies to data that is read, but the rows of this stream are generated", spans[column.name]
            )
        if kind.makes_rows and column.type.is_nested:
            tokens.text.fail(
                f"column {column.name} is {called(column.type.family)}, but a generated stream has only simple "
                "values: numbers, strings, times, binary data and booleans",
                spans[column.name],
            )
        if form in ("csv", "clf") and column.type.is_nested:
            tokens.text.fail(
                f"column {column.name} is {called(column.type.family)}, but a CSV field is a simple value. "
                "Declare it as STRING; if it holds JSON, get_json_object(column, '$.name') reads a part of it",
                spans[column.name],
            )


def _options(tokens: Tokens, kind: Kind, word: str, columns: Sequence[Column], source: Span) -> dict[str, Any]:
    given, spans = _given_options(tokens)
    try:
        return checked_options(kind, word, given, columns)
    except OptionError as error:
        tokens.text.fail(str(error), spans.get(error.name or "", source))


def _given_options(tokens: Tokens) -> tuple[dict[str, Any], dict[str, Span]]:
    """Read WITH (name = value, …) if it is next, and return the values and their places."""
    given: dict[str, Any] = {}
    seen: set[str] = set()
    spans: dict[str, Span] = {}
    if tokens.took("WITH"):
        tokens.expect("(", "after WITH")
        while not tokens.took(")"):
            span = tokens.here
            name = _option_name(tokens)
            if name_key(name) in seen:
                tokens.text.fail(f"option {name!r} is given twice", span)
            seen.add(name_key(name))
            tokens.expect("=", f"after option {name}")
            given[name] = _value(tokens)
            keep_secret({name: given[name]})
            spans[name] = Span(span.start, tokens.behind)
            if not tokens.took(",") and tokens.word() != ")":
                tokens.fail(f"expected , or ) after option {name}, not {tokens.seen()}")
    return given, spans


def _option_name(tokens: Tokens) -> str:
    """Read the name of an option: with dots, as for Spark's sources, or in quotes."""
    if tokens.next is not None and tokens.next.token_type == TokenType.STRING:
        return tokens.take().text
    parts = [tokens.quotable_name("an option")[0]]
    while tokens.took("."):
        parts.append(tokens.quotable_name("an option")[0])
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
