"""The SELECT of a query: windows are taken out, sqlglot reads the rest, what is not built is refused by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.language.statements import WindowDef
from penstock.language.text import Span, Text
from penstock.language.tokens import DIALECT, Tokens, span_of
from penstock.language.values import microseconds

MOST_ROWS = 10**9

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
    kept, windows = _cut_windows(tokens)
    try:
        trees = DIALECT.parser(error_level=ErrorLevel.IMMEDIATE).parse(kept, text.content)
    except ParseError as error:
        _fail_parse(text, error, tokens.span)
    except RecursionError:
        text.fail("this query is nested too deeply", tokens.span)
    tree = trees[0]
    if len(trees) != 1 or not isinstance(tree, exp.Select):
        text.fail("a query is one SELECT … FROM … WHERE …; nothing else is built yet", span_of(tokens.tokens[0]))
    for clause, value in tree.args.items():
        if value and clause not in KNOWN_CLAUSES:
            message = REFUSED_CLAUSES.get(clause, f"{clause.strip('_').upper()} is refused: it is not built yet")
            text.fail(message, _clause_span(tokens, clause))
    span = tokens.span
    return Parsed(text, tree, windows, text.content[span.start : span.stop])


def span_of_node(node: exp.Expression, otherwise: Span) -> Span:
    """Return where an expression stands in the text, from the places that sqlglot kept."""
    places = [each.meta for each in node.walk() if "start" in each.meta]
    if not places:
        return otherwise
    return Span(min(place["start"] for place in places), max(place["end"] for place in places) + 1)


def _clause_span(tokens: Tokens, clause: str) -> Span:
    word = clause.strip("_").upper()
    return next((span_of(token) for token in tokens.tokens if token.text.upper() == word), tokens.span)


def _fail_parse(text: Text, error: ParseError, otherwise: Span) -> NoReturn:
    details = error.errors[0] if error.errors else {}
    line, column, marked = details.get("line"), details.get("col"), details.get("highlight") or " "
    said = str(details.get("description") or "").split(".")[0]
    if "Required" in said:
        said = "something is missing behind this"
    elif not said or "Unexpected token" in said or len(said) > 120:
        said = "SQL was expected, and this does not fit here"
    if line is None or column is None:
        text.fail(said, otherwise)
    start = text.offset(line, column) - len(marked)
    text.fail(said, Span(max(start, otherwise.start), start + len(marked)))


def _cut_windows(tokens: Tokens) -> tuple[list[Token], dict[int, tuple[WindowDef, Span]]]:
    """Take every ``[ROWS n]`` and ``[RANGE n unit]`` out, each with the name it stands behind."""
    kept: list[Token] = []
    windows: dict[int, tuple[WindowDef, Span]] = {}
    rest = Tokens(tokens.text, tokens.tokens)
    while not rest.done:
        start = rest.here
        token = rest.take()
        if token.token_type != TokenType.L_BRACKET or rest.word() not in ("ROWS", "RANGE"):
            kept.append(token)
            continue
        window = _window(rest)
        stop = rest.here.stop
        rest.expect("]", "after the window")
        if not kept or kept[-1].start in windows:
            tokens.text.fail("a window stands behind the name of a stream: packets [ROWS 100] AS p", start)
        windows[kept[-1].start] = (window, Span(start.start, stop))
    return kept, windows


def _window(rest: Tokens) -> WindowDef:
    kind = rest.take().text.upper()
    amount = rest.next
    if amount is None or amount.token_type != TokenType.NUMBER:
        rest.fail(f"expected a number after {kind}, not {rest.seen()}")
    span = rest.here
    rest.take()
    if kind == "ROWS":
        if not amount.text.isdigit() or len(amount.text) > 12 or not 1 <= int(amount.text) <= MOST_ROWS:
            rest.text.fail(f"ROWS needs a whole number between 1 and {MOST_ROWS:,}, not {amount.text[:20]}", span)
        return WindowDef("rows", int(amount.text))
    unit = rest.next
    if unit is None or unit.token_type == TokenType.R_BRACKET:
        rest.fail("expected a unit of time after the number, as in [RANGE 5 SECONDS]")
    rest.take()
    try:
        return WindowDef("range", microseconds(amount.text, unit.text))
    except ValueError as error:
        rest.text.fail(str(error), Span(span.start, unit.end + 1))
