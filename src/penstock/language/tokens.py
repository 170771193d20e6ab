"""Tokenizer of scripts: splits a text into the tokens of its statements, and rejects what is not a script."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import ScriptError, nearest
from penstock.language.dialect import DIALECT
from penstock.language.text import Span, Text

LONGEST_NAME = 200
"""Maximum bytes of a name; names of queries become folders."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\ud800-\udfff]")
_NOT_HEX = re.compile(r"Numeric string contains invalid characters from \d+:(\d+)$")

LARGEST_SCRIPT = 8 * 1024 * 1024
"""Maximum characters of a script: about 50,000 queries."""


def statements(text: Text) -> Iterator["Tokens"]:
    """Return the tokens of every statement that is not empty."""
    _check_text(text)
    try:
        tokens = DIALECT.tokenize(text.content)
    except TokenError as error:
        _fail_tokens(text, error)
    start = 0
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.SEMICOLON:
            if place > start:
                yield Tokens(text, tokens[start:place])
            start = place + 1
    if start < len(tokens):
        yield Tokens(text, tokens[start:])


def _fail_tokens(text: Text, error: TokenError) -> NoReturn:
    for quote in "'\"`":
        try:
            last = DIALECT.tokenize(f"{text.content} {quote}")[-1]
        except TokenError:
            continue
        text.fail("this quote is not closed", Span(last.start, last.start + 1))
    number = _NOT_HEX.search(str(error.__cause__))
    if number is not None:
        text.fail("this is not a hexadecimal number", Span(int(number[1]), int(number[1]) + 1))
    comment = text.content.rfind("/*")
    if comment < 0:
        raise ScriptError(f"{text.name}: this cannot be read as SQL") from error
    text.fail("this comment is not closed", Span(comment, comment + 2))


def _check_text(text: Text) -> None:
    if len(text.content) > LARGEST_SCRIPT:
        raise ScriptError(
            f"{text.name}: a script can have at most {LARGEST_SCRIPT:,} characters, not {len(text.content):,}"
        )
    control = _CONTROL.search(text.content)
    if control is not None:
        text.fail("this is not text: it contains a control character. Is it a script?", Span(*control.span()))


def span_of(token: Token) -> Span:
    """Return the place of a token."""
    return Span(token.start, token.end + 1)


@dataclass
class Tokens:
    """The tokens of one statement, read from left to right."""

    text: Text
    tokens: Sequence[Token]
    place: int = 0

    @property
    def span(self) -> Span:
        """The place of the whole statement."""
        return Span(self.tokens[0].start, self.tokens[-1].end + 1)

    @property
    def here(self) -> Span:
        """The place of the next token, or of the end of the statement."""
        if self.place < len(self.tokens):
            return span_of(self.tokens[self.place])
        return Span(self.tokens[-1].end + 1, self.tokens[-1].end + 2)

    @property
    def behind(self) -> int:
        """The offset where the last token read ends."""
        return self.tokens[self.place - 1].end + 1

    @property
    def done(self) -> bool:
        """Whether everything was read."""
        return self.place >= len(self.tokens)

    @property
    def next(self) -> Token | None:
        """The next token, if there is one."""
        return None if self.done else self.tokens[self.place]

    def word(self) -> str:
        """Return the next token in upper case, without reading it; an empty string at the end."""
        token = self.next
        if token is None or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            return ""
        return token.text.upper()

    def take(self) -> Token:
        """Read one token."""
        token = self.next
        if token is None:
            self.fail("the statement ends too early")
        self.place += 1
        return token

    def took(self, word: str) -> bool:
        """Read `word` if it is next, and return whether it was."""
        if self.word() == word:
            self.place += 1
            return True
        return False

    def expect(self, word: str, where: str) -> None:
        """Read `word`, or fail."""
        if not self.took(word):
            self.fail(f"expected {word} {where}, not {self.seen()}")

    def expect_one_of(self, words: Sequence[str], where: str) -> str:
        """Read one of `words` and return it, or fail and suggest the nearest."""
        word = self.word()
        if word not in words:
            listed = ", ".join(words[:-1]) + f" or {words[-1]}" if len(words) > 1 else words[0]
            self.fail(f"expected {listed} {where}, not {self.seen()}.{nearest(word, words)}")
        self.place += 1
        return word

    def quotable_name(self, what: str) -> tuple[str, Span]:
        """Read a name that in backticks may be anything: `id.orig_h`, `user agent`."""
        token = self.next
        if token is None or token.token_type != TokenType.IDENTIFIER or not token.text.strip():
            return self.name(what, "; in backticks, any other name, as in `id.orig_h`")
        return self._checked_name(token, what)

    def name(self, what: str, also: str = "") -> tuple[str, Span]:
        """Read a name: letters, digits and underscores, plain or in backticks."""
        token = self.next
        written = "" if token is None else unicodedata.normalize("NFC", token.text)
        plain = written.replace("_", "a").isalnum() and not written[0].isdigit()
        if token is None or token.token_type in (TokenType.STRING, TokenType.NUMBER) or not plain:
            self.fail(
                f"expected the name of {what}, not {self.seen()}: letters, digits and _, a letter first{also}"
            )
        return self._checked_name(token, what)

    def _checked_name(self, token: Token, what: str) -> tuple[str, Span]:
        if token.text.startswith("__"):
            self.fail(f"the name of {what} must not begin with two underscores: Penstock uses such names itself")
        if len(token.text.encode()) > LONGEST_NAME:
            self.fail(f"the name of {what} is too long: at most {LONGEST_NAME} bytes")
        self.place += 1
        return token.text, span_of(token)

    def seen(self) -> str:
        """Return the next token, for a message."""
        return "the end of the statement" if self.next is None else f"{self.next.text[:40]!r}"

    def rest(self) -> "Tokens":
        """Return the tokens that were not read yet."""
        return Tokens(self.text, self.tokens[self.place :])

    def expect_end(self) -> None:
        """Fail unless everything was read."""
        if not self.done:
            self.fail(f"expected ; at the end of the statement, not {self.seen()}")

    def fail(self, message: str) -> NoReturn:
        """Raise an error that points at the next token."""
        self.text.fail(message, self.here)
