"""Queries as one network: what is shared, what is not, what is wanted of rows, and queries that come and go."""

import pytest

from penstock import POLICIES
from penstock.language import Script
from penstock.plan.derived import Starts
from penstock.plan.plan import Plan, never
from penstock.plan.steps import Join
from penstock.policies.units import units_of
from tests.language.asking import DECLARED, plan, query, steps

TWO = "FROM packets [ROWS 5] p, replies [ROWS 6] r WHERE p.src = r.host"

SAME = [
    # alias names, case, brackets, blanks, comments
    ("SELECT src FROM packets WHERE bytes > 1", "select  P.SRC from Packets as p where ((p.bytes>1)) /* all */"),
    # the order of AND, ON or WHERE, repetition
    (
        "SELECT src FROM packets WHERE bytes > 1 AND dst = 'x'",
        "SELECT src FROM packets WHERE dst = 'x' AND bytes > 1",
    ),
    ("SELECT src FROM packets WHERE bytes > 1", "SELECT src FROM packets WHERE bytes > 1 AND bytes > 1"),
    ("SELECT src FROM packets JOIN hosts ON src = ip", "SELECT p.src FROM packets p, hosts h WHERE p.src = h.ip"),
    ("SELECT owner FROM packets, hosts WHERE src = ip", "SELECT owner FROM hosts, packets WHERE src = ip"),
    ("SELECT owner FROM packets, hosts", "SELECT owner FROM hosts CROSS JOIN packets"),
    (f"SELECT p.src {TWO}", "SELECT a.src FROM packets [ROWS 5] a JOIN replies [ROWS 6] b ON a.src = b.host"),
    (f"SELECT p.src {TWO} AND bytes > 1", f"SELECT p.src {TWO.replace('WHERE', 'WHERE bytes > 1 AND')}"),
    (
        "SELECT p.src, owner FROM packets [ROWS 5] p, replies [ROWS 6] r, hosts",
        "SELECT p.src, owner FROM hosts, packets [ROWS 5] p, replies [ROWS 6] r",
    ),
    # ways to write the same
    ("SELECT src FROM packets WHERE bytes != 1", "SELECT src FROM packets WHERE bytes <> 1"),
    ("SELECT src FROM packets [RANGE 1 s]", "SELECT src FROM packets"),
    (
        f"SELECT p.src {TWO.replace('ROWS 5', 'RANGE 1 s')}",
        f"SELECT p.src {TWO.replace('ROWS 5', 'RANGE 1000 ms')}",
    ),
    ("SELECT src FROM packets WHERE dst = 'it''s'", 'SELECT src FROM packets WHERE dst = "it\'s"'),
]

