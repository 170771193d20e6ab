"""Records of a text: the same wherever the text is cut, and what is too long is one rejected record."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formats import texts
from penstock.formats.layout import Layout
from penstock.formats.texts import BROKEN, Splitter

CSV = Layout("csv", quoted=True, comment="#")
PIECES = st.sampled_from(['"', ",", "\n", "\r\n", "\r", "a", "12", '""', "#", " ", "\u2028", "\x85", "\x0b", "\t"])


def split(text: str, layout: Layout, sizes: int) -> list[str]:
    splitter = Splitter(layout)
    found = [each for place in range(0, len(text), sizes) for each in splitter.feed(text[place : place + sizes])]
    return found + splitter.feed("", at_end=True)


@given(pieces=st.lists(PIECES, max_size=40), size=st.integers(1, 9), longest=st.sampled_from([5, 12, 1000]))
def test_where_a_text_is_cut_does_not_matter(pieces, size, longest):
    text = "".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "LONGEST_RECORD", longest)
        patch.setattr(texts, "KEPT", 3)
        assert split(text, CSV, size) == split(text, CSV, max(len(text), 1))


@given(
    rows=st.lists(
        st.lists(st.text(alphabet='ab",\n \u2028\x85', max_size=6), min_size=2, max_size=3).filter(
            lambda row: not row[0].startswith("#")
        ),
        max_size=8,
    ),
    size=st.integers(1, 9),
)
def test_well_formed_csv_is_split_as_pythons_reader_does(rows, size):
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    found = split(written.getvalue(), Layout("csv", quoted=True), size)
    assert [next(csv.reader(io.StringIO(record, newline=""))) for record in found] == rows


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_line_that_is_too_long_is_one_broken_record(monkeypatch, size):
    monkeypatch.setattr(texts, "LONGEST_RECORD", 20)
    text = "0,0\n1," + "x" * 90 + ",7\n5,6\n" + "y" * 21 + "\n7,8\n"
    found = split(text, CSV, size)
    assert [record for record in found if not record.startswith(BROKEN)] == ["0,0", "5,6", "7,8"]
    assert len(found) == 5


@pytest.mark.parametrize("size", [1, 13, 1000])
def test_a_quote_that_nobody_closes_costs_its_own_line(monkeypatch, size):
    monkeypatch.setattr(texts, "LONGEST_RECORD", 20)
    found = split('1,2\n3,"oops\n' + "4,5\n" * 9, CSV, size)
    assert found == ["1,2", f'{BROKEN}3,"oops', *["4,5"] * 9]


def test_rows_of_empty_fields_are_rows():
    assert split("a\tb\n\t\n  \n\n", Layout("csv", delimiter="\t", quoted=True), 3) == ["a\tb", "\t"]
