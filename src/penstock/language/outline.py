"""Where the SELECTs of a query are among its tokens: the tokens and keywords of each, and matching parentheses."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import Token, TokenType

from penstock.language.text import Span
from penstock.language.tokens import span_of

SETS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
_AGGREGATING = {
    TokenType.DISTINCT: "DISTINCT",
    TokenType.GROUP_BY: "GROUP BY",
    TokenType.HAVING: "HAVING",
    TokenType.ROLLUP: "ROLLUP",
    TokenType.CUBE: "CUBE",
    TokenType.GROUPING_SETS: "GROUPING SETS",
}


@dataclass(frozen=True)
class SelectPlace:
    """The tokens of one SELECT that are not inside parentheses."""

    tokens: list[Token] = field(default_factory=list)

    @property
    def span(self) -> Span:
        """The place of the SELECT, up to a UNION or to the end."""
        return Span(self.tokens[0].start, self.tokens[-1].end + 1)

    @property
    def clauses(self) -> dict[str, Span]:
        """The places of DISTINCT, GROUP BY, ROLLUP, CUBE, GROUPING SETS and HAVING."""
        found: dict[str, Span] = {}
        for token in self.tokens:
            if token.token_type in _AGGREGATING:
                found.setdefault(_AGGREGATING[token.token_type], span_of(token))
        return found


class Outline:
    """The SELECTs among the tokens of a query."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.selects: dict[int, SelectPlace] = {}
        """By the offset of the keyword SELECT."""
        self.closing: dict[int, int] = {}
        """The offset of each closing parenthesis, by that of the opening one."""
        current: SelectPlace | None = None
        opened: list[tuple[int, SelectPlace | None]] = []
        for token in tokens:
            kind = token.token_type
            if kind == TokenType.L_PAREN:
                opened.append((token.start, current))
                current = None
            elif kind == TokenType.R_PAREN and opened:
                start, current = opened.pop()
                self.closing[start] = token.start
            elif kind == TokenType.SELECT:
                current = self.selects[token.start] = SelectPlace()
            elif kind in SETS:
                current = None
            if current is not None:
                current.tokens.append(token)
