"""Parser of queries: takes windows out, lets sqlglot parse the rest, rejects unsupported clauses by name."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import nearest
from penstock.language import functions
from penstock.language.dialect import DIALECT
from penstock.language.outline import SETS, Outline, SelectPlace
from penstock.language.statements import WindowDef
from penstock.language.text import Span, Text
from penstock.language.tokens import Tokens, span_of
from penstock.language.types import NAMES
from penstock.language.windows import cut_windows

_FRAMES = 1100
"""Recursion depth allowed to the parser; each nested function call takes about 25."""

REFUSED_CLAUSES = {
    "qualify": "QUALIFY is not supported: window functions are not implemented yet",
    "windows": "WINDOW is not supported: window functions are not implemented yet",
    "order": "ORDER BY is not supported: a continuous query has no end at which its rows could be sorted",
    "sort": "SORT BY is not supported: a continuous query has no end at which its rows could be sorted",
    "cluster": "CLUSTER BY is not supported: a continuous query has no end at which its rows could be sorted",
    "distribute": "DISTRIBUTE BY is not supported: Penstock decides where rows are processed",
    "limit": "LIMIT is not supported: a continuous query has no end; DROP QUERY stops it",
    "offset": "OFFSET is not supported: a continuous query begins at its start sequence",
    "laterals": "LATERAL is not supported yet",
    "into": "INTO is not supported: results go where `--out` says",
    "hint": "hints are not supported: Penstock decides how a query runs",
    "sample": "TABLESAMPLE is not supported yet",
    "kind": "this form of SELECT is not supported",
}
KNOWN_CLAUSES = {"with_", "expressions", "from_", "joins", "where", "group", "having", "distinct"}
_BEFORE_SELECT = (TokenType.L_PAREN, TokenType.ALL)
_NOT_FIRST = {
    TokenType.FROM: "expected SELECT and its columns before FROM",
    TokenType.VALUES: "VALUES is not supported: store constant rows with CREATE TABLE",
}
_BEFORE_JSON = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET)
_NOT_AFTER_COMMA = (
    TokenType.ALIAS,
    TokenType.COMMA,
    TokenType.FROM,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.JOIN,
    TokenType.R_PAREN,
    TokenType.WHERE,
)


@dataclass(frozen=True)
class Parsed:
    """One SELECT as a tree, and all windows of its statement by the offset of the token before each."""

    text: Text
    tree: exp.Select
    windows: Mapping[int, tuple[WindowDef, Span]]
    closing: Mapping[int, int]
    """The offset of each closing parenthesis, by that of the opening one."""
    span: Span
    clauses: Mapping[str, Span]
    """The places of DISTINCT, GROUP BY, ROLLUP, CUBE, GROUPING SETS and HAVING."""

    @property
    def sql(self) -> str:
        """The SELECT as it is written."""
        return self.text.content[self.span.start : self.span.stop]


@dataclass(frozen=True)
class ParsedQuery:
    """A query as a tree: one SELECT, or several with UNION between them; WITH and subqueries are in the tree."""

    text: Text
    tree: exp.Select | exp.SetOperation | exp.Subquery
    windows: Mapping[int, tuple[WindowDef, Span]]
    outline: Outline
    span: Span

    @property
    def sql(self) -> str:
        """The query as it is written."""
        return self.text.content[self.span.start : self.span.stop]

    def select(self, tree: exp.Select) -> Parsed:
        """Return one SELECT of the query; fail if it has a clause that is not supported."""
        place = self.outline.selects.get(tree.meta.get("select", -1))
        if place is None:
            self.text.fail("expected SELECT and its columns", self.span)
        for clause, value in tree.args.items():
            if value and clause not in KNOWN_CLAUSES:
                self.refuse(clause, place)
        return Parsed(self.text, tree, self.windows, self.outline.closing, place.span, place.clauses)

    def refuse(self, clause: str, place: SelectPlace) -> NoReturn:
        """Fail at a clause of a SELECT that is not supported."""
        message = REFUSED_CLAUSES.get(clause, f"{clause.strip('_').upper()} is not supported yet")
        self.text.fail(message, _clause_span(place, message))


def parsed_query(tokens: Tokens) -> ParsedQuery:
    """Parse the tokens of a query."""
    text = tokens.text
    _check_start(tokens)
    kept, windows = cut_windows(tokens)
    _check_signs(text, kept)
    try:
        with _room_to_recurse():
            trees = DIALECT.parser(error_level=ErrorLevel.IMMEDIATE).parse(kept, text.content)
    except ParseError as error:
        _fail_parse(text, error, tokens.span)
    except (RecursionError, TokenError):  # sqlglot's tokenizer turns the first into the second
        text.fail("this query is nested too deeply", tokens.span)
    except (ValueError, LookupError, AttributeError, TypeError):  # raised inside sqlglot
        text.fail("expected SQL, but a part of this cannot be read", tokens.span)
    tree = trees[0]
    if len(trees) != 1 or not isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery):
        word = next((token for token in kept if token.token_type in SETS), kept[0])
        if word.token_type in (TokenType.L_PAREN, TokenType.WITH):
            text.fail("expected a SELECT in this query", span_of(word))
        text.fail(f"{word.text.upper()} is not supported: a query is one SELECT … FROM … WHERE …", span_of(word))
    outline = Outline(kept)
    _check_windows(text, tree, windows, outline)
    return ParsedQuery(text, tree, windows, outline, tokens.span)


def _check_windows(
    text: Text, tree: exp.Expression, windows: Mapping[int, tuple[WindowDef, Span]], outline: Outline
) -> None:
    """Reject windows that follow neither a name nor a subquery in FROM."""
    if not windows:
        return
    places = {table.this.meta.get("start") for table in tree.find_all(exp.Table)}
    for query in tree.find_all(exp.Subquery):
        if isinstance(query.parent, exp.From | exp.Join):
            places.add(outline.closing.get(query.meta.get("start", -1)))
    for start, (_, span) in windows.items():
        if start not in places:
            text.fail("a window must follow the name of a stream in FROM: packets [ROWS 100] AS p", span)


@contextmanager
def _room_to_recurse() -> Iterator[None]:
    """Give the parser the same recursion depth, however deep the caller is itself."""
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
    if word == "VALUES":
        tokens.fail("VALUES is not supported: a query reads streams. Store constant rows with CREATE TABLE")
    if word not in ("SELECT", "WITH", "("):
        tokens.fail(f"expected SELECT after AS, not {tokens.seen()}")


def _check_signs(text: Text, tokens: Sequence[Token]) -> None:
    """Reject tokens that sqlglot would read differently from Spark."""
    for place, token in enumerate(tokens, start=1):
        if token.token_type == TokenType.COLON:
            _check_colon(text, tokens, place - 1)
        if [each.token_type for each in tokens[place - 1 : place + 1]] == [TokenType.SELECT, TokenType.ALIAS]:
            text.fail("expected a column between SELECT and AS", span_of(tokens[place]))
        if token.token_type in _NOT_FIRST:
            _check_first(text, tokens, place - 1)
        if token.token_type == TokenType.PIPE_GT:
            text.fail("|> is not supported: a query is one SELECT … FROM … WHERE …", span_of(token))
        if token.token_type == TokenType.DCOLON and text.content[token.start] != ":":
            # 7L is not CAST(7 AS BIGINT): beside a DECIMAL, Spark counts the digits of a literal
            text.fail(
                "a letter after a number is not supported: write CAST(7 AS BIGINT), for example", span_of(token)
            )
        if token.token_type == TokenType.COMMA and (
            place == len(tokens) or tokens[place].token_type in _NOT_AFTER_COMMA
        ):
            text.fail("something is missing after this comma", span_of(token))


def _check_first(text: Text, tokens: Sequence[Token], place: int) -> None:
    """Reject FROM or VALUES where a query begins; sqlglot reads ``(FROM s)`` as ``(SELECT * FROM s)``."""
    before, function = (tokens[place - back] if place >= back else None for back in (1, 2))
    if before is None or before.token_type not in _BEFORE_SELECT:
        return
    if function is None or function.text.upper() != "TRIM":  # trim(FROM s)
        text.fail(_NOT_FIRST[tokens[place].token_type], span_of(tokens[place]))


def _check_colon(text: Text, tokens: Sequence[Token], place: int) -> None:
    """Reject ``js:a``, which in other systems is a part of JSON, and which sqlglot reads as ``js AS a``."""
    before, behind = tokens[max(place - 1, 0)], tokens[min(place + 1, len(tokens) - 1)]
    if before.token_type in _BEFORE_JSON:
        column = before.text if before.token_type in (TokenType.VAR, TokenType.IDENTIFIER) else "…"
        name = behind.text[:40] if behind.token_type in (TokenType.VAR, TokenType.IDENTIFIER) else "name"
        text.fail(
            f"{column}:{name} is not supported: write get_json_object({column}, '$.{name}') for a part of JSON, "
            "or AS before an alias",
            Span(before.start, behind.end + 1),
        )


def span_of_node(node: exp.Expression, otherwise: Span) -> Span:
    """Return the place of an expression in the text, from the offsets in its nodes."""
    places = [each.meta for each in node.walk() if "start" in each.meta]
    if not places:
        return otherwise
    return Span(min(place["start"] for place in places), max(place["end"] for place in places) + 1)


def bare(tree: exp.Expression) -> exp.Expression:
    """Return an expression without the parentheses around it."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


