"""LEFT JOIN of stored tables: its conditions, what they may read, and the outer joins that are refused."""

import pytest

from tests.language.asking import refused
from tests.language.composed import MINUTES, composed, sql

NO_PARTNER = "only when the window has passed is it known that a row has no partner"


def joined(select):
    """For each item of FROM, the conditions of its LEFT JOIN; and the conditions of the query."""
    query, _ = composed(select)
    return [item.outer and sql(item.outer) for item in query.items], sql(query.conditions)


def test_conditions_of_a_left_join_belong_to_the_table():
    outer, conditions = joined(
        "SELECT src, owner FROM packets LEFT JOIN hosts ON src = ip AND (floor > 2 AND bytes > 5) "
        "WHERE owner IS NULL"
    )
    assert outer == [None, ["f0.`src` = f1.`ip`", "f1.`floor` > 2", "f0.`bytes` > 5"]]
    assert conditions == ["f1.`owner` IS NULL"]


def test_inner_joins_have_none():
    assert joined("SELECT src FROM packets JOIN hosts ON src = ip") == ([None, None], ["f0.`src` = f1.`ip`"])


@pytest.mark.parametrize("word", ["LEFT", "LEFT OUTER", "left outer"])
def test_ways_to_write_it(word):
    assert joined(f"SELECT src FROM packets {word} JOIN hosts AS h ON src = ip")[0] == [
        None,
        ["f0.`src` = f1.`ip`"],
    ]


@pytest.mark.parametrize("condition", ["TRUE", "bytes > 5", "floor > 3", "NULL"])
def test_conditions_need_not_compare_both(condition):
    [_, outer], conditions = joined(f"SELECT src FROM packets LEFT JOIN hosts ON {condition}")
    assert (len(outer), conditions) == (1, [])


def test_joins_before_and_behind():
    outer, conditions = joined(
        "SELECT p.src FROM owners AS a JOIN packets AS p ON a.name = p.dst LEFT JOIN hosts AS h ON p.src = h.ip "
        "LEFT JOIN owners AS o ON h.owner = o.name AND a.boss = o.boss JOIN hosts AS i ON i.owner = o.boss"
    )
    assert outer == [
        None,
        None,
        ["f1.`src` = f2.`ip`"],
        ["f2.`owner` = f3.`name`", "f0.`boss` = f3.`boss`"],
        None,
    ]
    assert conditions == ["f0.`name` = f1.`dst`", "f4.`owner` = f3.`boss`"]


def test_in_a_join_of_streams():
    outer, conditions = joined(
        "SELECT p.src FROM packets [ROWS 1] AS p JOIN replies [ROWS 2] AS r ON p.src = r.host "
        "LEFT JOIN hosts AS h ON p.src = h.ip AND r.code > 5"
    )
    assert outer == [None, None, ["f0.`src` = f2.`ip`", "f1.`code` > 5"]]
    assert conditions == ["f0.`src` = f1.`host`"]


def test_behind_a_comma_it_joins_what_is_there():
    outer, _ = joined("SELECT p.src FROM replies [ROWS 1] r, packets [ROWS 2] p LEFT JOIN hosts h ON p.src = h.ip")
    assert outer == [None, None, ["f1.`src` = f2.`ip`"]]
    outer, _ = joined("SELECT p.src FROM packets [ROWS 2] p LEFT JOIN hosts h ON p.src = h.ip, replies [ROWS 1] r")
    assert outer == [None, ["f0.`src` = f1.`ip`"], None]


def test_of_subqueries_and_in_aggregates():
    outer, _ = joined("SELECT x.src FROM (SELECT src FROM packets) AS x LEFT JOIN hosts AS h ON x.src = h.ip")
    assert outer == [None, ["f0.`src` = f1.`ip`"]]
    query, _ = composed(
        f"SELECT owner, count(ip) AS n FROM packets {MINUTES} LEFT JOIN hosts ON src = ip GROUP BY owner"
    )
    assert sql(query.items[1].outer) == ["f0.`src` = f1.`ip`"]
    assert sql(query.aggregation.keys) == ["f1.`owner`"]
    _, streams = composed("SELECT * FROM (SELECT owner FROM packets LEFT JOIN hosts ON src = ip) AS x")
    assert sql(streams["q.x"].branches[0].items[1].outer) == ["f0.`src` = f1.`ip`"]


def test_lambdas_in_its_conditions():
    outer, _ = joined("SELECT js FROM logs LEFT JOIN hosts ON exists(tags, t -> t = ip)")
    assert outer[1] is not None


