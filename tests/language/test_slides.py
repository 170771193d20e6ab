"""Windows with SLIDE: what they are, how many panes they may have, and where they cannot be."""

import pytest

from penstock.language.statements import WindowDef
from penstock.language.windows import MOST_PANES
from tests.language.asking import query, refused


def window(written):
    [item] = query(f"SELECT count(*) AS n FROM packets {written} AS p").items
    assert item.alias == "p"
    return item.window


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("[RANGE 10 SECONDS SLIDE 1 SECOND]", WindowDef("range", 10_000_000, 1_000_000)),
        ("[range 10 s slide 10 s]", WindowDef("range", 10_000_000, 10_000_000)),
        ("[RANGE 1 SECOND SLIDE 1 HOUR]", WindowDef("range", 1_000_000, 3_600_000_000)),
        ("[RANGE 1.5 MINUTES SLIDE 2.5 ms]", WindowDef("range", 90_000_000, 2_500)),
        ("[RANGE 0.5 ms SLIDE 250 us]", WindowDef("range", 500, 250)),
        ("[ROWS 100 SLIDE 10]", WindowDef("rows", 100, 10)),
        ("[ROWS 1 SLIDE 1000000000]", WindowDef("rows", 1, 10**9)),
        ("[\n ROWS 7 -- as many\n SLIDE\n 2 ]", WindowDef("rows", 7, 2)),
        ("[RANGE 1 DAY SLIDE 864 MILLISECONDS]", WindowDef("range", 86_400_000_000, 864_000)),
        (f"[ROWS {MOST_PANES} SLIDE 1]", WindowDef("rows", MOST_PANES, 1)),
    ],
)
def test_windows_with_slide(written, found):
    assert window(written) == found


def test_panes_are_what_size_and_slide_have_in_common():
    assert window("[RANGE 10 SECONDS SLIDE 4 SECONDS]").pane == 2_000_000
    assert window("[ROWS 10 SLIDE 15]").pane == 5


def test_windows_are_written_out():
    assert str(window("[ROWS 10 SLIDE 5]")) == "[ROWS 10 SLIDE 5]"
    assert str(window("[RANGE 1 ms SLIDE 5 us]")) == "[RANGE 1000 MICROSECONDS SLIDE 5 MICROSECONDS]"


@pytest.mark.parametrize(
    ("written", "says", "marked"),
    [
        ("[RANGE 10 SECONDS SLIDE 0 SECONDS]", "SLIDE must be above 0", "0 SECONDS"),
        ("[RANGE 10 SECONDS SLIDE 0.0 s]", "SLIDE must be above 0", "0.0 s"),
        (
            "[RANGE 0 SECONDS SLIDE 1 SECOND]",
            "needs a RANGE above 0: without length, it holds no rows",
            "0 SECONDS",
        ),
        ("[RANGE 10 SECONDS SLIDE -1 SECOND]", "expected a number after SLIDE, not '-'", "-"),
        ("[RANGE 10 SECONDS SLIDE]", "expected a number after SLIDE, not ']'", "]"),
        ("[RANGE 10 SECONDS SLIDE n]", "expected a number after SLIDE, not 'n'", "n"),
        (
            "[RANGE 10 SECONDS SLIDE 1]",
            "expected a unit of time after the number, as in [RANGE 5 SECONDS SLIDE 1 SECOND]",
            "]",
        ),
        (
            "[RANGE 10 SLIDE 1 SECOND]",
            "expected a unit of time after the number, as in [RANGE 5 SECONDS]",
            "SLIDE",
        ),
        ("[RANGE 10 SECONDS SLIDE 1s]", "write a space between the number and its unit: SLIDE 5 s", "1s"),
        ("[RANGE 10 SECONDS SLIDE 1 ROW]", "'ROW' is not a unit of time; use us, ms, s", "1 ROW"),
        ("[RANGE 10 SECONDS SLIDE 0.1 us]", "0.1 us is not a whole number of microseconds", "0.1 us"),
        ("[RANGE 10 SECONDS SLIDE 1 s SLIDE 1 s]", "expected ] after the window, not 'SLIDE'", "SLIDE"),
        ("[ROWS 100 SLIDE 0]", "SLIDE needs a whole number between 1 and 1,000,000,000, not 0", "0"),
        ("[ROWS 100 SLIDE 1.5]", "SLIDE needs a whole number between 1 and 1,000,000,000, not 1.5", "1.5"),
        ("[ROWS 100 SLIDE -1]", "expected a number after SLIDE, not '-'", "-"),
        ("[ROWS 100 SLIDE 10 SECONDS]", "SLIDE of [ROWS …] is a number of rows, without 'SECONDS'", "SECONDS"),
        ("[ROWS 100 SLIDE 10 x]", "expected ] after the window, not 'x'", "x"),
        (
            "[RANGE 365 DAYS SLIDE 1 MILLISECOND]",
            "a window would consist of 31,536,000,000 panes of 1 ms; at most 100,000 are allowed: make SLIDE a "
            "multiple of 315,360 ms, for example",
            "1 MILLISECOND",
        ),
        (
            "[RANGE 1 DAY SLIDE 700 MILLISECONDS]",
            "a window would consist of 864,000 panes of 100 ms; at most 100,000 are allowed: make SLIDE a "
            "multiple of 864 ms, for example",
            "700 MILLISECONDS",
        ),
        (
            "[ROWS 100003 SLIDE 1]",  # a prime
            "a window would consist of 100,003 panes of 1 row; at most 100,000 are allowed: make SLIDE a multiple "
            "of 100,003 rows, for example",
            "1",
        ),
        (
            "[ROWS 1000000000 SLIDE 999999999]",
            "1,000,000,000 panes of 1 row; at most 100,000 are allowed: make SLIDE a multiple of 10,000 rows",
            "999999999",
        ),
    ],
)
def test_slides_that_cannot_be(written, says, marked):
    select = f"SELECT count(*) AS n FROM packets {written}"
    found = refused(select)
    assert says in found.message
    assert found.marked == marked
    assert found.column == len("CREATE QUERY q AS ") + select.rindex(marked) + 1