def forget_places(trees: Iterable[exp.Expression]) -> None:
    """Clear what only errors need: every copy of a tree would copy it."""
    for tree in trees:
        for node in tree.walk():
            node.meta.clear()


def conjuncts(condition: exp.Expression) -> Iterator[exp.Expression]:
    """Return the conditions that AND connects, without parentheses."""
    pending = [condition]
    while pending:
        node = pending.pop()
        if isinstance(node, exp.And):
            pending += [node.expression, node.this]
        elif isinstance(node, exp.Paren):
            pending.append(node.this)
        else:
            yield node


def _clause_span(place: SelectPlace, message: str) -> Span:
    """Return the place of the keywords with which the message about a clause begins, or the whole SELECT."""
    words = message.split(" is ")[0]
    for token in reversed(place.tokens):
        plain = token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
        said = " ".join(token.text.upper().split()) if plain else ""
        if said == words or (said == "FETCH" and words == "LIMIT"):
            return span_of(token)
        if token.token_type == TokenType.HINT and message == REFUSED_CLAUSES["hint"]:
            return span_of(token)
    return place.span


def _fail_parse(text: Text, error: ParseError, otherwise: Span) -> NoReturn:
    details = error.errors[0] if error.errors else {}
    said = str(details.get("description") or "").split(". ")[0]
    if "function" in details:
        said = _arguments_of(details["function"])
    elif "Required" in said:
        said = "something is missing after this"
    elif said.startswith("Expecting ") and len(said) < 40:
        said = f"expected {said.removeprefix('Expecting ')} here"
    elif said.startswith("Expected table name"):
        said = "expected the name of a stream or a table after this"
    else:
        said = "this is not valid SQL here"
    span = Span(details["start"], details["end"] + 1) if "start" in details else otherwise
    text.fail(said, span)


def _arguments_of(name: str) -> str:
    """Return the message about a call with wrong arguments."""
    known = functions.FUNCTIONS.get(name.lower())
    if name.lower() in functions.SPECIAL or known is not None:
        return f"{name.upper()} takes {functions.SPECIAL.get(name.lower()) or known.count}"  # type: ignore[union-attr]
    if name.lower() in NAMES:
        return f"{name.upper()} takes 1 argument: it is a cast, as in CAST(… AS {NAMES[name.lower()]})"
    hint = functions.INSTEAD.get(name.lower(), "")
    hint = f" {hint}" if hint else nearest(name.lower(), functions.NAMES)
    return f"unknown function or expression {name[:40]!r}.{hint}"
