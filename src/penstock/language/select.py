"""The SELECT of a query: windows are taken out, sqlglot reads the rest, what is not built is refused by name."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import nearest
from penstock.language import functions
from penstock.language.dialect import DIALECT
from penstock.language.statements import WindowDef
from penstock.language.text import Span, Text
from penstock.language.tokens import Tokens, span_of
from penstock.language.types import NAMES
from penstock.language.values import is_whole, microseconds

MOST_ROWS = 10**9
_FRAMES = 1100
"""Calls of the parser inside each other: a function of a function takes some 25."""

REFUSED_CLAUSES = {
    "with_": "WITH is refused: subqueries are not built yet. Write one SELECT",
    "distinct": "DISTINCT is refused: it would have to remember every row there ever was",
    "group": "GROUP BY is refused: aggregates are not built yet",
    "having": "HAVING is refused: aggregates are not built yet",
    "qualify": "QUALIFY is refused: window functions are not built yet",
    "windows": "WINDOW is refused: window functions are not built yet",
    "order": "ORDER BY is refused: a continuous query has no end at which its rows could be sorted",
    "sort": "SORT BY is refused: a continuous query has no end at which its rows could be sorted",
    "cluster": "CLUSTER BY is refused: a continuous query has no end at which its rows could be sorted",
    "distribute": "DISTRIBUTE BY is refused: Penstock decides where rows are worked on",
    "limit": "LIMIT is refused: a continuous query has no end; DROP QUERY stops it",
    "offset": "OFFSET is refused: a continuous query begins at its start sequence",
    "laterals": "LATERAL is refused: it is not built yet",
    "into": "INTO is refused: results go where `--out` says",
    "hint": "hints are refused: Penstock decides how a query runs",
    "sample": "TABLESAMPLE is refused: it is not built yet",
    "kind": "this form of SELECT is refused",
}
KNOWN_CLAUSES = {"expressions", "from_", "joins", "where"}
_CLAUSES = (TokenType.SELECT, TokenType.FROM, TokenType.JOIN, TokenType.ON, TokenType.WHERE)
_SETS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
_BEFORE_JSON = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET)
_NOT_BEHIND_COMMA = (
    TokenType.ALIAS,
    TokenType.COMMA,
    TokenType.FROM,
    TokenType.JOIN,
    TokenType.R_PAREN,
    TokenType.WHERE,
)


@dataclass(frozen=True)
class Parsed:
    """A SELECT as a tree, and the windows by the offset at which their stream's name begins."""

    text: Text
    tree: exp.Select
    windows: Mapping[int, tuple[WindowDef, Span]]
    sql: str


def parsed_select(tokens: Tokens) -> Parsed:
    """Read the tokens of a SELECT."""
    text = tokens.text
    _check_start(tokens)
    kept, windows = _cut_windows(tokens)
    _check_signs(text, kept)
    try:
        with _room_to_recurse():
            trees = DIALECT.parser(error_level=ErrorLevel.IMMEDIATE).parse(kept, text.content)
    except ParseError as error:
        _fail_parse(text, error, tokens.span)
    except (RecursionError, TokenError):  # the second is what sqlglot's tokenizer makes of the first
        text.fail("this query is nested too deeply", tokens.span)
    except (ValueError, LookupError, AttributeError, TypeError):  # sqlglot's own
        text.fail("SQL was expected, and something in here cannot be read", tokens.span)
    tree = trees[0]
    if len(trees) != 1 or not isinstance(tree, exp.Select):
        word = next((token for token in kept if token.token_type in _SETS), kept[0])
        text.fail(f"{word.text.upper()} is refused: a query is one SELECT … FROM … WHERE …", span_of(word))
    for clause, value in tree.args.items():
        if value and clause not in KNOWN_CLAUSES:
            message = REFUSED_CLAUSES.get(clause, f"{clause.strip('_').upper()} is refused: it is not built yet")
            text.fail(message, _clause_span(tokens, message))
    span = tokens.span
    return Parsed(text, tree, windows, text.content[span.start : span.stop])