def test_the_multiple_that_is_named_is_allowed():
    for written in (
        "[RANGE 365 DAYS SLIDE 315360 ms]",
        "[RANGE 1 DAY SLIDE 1728 ms]",
        "[ROWS 100003 SLIDE 100003]",
    ):
        assert window(written).slide


@pytest.mark.parametrize(
    ("select", "says", "marked"),
    [
        (
            "SELECT src FROM packets [RANGE 5 s SLIDE 1 s]",
            "SLIDE is for aggregates, GROUP BY and DISTINCT, which this query does not have: leave it out",
            "[RANGE 5 s SLIDE 1 s]",
        ),
        (
            "SELECT p.src FROM packets [ROWS 5] p, replies [ROWS 5 SLIDE 5] r",
            "which this query does not have: windows of a join have none",
            "[ROWS 5 SLIDE 5]",
        ),
        (
            "SELECT summ(bytes) FROM packets [ROWS 5 SLIDE 5]",
            "unknown function or expression 'summ'. Did you mean 'sum'?",
            "summ(bytes)",
        ),
        (
            "SELECT count(*) FROM packets, hosts [ROWS 5 SLIDE 5]",
            "hosts is a stored table and cannot have a window",
            "[ROWS 5 SLIDE 5]",
        ),
        (
            "SELECT count(*) FROM packets p [ROWS 5 SLIDE 5]",
            "a window must follow the name of a stream in FROM",
            "[ROWS 5 SLIDE 5]",
        ),
        (
            "SELECT count(*) FROM packets",
            "COUNT needs windows: packets [RANGE 10 SECONDS SLIDE 10 SECONDS]",
            "packets",
        ),
        (
            "SELECT avg(bytes) FILTER (WHERE bytes > 1) AS a FROM packets",
            "AVG needs windows: packets [RANGE 10 SECONDS SLIDE 10 SECONDS]",
            "packets",
        ),
        (
            "SELECT 1 + max(bytes) AS a FROM hosts, packets AS p",
            "MAX needs windows: packets [RANGE 10 SECONDS SLIDE 10 SECONDS]",
            "packets",
        ),
        (
            "SELECT DISTINCT src FROM packets",
            "DISTINCT needs windows: packets [RANGE 10 SECONDS SLIDE 10 SECONDS]",
            "packets",
        ),
        (
            "SELECT src FROM packets GROUP BY src",
            "GROUP BY needs windows: packets [RANGE 10 SECONDS SLIDE 10 SECONDS]",
            "packets",
        ),
        (
            "SELECT src FROM packets HAVING src = 'x'",
            "HAVING needs windows: packets [RANGE 10 SECONDS SLIDE 10 SECONDS]",
            "packets",
        ),
        (
            "SELECT sum(bytes) FROM packets [RANGE 90 SECONDS]",
            "SUM needs windows with a SLIDE: packets [RANGE 90 s SLIDE 90 s]",
            "[RANGE 90 SECONDS]",
        ),
        (
            "SELECT sum(bytes) FROM packets [ROWS/**/7] AS p",
            "SUM needs windows with a SLIDE: packets [ROWS 7 SLIDE 7]",
            "[ROWS/**/7]",
        ),
        (
            "SELECT sum(bytes) FROM packets [RANGE 0 s]",
            "SUM needs windows with a SLIDE: packets [RANGE 10 s SLIDE 10 s]",
            "[RANGE 0 s]",
        ),
        (
            "SELECT count(*) FROM packets [ROWS 5 SLIDE 5] p, replies [ROWS 5 SLIDE 5] r",
            "COUNT needs one stream, not a join of streams: join them in a derived stream or in a subquery with a "
            "window, FROM (SELECT …) [RANGE 1 MINUTE SLIDE 1 MINUTE] AS j",
            "count(*)",
        ),
        (
            "SELECT p.src FROM packets p, replies r GROUP BY p.src",
            "GROUP BY needs one stream, not a join of streams",
            "GROUP BY",
        ),
    ],
)
def test_where_windows_do_not_fit(select, says, marked):
    found = refused(select)
    assert says in found.message
    assert found.marked == marked
