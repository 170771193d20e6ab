"""Which condition lands in which step."""

import pytest

from penstock.plan.steps import Join, Lookup, Project, Select
from penstock.plan.translate import steps_of
from tests.language.asking import query

BOTH = "packets [ROWS 5] p, replies [ROWS 6] r"


def described(select):
    """Chains, join and tail of a query, each step as its SQL."""
    made = steps_of(query(f"SELECT 1 AS one FROM {select}"))
    chains = [[step.sql for step in chain] for chain in made.chains]
    join = None if made.join is None else [condition.sql for condition in made.join.conditions]
    return chains, join, [step.sql for step in made.tail[:-1]]


@pytest.mark.parametrize(
    ("select", "chains", "join", "tail"),
    [
        # One stream
        ("packets", [[]], None, []),
        ("packets WHERE bytes > 1 AND src = 'a'", [["(`bytes` > 1) AND (`src` = 'a')"]], None, []),
        ("packets WHERE (bytes > 1 AND (src = 'a'))", [["(`bytes` > 1) AND (`src` = 'a')"]], None, []),
        ("packets WHERE bytes > 1 AND bytes > 1", [["(`bytes` > 1)"]], None, []),
        ("packets WHERE bytes > 1 OR src = 'a'", [["(`bytes` > 1 OR `src` = 'a')"]], None, []),
        ("packets WHERE NOT (bytes > 1 AND src = 'a')", [["(NOT (`bytes` > 1 AND `src` = 'a'))"]], None, []),
        ("packets WHERE 1 = 0", [["(1 = 0)"]], None, []),
        ("packets WHERE TRUE AND NULL", [["(NULL) AND (TRUE)"]], None, []),
        # A guard comes before what it guards, whatever the order of letters
        ("packets WHERE 1 / bytes > 2 AND bytes <> 0", [["(`bytes` <> 0) AND (1 / `bytes` > 2)"]], None, []),
        (
            "packets WHERE int(src) > 2 AND src RLIKE '1'",
            [["(`src` RLIKE '1') AND (CAST(`src` AS INT) > 2)"]],
            None,
            [],
        ),
        (
            "packets WHERE try_cast(src AS INT) > 2 AND src > 'a'",
            [["(TRY_CAST(`src` AS INT) > 2) AND (`src` > 'a')"]],
            None,
            [],
        ),
        # Tables
        ("packets JOIN hosts ON src = ip", [["JOIN hosts t ON (s.`src` = t.`ip`)"]], None, []),
        (
            "packets, hosts WHERE src = ip AND floor > 1 AND bytes > floor AND bytes > 2",
            [
                [
                    "(`bytes` > 2)",
                    "JOIN hosts t ON (s.`bytes` > t.`floor`) AND (s.`src` = t.`ip`) AND (t.`floor` > 1)",
                ]
            ],
            None,
            [],
        ),
        ("packets, hosts", [[]], None, ["JOIN hosts t ON true"]),
        ("packets, hosts WHERE floor > 1", [[]], None, ["JOIN hosts t ON (t.`floor` > 1)"]),
        (
            "packets, owners, hosts WHERE src = ip AND owner = name",
            [["JOIN hosts t ON (s.`src` = t.`ip`)", "JOIN owners t ON (s.`__0_owner` = t.`name`)"]],
            None,
            [],
        ),
        (
            "packets, hosts a, hosts b WHERE src = a.ip AND dst = b.ip AND a.floor < b.floor",
            [
                [
                    "JOIN hosts t ON (s.`src` = t.`ip`)",
                    "JOIN hosts t ON (s.`__0_floor` < t.`floor`) AND (s.`dst` = t.`ip`)",
                ]
            ],
            None,
            [],
        ),
        # Several streams
        (BOTH, [[], []], [], []),
        (
            f"{BOTH} WHERE src = host AND bytes > 1 AND code > 2 AND bytes > code",
            [["(`bytes` > 1)"], ["(`code` > 2)"]],
            ["p0.`bytes` > p1.`code`", "p0.`src` = p1.`host`"],
            [],
        ),
        (f"{BOTH} WHERE 1 = 0", [["(1 = 0)"], []], [], []),
        (f"{BOTH} WHERE bytes > 1 OR code > 2", [[], []], ["p0.`bytes` > 1 OR p1.`code` > 2"], []),
        (f"{BOTH}, hosts WHERE host = ip", [[], ["JOIN hosts t ON (s.`host` = t.`ip`)"]], [], []),
        (f"{BOTH}, hosts WHERE src = host", [[], []], ["p0.`src` = p1.`host`"], ["JOIN hosts t ON true"]),
        (
            f"{BOTH}, hosts WHERE src = ip AND floor > code",
            [["JOIN hosts t ON (s.`src` = t.`ip`)"], []],
            ["p0.`__0_floor` > p1.`code`"],
            [],
        ),
        (
            f"{BOTH}, hosts WHERE concat(src, host) = ip AND floor > 1",
            [[], []],
            [],
            ["JOIN hosts t ON (CONCAT(s.`__p0_src`, s.`__p1_host`) = t.`ip`) AND (t.`floor` > 1)"],
        ),
        (  # an equality finds rows faster than a comparison, so it decides where the table goes
            f"{BOTH}, hosts WHERE bytes > floor AND host = ip",
            [[], ["JOIN hosts t ON (s.`host` = t.`ip`)"]],
            ["p0.`bytes` > p1.`__0_floor`"],
            [],
        ),
        (
            "packets [ROWS 5] p, packets [RANGE 1 s] q WHERE p.src = q.dst AND p.bytes > 1 AND q.bytes > 2",
            [["(`bytes` > 1)"], ["(`bytes` > 2)"]],
            ["p0.`src` = p1.`dst`"],
            [],
        ),
    ],
)
def test_conditions_go_as_far_down_as_they_may(select, chains, join, tail):
    assert described(select) == (chains, join, tail)