DIFFERENT = [
    ("SELECT src FROM packets", "SELECT dst FROM packets"),
    ("SELECT src FROM packets", "SELECT src AS source FROM packets"),
    ("SELECT src FROM packets WHERE bytes > 1", "SELECT src FROM packets WHERE bytes > 2"),
    ("SELECT src FROM packets WHERE bytes > 1", "SELECT src FROM packets WHERE bytes > 1.0"),
    (f"SELECT p.src {TWO}", f"SELECT p.src {TWO.replace('ROWS 5', 'ROWS 4')}"),
    (f"SELECT p.src {TWO}", f"SELECT p.src {TWO.replace('ROWS 5', 'RANGE 5 s')}"),
    (f"SELECT p.src {TWO}", f"SELECT p.src {TWO} AND p.bytes > r.code"),
    (f"SELECT p.src {TWO}", "SELECT p.src FROM replies [ROWS 6] r, packets [ROWS 5] p WHERE p.src = r.host"),
    ("SELECT owner FROM packets, hosts WHERE src = ip", "SELECT owner FROM packets, hosts WHERE dst = ip"),
    (
        "SELECT a.src FROM packets [ROWS 5] a, packets [ROWS 5] b WHERE a.src = b.dst",
        "SELECT a.src FROM packets [ROWS 5] b, packets [ROWS 5] a WHERE a.src = b.dst",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_queries_are_one(one, other):
    made = plan(one, other)
    assert [query.root for query in made.network.queries] == [made.network.queries[0].root] * 2
    assert steps(made) == steps(plan(one))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_queries_are_two(one, other):
    made = plan(one, other, may_group=never)
    first, second = (query.root for query in made.network.queries)
    assert first != second
    if Join in map(type, plan(one).steps.values()):
        assert sum(isinstance(step, Join) for step in made.steps.values()) == 2


def test_what_is_below_is_shared():
    made = plan(
        f"SELECT p.src {TWO} AND bytes > 1",
        "SELECT src FROM packets WHERE bytes > 1",
        "SELECT owner FROM packets JOIN hosts ON src = ip WHERE bytes > 1",
    )
    assert steps(made) == [
        "select.1 packets: (`bytes` > 1)",
        "join.2 select.1,replies: packets [ROWS 5] × replies [ROWS 6] ON (p0.`src` = p1.`host`)",
        "project.3 join.2: `__p0_src` AS `src`",
        "project.4 select.1: `src` AS `src`",
        "lookup.5 select.1: JOIN hosts t ON (s.`src` = t.`ip`)",
        "project.6 lookup.5: `__0_owner` AS `owner`",
    ]
    assert made.steps["join.2"].ports[0].path == ("select.1",)


def test_a_shared_lookup_has_the_names_that_every_query_uses():
    """The names of a table's columns may not depend on its place in FROM."""
    made = plan("SELECT owner FROM packets, hosts", "SELECT owner, src FROM hosts, packets")
    assert steps(made) == [
        "lookup.1 packets: JOIN hosts t ON true",
        "project.2 lookup.1: `__0_owner` AS `owner`",
        "project.3 lookup.1: `__0_owner` AS `owner`, `src` AS `src`",
    ]


def test_queries_that_end_at_the_same_rows_have_joins_of_their_own():
    """Each takes what waits for the old join; with one join, rows that one had taken would come again."""
    made = plan(f"SELECT p.src {TWO}", f"SELECT r.code {TWO}")
    names = list(made.queries)
    ends = {"packets": 20, "replies": 5}
    first, moved = made.with_ending(names[0], {"packets": 0, "replies": 0}, ends)
    both, moved_too = first.with_ending(names[1], {"packets": 0, "replies": 0}, ends)
    assert not set(moved.values()) & set(moved_too.values())
    assert sum(isinstance(step, Join) for step in both.steps.values()) == 2


def test_joins_with_other_starts_or_ends_are_not_shared():
    made = plan(f"SELECT p.src {TWO}")
    joined = query(f"SELECT p.src {TWO}", "later")
    assert len(made.with_query(joined).steps) == 2
    later = made.with_query(joined, Starts({"packets": 10}))
    assert len(later.steps) == 4
    assert len(later.with_query(query(f"SELECT p.src {TWO}", "third"), Starts({"packets": 10})).steps) == 4
    assert len(later.with_query(query(f"SELECT p.src {TWO}", "third"), Starts({"replies": 10})).steps) == 6
    ending, _ = later.with_ending("later", {"packets": 10}, {"packets": 20, "replies": 5})
    assert ending.steps.keys() - later.steps.keys() == {"join.5", "project.6"}


def test_a_join_is_shared_after_selectivities_were_measured():
    sql = f"SELECT p.src {TWO} AND bytes > 1"
    made = plan(sql)
    made = made.measured(made.network.measured(selectivities={"select.1": 0.001}))
    assert len(made.with_query(query(sql, "again")).steps) == len(made.steps)


def test_a_selection_is_the_same_wherever_a_query_starts():
    made = plan("SELECT src FROM packets WHERE bytes > 1")
    assert (
        len(
            made.with_query(query("SELECT src FROM packets WHERE bytes > 1", "late"), Starts({"packets": 9})).steps
        )
        == 2
    )


def sufficient(made):
    """Whether every step finds the columns it reads, when each queue carries only what is wanted of it."""
    wanted = made.wanted()
    for operator in made.network.operators:
        for edge in made.network.out_edges.get(operator.name, ()):
            step = made.steps[operator.name]
            had = [wanted[each] for each in made.network.in_edges[operator.name]]
            makes = had[0] | set(getattr(step, "makes", ()))
            if isinstance(step, Join):
                makes = {Join.named(port, name) for port, names in enumerate(had) for name in names}
            assert wanted[edge] <= makes
    for edge, names in wanted.items():
        if edge.source in {stream.name for stream in made.network.streams}:
            columns = Script.parse(DECLARED).streams[edge.source].columns
            assert names <= {column.name for column in columns}
    return {str(edge): set(names) for edge, names in wanted.items()}


def test_no_more_columns_are_wanted_than_are_read():
    assert sufficient(plan("SELECT src FROM packets WHERE bytes > 1")) == {
        "packets→select.1": {"src", "bytes"},
        "select.1→project.2": {"src"},
    }
    assert sufficient(plan("SELECT 1 AS one FROM packets")) == {"packets→project.1": set()}
    assert sufficient(
        plan(f"SELECT r.code, owner {TWO.replace('WHERE', ', hosts WHERE dst = ip AND bytes > 1 AND')}")
    ) == {
        "packets→select.1": {"src", "dst", "bytes"},
        "select.1→lookup.2": {"src", "dst"},
        "lookup.2→join.3": {"src", "__0_owner"},
        "replies→join.3#1": {"host", "code"},
        "join.3→project.4": {"__p1_code", "__p0___0_owner"},
    }


def test_a_shared_queue_carries_what_each_reader_wants():
    wanted = sufficient(plan("SELECT src FROM packets WHERE bytes > 1", "SELECT dst FROM packets WHERE bytes > 1"))
    assert wanted["packets→select.1"] == {"src", "dst", "bytes"}
    assert wanted["select.1→project.2"] == {"src"}


@pytest.mark.parametrize("selects", [*SAME, *DIFFERENT])
def test_what_is_wanted_suffices(selects):
    assert sufficient(plan(*selects))


def test_types_of_what_is_sent_on():
    made = plan(f"SELECT r.code, owner {TWO.replace('WHERE', ', hosts WHERE dst = ip AND floor > 1 AND')}")
    types = {
        str(edge): {name: made.type_of(edge.source, name) for name in names}
        for edge, names in made.wanted().items()
    }
    assert types["packets→lookup.1"] == {"src": "STRING", "dst": "STRING"}
    assert types["join.2→project.3"] == {"__p1_code": "INT", "__p0___0_owner": "STRING"}


def test_a_query_that_goes_leaves_the_rest_as_it_was():
    before = plan("SELECT src FROM packets WHERE bytes > 1", f"SELECT p.src {TWO}")
    during = before.with_query(query("SELECT dst FROM packets WHERE bytes > 1 AND src = 'x'", "guest"))
    after = during.without_query("guest")
    assert during.steps.items() >= before.steps.items()
    assert (after.network, after.steps, after.queries) == (before.network, before.steps, before.queries)
    assert after.used == during.used


def test_shared_operators_stay_as_long_as_one_query_uses_them():
    made = plan("SELECT src FROM packets WHERE bytes > 1", "SELECT dst FROM packets WHERE bytes > 1")
    made = made.without_query("q0")
    assert list(made.steps) == ["select.1", "project.3"]
    assert made.without_query("q1").steps == {}


def test_names_are_never_given_twice():
    made, seen = Plan(), set()
    for number in range(20):
        made = made.with_query(query(f"SELECT src FROM packets WHERE bytes > {number}", f"n{number}"))
        assert not seen & made.steps.keys()
        seen |= made.steps.keys()
        made = made.without_query(f"n{number}")
    assert len(seen) == 40


def test_one_after_the_other_makes_the_same_plan_as_all_at_once():
    selects = [each for pair in (*SAME, *DIFFERENT) for each in pair]
    at_once, made = plan(*selects, may_group=never), Plan()
    for number, select in enumerate(selects):
        made = made.with_query(query(select, f"q{number}"), may_group=never)
    assert made.network == at_once.network
    assert (made.steps, made.used, list(made.queries)) == (at_once.steps, at_once.used, list(at_once.queries))


def test_five_streams_and_a_self_join():
    items = ", ".join(
        f"{stream} [ROWS {size}] s{size}"
        for size, stream in enumerate(["packets", "replies"] * 2 + ["packets"], 1)
    )
    where = " AND ".join(f"s{size}.at < s{size + 1}.at" for size in range(1, 5))
    made = plan(f"SELECT s1.src, s5.src AS last FROM {items} WHERE {where} AND s3.bytes > 1")
    assert steps(made) == [
        "select.1 packets: (`bytes` > 1)",
        "join.2 packets,replies,select.1,replies,packets: packets [ROWS 1] × replies [ROWS 2] × packets [ROWS 3] "
        "× replies [ROWS 4] × packets [ROWS 5] ON (p0.`at` < p1.`at`) AND (p1.`at` < p2.`at`) "
        "AND (p2.`at` < p3.`at`) AND (p3.`at` < p4.`at`)",
        "project.3 join.2: `__p0_src` AS `src`, `__p4_src` AS `last`",
    ]
    assert sufficient(made)["packets→join.2#4"] == {"at", "src"}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_every_policy_has_its_units_on_a_plan(policy):
    made = plan(*(each for pair in SAME for each in pair))
    units = units_of(made.network, policy)
    assert {edge for unit in units for edge in (*unit.entries, *unit.through)} == set(made.network.edges)


def test_rates_and_sizes_come_from_the_declarations():
    made = plan(f"SELECT p.src {TWO}")
    assert [(stream.name, stream.rate, stream.size) for stream in made.network.streams] == [
        ("packets", 100.0, 44),
        ("replies", 10.0, 28),
    ]
