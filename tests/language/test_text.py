"""Errors point at the place, in whatever text."""

import pytest

from penstock import ScriptError
from penstock.language.text import LONGEST_LINE, Span, Text


@pytest.mark.parametrize(
    ("content", "span", "shown"),
    [
        ("one two", Span(4, 7), ["s:1:5: no", "  1 | one two", "    |     ^^^"]),
        ("one\ntwo", Span(4, 7), ["s:2:1: no", "  2 | two", "    | ^^^"]),
        ("one\r\ntwo\r\n", Span(5, 8), ["s:2:1: no", "  2 | two", "    | ^^^"]),
        ("\tone", Span(1, 4), ["s:1:2: no", "  1 |  one", "    |  ^^^"]),
        ("one two\nthree", Span(4, 13), ["s:1:5: no", "  1 | one two", "    |     ^^^"]),
        ("one", Span(3, 4), ["s:1:4: no", "  1 | one", "    |    ^"]),
        ("one\n", Span(4, 5), ["s:2:1: no", "  2 | ", "    | ^"]),
        ("", Span(0, 1), ["s:1:1: no", "  1 | ", "    | ^"]),
        ("a\0b\x1b", Span(1, 2), ["s:1:2: no", "  1 | a�b�", "    |  ^"]),
        ("\n" * 9 + "ten", Span(9, 12), ["s:10:1: no", "  10 | ten", "     | ^^^"]),
        ("naïve ünï", Span(6, 9), ["s:1:7: no", "  1 | naïve ünï", "    |       ^^^"]),
        ("one", Span(99, 100), ["s:1:4: no", "  1 | one", "    |    ^"]),
    ],
)
def test_the_caret_stands_below_the_place(content, span, shown):
    with pytest.raises(ScriptError) as caught:
        Text(content, "s").fail("no", span)
    assert str(caught.value).split("\n") == shown


@pytest.mark.parametrize("place", [0, 100, 139, 140, 141, 5_000, 999_997])
def test_of_a_long_line_the_part_around_the_place_is_shown(place):
    content = "x" * place + "abc" + "x" * (1_000_000 - place - 3)
    _, part, carets = Text(content).pointed("no", Span(place, place + 3)).split("\n")
    assert len(part) <= LONGEST_LINE + 6
    assert part[carets.index("^") :][:3] == "abc"
    assert carets.count("^") == 3


def test_a_place_is_a_line_and_a_column():
    text = Text("ab\ncd\n\nef")
    assert [text.place(offset) for offset in (0, 2, 3, 6, 7, 9)] == [
        (1, 1),
        (1, 3),
        (2, 1),
        (3, 1),
        (4, 1),
        (4, 3),
    ]