def test_on_and_where_are_the_same():
    on = described(
        "packets [ROWS 5] p JOIN replies [ROWS 6] r ON src = host AND bytes > 1 JOIN hosts ON host = ip"
    )
    assert on == described(f"{BOTH}, hosts WHERE host = ip AND bytes > 1 AND src = host")


def test_ports_have_windows_starts_and_ends():
    made = steps_of(query(f"SELECT 1 AS one FROM {BOTH}"), {"packets": 7}, {"replies": 9})
    assert [(port.stream, str(port.window), port.start, port.end) for port in made.join.ports] == [
        ("packets", "[ROWS 5]", 7, None),
        ("replies", "[ROWS 6]", 0, 9),
    ]
    assert made.join.sql == "packets [ROWS 5] × replies [ROWS 6] FROM packets 7 UP TO replies 9"


def test_conditions_of_a_join_say_which_columns_of_which_ports():
    made = steps_of(query(f"SELECT 1 AS one FROM {BOTH} WHERE src = host AND bytes + 1 > code"))
    assert [(c.sql, c.columns, c.ports) for c in made.join.conditions] == [
        ("p0.`src` = p1.`host`", {"__p0_src", "__p1_host"}, {0, 1}),
        ("p0.`bytes` + 1 > p1.`code`", {"__p0_bytes", "__p1_code"}, {0, 1}),
    ]


def test_steps_say_what_they_read():
    made = steps_of(
        query("SELECT h.owner, p.bytes + 1 AS more FROM packets p, hosts h WHERE src = ip AND dst = 'x'")
    )
    select, lookup, project = *made.chains[0], made.tail[-1]
    assert (type(select), type(lookup), type(project)) == (Select, Lookup, Project)
    assert project.reads(frozenset()) == ({"__0_owner", "bytes"},)
    assert lookup.reads(frozenset({"__0_owner", "bytes"})) == ({"bytes", "src"},)
    assert select.reads(frozenset({"bytes", "src"})) == ({"bytes", "src", "dst"},)
    assert lookup.makes == {"__0_ip": "ip", "__0_owner": "owner", "__0_floor": "floor"}


@pytest.mark.parametrize(
    ("where", "port", "order"),
    [
        ("a.src = b.src AND b.src = c.src AND c.src = d.src", 0, (1, 2, 3)),
        ("a.src = b.src AND b.src = c.src AND c.src = d.src", 3, (2, 1, 0)),
        ("a.src = d.src AND d.src = b.src AND b.src = c.src", 0, (3, 1, 2)),
        ("a.src = d.src", 1, (0, 3, 2)),
        ("a.bytes + b.bytes = c.bytes", 3, (0, 1, 2)),
    ],
)
def test_a_row_probes_what_it_is_connected_with_first(where, port, order):
    items = ", ".join(f"packets [ROWS 1] {name}" for name in "abcd")
    join = steps_of(query(f"SELECT 1 AS one FROM {items} WHERE {where}")).join
    assert isinstance(join, Join)
    assert join.order_from(port) == order
