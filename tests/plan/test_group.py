"""Groups of queries that differ only in constants: their operators, and how members come and go."""

from penstock.plan.derived import Starts
from penstock.plan.plan import Plan
from penstock.plan.steps import Lookup
from tests.language.asking import plan, query, steps

TWO = "FROM packets [ROWS 5] p, replies [ROWS 6] r WHERE p.src = r.host"


def test_what_a_group_does():
    made = plan(
        "SELECT src, bytes * 2 AS b FROM packets WHERE dst LIKE 'a%' AND bytes > 1",
        "SELECT src, bytes * 3 AS b FROM packets WHERE dst LIKE 'a%' AND bytes > 9",
        "SELECT src FROM packets WHERE dst LIKE 'a%'",
    )
    assert steps(made) == [
        "select.1 packets: (`dst` LIKE 'a%')",
        "lookup.2 select.1: JOIN group 1 t ON (s.`bytes` > t.`c0`)",
        "project.3 lookup.2: `src` AS `src`, `bytes` * `__0_c1` AS `b`, `__0___q` AS `__q`",
        "project.4 select.1: `src` AS `src`",
    ]
    group = made.groups["group 1"]
    assert {name: member.values for name, member in group.members.items()} == {"q0": (1, 2), "q1": (9, 3)}
    assert (made.runs_as("q1"), made.runs_as("q2")) == ("group 1", "q2")


def test_what_may_fail_is_asked_last_and_never_as_an_equality():
    """Spark looks for equalities first: 10 / x = 5 would be asked of the rows that x <> 0 keeps away."""
    made = plan(*(f"SELECT src FROM packets WHERE 10 / bytes = {n} AND bytes <> 0" for n in (5, 6)))
    condition = next(step.condition for step in made.steps.values() if isinstance(step, Lookup))
    first, _, last = condition.partition(" AND ")
    assert "<>" in first
    assert ">=" in last
    assert "<=" in last
    assert " = " not in condition


def test_windows_are_joined_once_for_all():
    made = plan(*(f"SELECT code {TWO} AND bytes > {n} AND code < {n}" for n in (1, 2)))
    assert steps(made) == [
        "join.1 packets,replies: packets [ROWS 5] × replies [ROWS 6] ON (p0.`src` = p1.`host`)",
        "lookup.2 join.1: JOIN group 1 t ON (s.`__p0_bytes` > t.`c0`) AND (s.`__p1_code` < t.`c1`)",
        "project.3 lookup.2: `__p1_code` AS `code`, `__1___q` AS `__q`",
    ]


def test_equal_queries_share_operators_and_are_no_group():
    same = "SELECT src FROM packets WHERE bytes > 1"
    assert plan(same, same).groups == {}
    made = Plan().with_query(query(same, "a")).with_query(query(same, "b"))
    assert made.groups == {}
    assert len(made.steps) == 2


def test_queries_join_and_leave():
    made = plan("SELECT src FROM packets WHERE bytes > 1")
    second = made.with_query(query("SELECT src FROM packets WHERE bytes > 2", "b"), Starts({"packets": 7}))
    assert second.served_by(second.runs_as("b")) == ("b",)
    third = second.with_query(query("SELECT src FROM packets WHERE bytes > 3", "c"), Starts({"packets": 9}))
    assert third.network is second.network
    [group] = third.groups.values()
    assert list(group.members) == ["b", "c"]
    left = third.without_query("b")
    assert left.network is third.network
    again = left.with_query(query("SELECT src FROM packets WHERE bytes > 2", "b"), Starts({"packets": 12}))
    [group] = again.groups.values()
    assert {name: member.number for name, member in group.members.items()} == {"c": 1, "b": 2}
    empty = again.without_query("c").without_query("b")
    assert (empty.groups, [each.name for each in empty.network.queries]) == ({}, ["q0"])


def test_windows_of_one_group_begin_together():
    made = plan(*(f"SELECT code {TWO} AND bytes > {n}" for n in (1, 2)))
    third = made.with_query(query(f"SELECT code {TWO} AND bytes > 3", "c"), Starts({"packets": 7, "replies": 0}))
    fourth = third.with_query(query(f"SELECT code {TWO} AND bytes > 4", "d"), Starts({"packets": 7, "replies": 0}))
    assert [list(group.members) for group in fourth.groups.values()] == [["q0", "q1"], ["c", "d"]]


def test_an_ending_member_gets_windows_of_its_own():
    made = plan(*(f"SELECT code {TWO} AND bytes > {n}" for n in (1, 2)))
    ending, moved = made.with_ending("q0", {"packets": 0, "replies": 0}, {"packets": 10, "replies": 20})
    assert [list(group.members) for group in ending.groups.values()] == [["q1"], ["q0"]]
    assert ending.groups[ending.runs_as("q0")].members["q0"] == made.groups["group 1"].members["q0"]
    assert {(str(old), str(new).rsplit(".", 1)[0]) for old, new in moved.items()} == {
        ("packets→join.1", "packets→join"),
        ("replies→join.1#1", "replies→join"),
        ("join.1→lookup.2", "join.6→lookup"),
        ("lookup.2→project.3", "lookup.7→project"),
    }
    after = ending.with_query(query(f"SELECT code {TWO} AND bytes > 9", "late"), Starts())
    assert list(after.groups["group 1"].members) == ["q1", "late"]