@contextmanager
def _room_to_recurse() -> Iterator[None]:
    """Let the parser recurse as deep as in a plain program, however deep the caller is itself."""
    before = sys.getrecursionlimit()
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    sys.setrecursionlimit(max(before, depth + _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _check_start(tokens: Tokens) -> None:
    word = tokens.word()
    if word == "WITH":
        tokens.fail(REFUSED_CLAUSES["with_"])
    if word == "VALUES":
        tokens.fail("VALUES is refused: a query reads streams. CREATE TABLE holds rows that stay")
    if word != "SELECT":
        tokens.fail(f"expected SELECT after AS, not {tokens.seen()}")
    if len(tokens.tokens) > 1 and tokens.tokens[1].token_type == TokenType.ALIAS:
        tokens.text.fail("expected a column between SELECT and AS", span_of(tokens.tokens[1]))


def _check_signs(text: Text, tokens: Sequence[Token]) -> None:
    """Refuse signs that sqlglot would read in a way of its own."""
    for place, token in enumerate(tokens, start=1):
        if token.token_type == TokenType.COLON:
            _check_colon(text, tokens, place - 1)
        if token.token_type == TokenType.PIPE_GT:
            text.fail("|> is refused: a query is one SELECT … FROM … WHERE …", span_of(token))
        if token.token_type == TokenType.DCOLON and text.content[token.start] != ":":
            # 7L is no CAST(7 AS BIGINT): Spark counts the digits of a literal where it meets a DECIMAL
            text.fail("a letter behind a number is refused: write CAST(7 AS BIGINT) or the like", span_of(token))
        if token.token_type == TokenType.COMMA and (
            place == len(tokens) or tokens[place].token_type in _NOT_BEHIND_COMMA
        ):
            text.fail("something is missing behind this comma", span_of(token))


def _check_colon(text: Text, tokens: Sequence[Token], place: int) -> None:
    """Refuse ``js:a``, a part of JSON to others, which sqlglot reads as ``js AS a``."""
    before, behind = tokens[max(place - 1, 0)], tokens[min(place + 1, len(tokens) - 1)]
    if before.token_type in _BEFORE_JSON:
        column = before.text if before.token_type in (TokenType.VAR, TokenType.IDENTIFIER) else "…"
        name = behind.text[:40] if behind.token_type in (TokenType.VAR, TokenType.IDENTIFIER) else "name"
        text.fail(
            f"{column}:{name} is refused: write get_json_object({column}, '$.{name}') for a part of JSON, or AS "
            "before another name",
            Span(before.start, behind.end + 1),
        )


def span_of_node(node: exp.Expression, otherwise: Span) -> Span:
    """Return where an expression stands in the text, from the places that sqlglot kept."""
    places = [each.meta for each in node.walk() if "start" in each.meta]
    if not places:
        return otherwise
    return Span(min(place["start"] for place in places), max(place["end"] for place in places) + 1)


def _clause_span(tokens: Tokens, message: str) -> Span:
    """Return where the words stand with which the message about a clause begins, or the whole query."""
    words = message.split(" is refused")[0]
    for token in reversed(tokens.tokens):
        plain = token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
        said = " ".join(token.text.upper().split()) if plain else ""
        if said == words or (said == "FETCH" and words == "LIMIT"):
            return span_of(token)
        if token.token_type == TokenType.HINT and message == REFUSED_CLAUSES["hint"]:
            return span_of(token)
    return tokens.span


def _fail_parse(text: Text, error: ParseError, otherwise: Span) -> NoReturn:
    details = error.errors[0] if error.errors else {}
    said = str(details.get("description") or "").split(". ")[0]
    if "function" in details:
        said = _arguments_of(details["function"])
    elif "Required" in said:
        said = "something is missing behind this"
    elif said.startswith("Expecting ") and len(said) < 40:
        said = f"expected {said.removeprefix('Expecting ')} here"
    elif said.startswith("Expected table name"):
        said = "expected the name of a stream or a table behind this"
    else:
        said = "SQL was expected, and this does not fit here"
    span = Span(details["start"], details["end"] + 1) if "start" in details else otherwise
    text.fail(said, span)


def _arguments_of(name: str) -> str:
    """Return what to say of a call whose arguments cannot be."""
    known = functions.FUNCTIONS.get(name.lower())
    if name.lower() in functions.SPECIAL or known is not None:
        return f"{name.upper()} takes {functions.SPECIAL.get(name.lower()) or known.count}"  # type: ignore[union-attr]
    if name.lower() in NAMES:
        return f"{name.upper()} takes 1 argument: it is a cast, as in CAST(… AS {NAMES[name.lower()]})"
    hint = functions.INSTEAD.get(name.lower(), "")
    return f"{name[:40]!r} is not known here.{hint and ' '}{hint or nearest(name.lower(), functions.NAMES)}"


def _cut_windows(tokens: Tokens) -> tuple[list[Token], dict[int, tuple[WindowDef, Span]]]:
    """Take every ``[ROWS n]`` and ``[RANGE n unit]`` out, each with the name it stands behind."""
    if all(token.token_type != TokenType.L_BRACKET for token in tokens.tokens):
        return list(tokens.tokens), {}
    kept: list[Token] = []
    windows: dict[int, tuple[WindowDef, Span]] = {}
    rest = Tokens(tokens.text, tokens.tokens)
    while not rest.done:
        start = rest.here
        token = rest.take()
        if token.token_type != TokenType.L_BRACKET or not _begins_window(kept, rest):
            kept.append(token)
            continue
        window = _window(rest)
        stop = rest.here.stop
        rest.expect("]", "after the window")
        if not kept or kept[-1].start in windows:
            tokens.text.fail("a window stands behind the name of a stream: packets [ROWS 100] AS p", start)
        windows[kept[-1].start] = (window, Span(start.start, stop))
    return kept, windows


def _begins_window(before: Sequence[Token], rest: Tokens) -> bool:
    """Return whether what stands behind a bracket is a window, and no element such as ``arr[rows + 1]``."""
    if rest.word() not in ("ROWS", "RANGE"):
        return False
    behind = rest.tokens[rest.place + 1] if rest.place + 1 < len(rest.tokens) else None
    if behind is not None and behind.token_type in (TokenType.NUMBER, TokenType.STRING, TokenType.VAR):
        return True
    words = [token.token_type for token in before]
    clauses = [
        each for place, each in enumerate(words) if each in _CLAUSES and words[place - 1] != TokenType.DISTINCT
    ]
    return clauses[-1:] in ([TokenType.FROM], [TokenType.JOIN])


def _window(rest: Tokens) -> WindowDef:
    kind = rest.take().text.upper()
    amount = rest.next
    if amount is None or amount.token_type != TokenType.NUMBER:
        if amount is not None and amount.token_type != TokenType.STRING and is_whole(amount.text[0]):
            rest.fail(f"expected a number after {kind}, not {rest.seen()}: write a blank between it and the unit")
        rest.fail(f"expected a number after {kind}, not {rest.seen()}")
    span = rest.here
    rest.take()
    if kind == "ROWS":
        if not is_whole(amount.text) or not 1 <= int(amount.text) <= MOST_ROWS:
            rest.text.fail(f"ROWS needs a whole number between 1 and {MOST_ROWS:,}, not {amount.text[:20]}", span)
        return WindowDef("rows", int(amount.text))
    unit = rest.next
    if unit is None or unit.token_type == TokenType.R_BRACKET:
        rest.fail("expected a unit of time after the number, as in [RANGE 5 SECONDS]")
    if unit.token_type == TokenType.DCOLON:  # 5s is 5::SMALLINT to Spark
        rest.fail("write a blank between the number and its unit: [RANGE 5 s]")
    rest.take()
    try:
        return WindowDef("range", microseconds(amount.text, unit.text))
    except ValueError as error:
        rest.text.fail(str(error), Span(span.start, unit.end + 1))
