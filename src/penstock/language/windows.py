"""Windows behind streams in FROM, which SQL does not have: ``[RANGE 5 SECONDS]``, ``[ROWS 100 SLIDE 10]``."""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot.tokenizer_core import Token, TokenType

from penstock.language.statements import WindowDef
from penstock.language.text import Span
from penstock.language.tokens import Tokens
from penstock.language.values import UNITS_US, is_whole, microseconds

MOST_ROWS = 10**9
MOST_PANES = 100_000
"""Maximum panes of a window: all of them are merged when it closes."""
_CLAUSES = (TokenType.SELECT, TokenType.FROM, TokenType.JOIN, TokenType.ON, TokenType.WHERE)


def cut_windows(tokens: Tokens) -> tuple[list[Token], dict[int, tuple[WindowDef, Span]]]:
    """Take out every window; return the other tokens, and windows by the offset of the token before each.

    That is the name of a stream, or the parenthesis that closes a subquery.
    """
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
            tokens.text.fail("a window must follow the name of a stream: packets [ROWS 100] AS p", start)
        windows[kept[-1].start] = (window, Span(start.start, stop))
    return kept, windows


def tumbling(window: WindowDef) -> str:
    """Return how a window is written whose SLIDE is its size.

    >>> tumbling(WindowDef("range", 90_000_000)), tumbling(WindowDef("rows", 100))
    ('[RANGE 90 s SLIDE 90 s]', '[ROWS 100 SLIDE 100]')
    """
    if window.kind == "rows":
        return f"[ROWS {window.size} SLIDE {window.size}]"
    size = _shown(window, window.size or 10_000_000).replace(",", "")
    return f"[RANGE {size} SLIDE {size}]"


def _begins_window(before: Sequence[Token], rest: Tokens) -> bool:
    """Return whether a bracket begins a window, and not an element such as ``arr[rows + 1]``."""
    if rest.word() not in ("ROWS", "RANGE"):
        return False
    behind = rest.tokens[rest.place + 1] if rest.place + 1 < len(rest.tokens) else None
    if behind is not None and behind.token_type in (TokenType.NUMBER, TokenType.STRING, TokenType.VAR):
        return True
    depth = 0
    for place, token in reversed(tuple(enumerate(before))):
        kind = token.token_type
        depth = max(0, depth + (kind == TokenType.R_PAREN) - (kind == TokenType.L_PAREN))  # skip subqueries
        if depth == 0 and kind in _CLAUSES and before[place - 1].token_type != TokenType.DISTINCT:
            return kind in (TokenType.FROM, TokenType.JOIN)
    return False


def _window(rest: Tokens) -> WindowDef:
    kind = rest.take().text.upper()
    size, size_span = _amount(rest, kind, kind)
    window = WindowDef("rows" if kind == "ROWS" else "range", size)
    if not rest.took("SLIDE"):
        return window
    slide, span = _amount(rest, kind, "SLIDE")
    if not slide:
        rest.text.fail("SLIDE must be above 0", span)
    if not size:
        rest.text.fail("a window with SLIDE needs a RANGE above 0: without length, it holds no rows", size_span)
    if kind == "ROWS" and rest.word() in UNITS_US:
        rest.fail(f"SLIDE of [ROWS …] is a number of rows, without {rest.seen()}")
    window = replace(window, slide=slide)
    _check_panes(window, rest, span)
    return window


def _amount(rest: Tokens, kind: str, word: str) -> tuple[int, Span]:
    """Read the number after ROWS, RANGE or SLIDE, with its unit of time if it has one."""
    amount = rest.next
    if amount is None or amount.token_type != TokenType.NUMBER:
        if amount is not None and amount.token_type != TokenType.STRING and is_whole(amount.text[0]):
            rest.fail(f"expected a number after {word}, not {rest.seen()}: write a space between it and the unit")
        rest.fail(f"expected a number after {word}, not {rest.seen()}")
    span = rest.here
    rest.take()
    if kind == "ROWS":
        if not is_whole(amount.text) or not 1 <= int(amount.text) <= MOST_ROWS:
            rest.text.fail(
                f"{word} needs a whole number between 1 and {MOST_ROWS:,}, not {amount.text[:20]}", span
            )
        return int(amount.text), span
    unit = rest.next
    example = "[RANGE 5 SECONDS]" if word == kind else "[RANGE 5 SECONDS SLIDE 1 SECOND]"
    if unit is None or unit.token_type == TokenType.R_BRACKET or (word == kind and rest.word() == "SLIDE"):
        rest.fail(f"expected a unit of time after the number, as in {example}")
    if unit.token_type == TokenType.DCOLON:  # 5s is 5::SMALLINT to Spark
        written = f"[{word} 5 s]" if word == kind else f"{word} 5 s"
        rest.fail(f"write a space between the number and its unit: {written}")
    rest.take()
    span = Span(span.start, unit.end + 1)
    try:
        return microseconds(amount.text, unit.text), span
    except ValueError as error:
        rest.text.fail(str(error), span)


def _check_panes(window: WindowDef, rest: Tokens, span: Span) -> None:
    """Reject a window of too many panes; so no pane is in too many windows either, as a SLIDE has a whole one."""
    panes = window.size // window.pane
    if panes <= MOST_PANES:
        return
    most = next(each for each in range(MOST_PANES, 0, -1) if window.size % each == 0)
    rest.text.fail(
        f"a window would consist of {panes:,} panes of {_shown(window, window.pane)}; at most {MOST_PANES:,} are "
        f"allowed: make SLIDE a multiple of {_shown(window, window.size // most)}, for example",
        span,
    )


def _shown(window: WindowDef, size: int) -> str:
    """Return a number of rows, or a time in the largest unit of which it is a whole number."""
    if window.kind == "rows":
        return f"{size:,} row{'' if size == 1 else 's'}"
    units = (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000))
    unit, length = next(((unit, length) for unit, length in units if size % length == 0), ("us", 1))
    return f"{size // length:,} {unit}"