@pytest.mark.parametrize(
    ("select", "says", "marked"),
    [
        (
            "SELECT p.src FROM packets [ROWS 1] AS p LEFT JOIN replies [ROWS 1] AS r ON p.src = r.host",
            f"LEFT JOIN of a stream is not supported: {NO_PARTNER}. LEFT JOIN of a stored table is supported",
            "LEFT JOIN replies [ROWS 1] AS r ON p.src = r.host",
        ),
        (
            "SELECT src FROM hosts LEFT JOIN packets ON src = ip",
            f"LEFT JOIN of a stream is not supported: {NO_PARTNER}",
            "LEFT JOIN packets ON src = ip",
        ),
        (
            "SELECT src FROM packets [ROWS 1] LEFT JOIN (SELECT host FROM replies) [ROWS 1] AS x ON src = x.host",
            "LEFT JOIN of a stream is not supported",
            "LEFT JOIN (SELECT host FROM replies) [ROWS 1] AS x ON src = x.host",
        ),
        (
            "WITH a AS (SELECT host FROM replies) SELECT src FROM packets [ROWS 1] "
            "LEFT JOIN a [ROWS 1] ON src = host",
            "LEFT JOIN of a stream is not supported",
            "LEFT JOIN a [ROWS 1] ON src = host",
        ),
        (
            "SELECT src FROM packets RIGHT JOIN hosts ON src = ip",
            f"RIGHT JOIN is not supported: {NO_PARTNER}. LEFT JOIN of a stored table is supported",
            "RIGHT JOIN hosts ON src = ip",
        ),
        (
            "SELECT src FROM packets FULL OUTER JOIN hosts ON src = ip",
            f"FULL JOIN is not supported: {NO_PARTNER}",
            "FULL OUTER JOIN hosts ON src = ip",
        ),
        (
            "SELECT src FROM packets OUTER JOIN hosts ON src = ip",
            "OUTER JOIN is not supported: write LEFT JOIN and a stored table",
            "OUTER JOIN hosts ON src = ip",
        ),
        (
            "SELECT src FROM packets LEFT SEMI JOIN hosts ON src = ip",
            "SEMI JOIN is not supported yet",
            "LEFT SEMI JOIN hosts ON src = ip",
        ),
        (
            "SELECT src FROM packets LEFT ANTI JOIN hosts ON src = ip",
            "ANTI JOIN is not supported yet",
            "LEFT ANTI JOIN hosts ON src = ip",
        ),
        (
            "SELECT src FROM packets LEFT JOIN hosts",
            "LEFT JOIN needs a condition: LEFT JOIN hosts ON …",
            "LEFT JOIN hosts",
        ),
        (
            "SELECT src FROM packets LEFT JOIN hosts WHERE src = ip",
            "LEFT JOIN needs a condition",
            "LEFT JOIN hosts",
        ),
        (
            "SELECT src FROM packets LEFT JOIN hosts USING (ip)",
            "USING is not supported",
            "LEFT JOIN hosts USING (ip)",
        ),
        (
            "SELECT src FROM packets NATURAL LEFT JOIN hosts",
            "NATURAL JOIN is not supported",
            "NATURAL LEFT JOIN hosts",
        ),
        (
            "SELECT src FROM packets LEFT JOIN hosts [ROWS 5] ON src = ip",
            "hosts is a stored table and cannot have a window",
            "[ROWS 5]",
        ),
        (
            "SELECT p.src FROM hosts h LEFT JOIN owners o ON h.owner = o.name, packets p",
            "LEFT JOIN keeps the rows of a stream, and there is none before it, only h: write the stream first",
            "LEFT JOIN owners o ON h.owner = o.name",
        ),
        (
            "SELECT p.src FROM packets p, hosts h LEFT JOIN owners o ON h.owner = o.name",
            "there is none before it, only h: write the stream first",
            "LEFT JOIN owners o ON h.owner = o.name",
        ),
        (
            "SELECT p.src FROM replies [ROWS 1] r, packets [ROWS 2] p "
            "LEFT JOIN hosts h ON p.src = h.ip AND r.code > 5",
            "ON of this LEFT JOIN cannot read r: LEFT JOIN is done before the comma in front of it. Write JOIN "
            "instead of that comma",
            "r.code",
        ),
        (
            "SELECT p.src FROM packets p LEFT JOIN hosts h ON o.name = h.ip JOIN owners o ON p.src = h.owner",
            "ON of this LEFT JOIN cannot read o: it comes later in FROM",
            "o.name",
        ),
        (
            "SELECT src FROM packets LEFT JOIN hosts ON bytes",
            "ON needs a condition, but this is a number",
            "bytes",
        ),
        (
            "SELECT src FROM packets LEFT JOIN hosts ON max(bytes) > 3",
            "MAX is an aggregate and cannot be in ON",
            "max(bytes)",
        ),
        (
            f"SELECT count(*) AS n FROM packets {MINUTES} LEFT JOIN hosts ON window_end > at",
            "window_end cannot be in ON: a row may be in several windows",
            "window_end",
        ),
        ("SELECT src FROM packets LEFT JOIN hosts ON src = zip", "there is no column 'zip'", "zip"),
        ("SELECT src FROM packets LEFT JOIN hsts ON src = ip", "there is no stream or table 'hsts'", "hsts"),
    ],
)
def test_joins_that_cannot_be(select, says, marked):
    found = refused(f"\n{select}")
    assert says in found.message
    assert found.marked == marked
    assert found.column == select.rindex(marked) + 1
