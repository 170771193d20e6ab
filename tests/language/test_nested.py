"""Names as logs have them, and columns that are arrays, maps and structs."""

import pytest

from penstock.language import Script
from penstock.plan.may_fail import may_fail
from penstock.plan.plan import Plan
from penstock.plan.steps import Join
from penstock.plan.translate import steps_of
from tests.language.asking import DECLARED, plan, query, refusal, refused


def given(expression, source="logs"):
    """The SQL that Spark is given for an expression."""
    [*_, project] = plan(f"SELECT {expression} AS v FROM {source}").steps.values()
    [(sql, _)] = project.columns
    return sql


def columns(text, source="FROM files WITH (path = 'x', format = 'json')"):
    return Script.parse(f"CREATE STREAM s ({text}) {source};").streams["s"].columns


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("ARRAY<INT>", "ARRAY<INT>"),
        ("array<array<string>>", "ARRAY<ARRAY<STRING>>"),
        ("MAP<STRING, ARRAY<DECIMAL(5,2)>>", "MAP<STRING,ARRAY<DECIMAL(5,2)>>"),
        ("STRUCT<a: INT, b: STRING>", "STRUCT<`a`:INT,`b`:STRING>"),
        ("STRUCT<a INT, `b.c``d`: STRUCT<e: MAP<INT, VARCHAR(3)>>>",
         "STRUCT<`a`:INT,`b.c``d`:STRUCT<`e`:MAP<INT,STRING>>>"),
    ],
)  # fmt: skip
def test_nested_types_are_spark_s(written, kind):
    [column] = columns(f"a {written}")
    assert column.type.name == kind


def test_names_in_back_quotes_may_be_anything_and_columns_have_paths():
    found = columns(
        "`id.orig_h` STRING, `user agent` STRING, `a``b'c` INT, größe INT, src STRING PATH 'id.orig_h'"
    )
    assert [(each.name, each.path) for each in found] == [
        ("id.orig_h", None),
        ("user agent", None),
        ("a`b'c", None),
        ("größe", None),
        ("src", "id.orig_h"),
    ]


def test_options_may_be_named_after_any_column():
    [stream] = Script.parse(
        "CREATE STREAM s (`a b.c` INT, Größe INT, Bytes INT) FROM poisson "
        "WITH (rate = 1, `a b.c_low` = 3, GRÖßE_low = 4, bytes_low = 5)"
    ).streams.values()
    assert {name: stream.options[name] for name in ("a b.c_low", "Größe_low", "Bytes_low")} == {
        "a b.c_low": 3,
        "Größe_low": 4,
        "Bytes_low": 5,
    }


@pytest.mark.parametrize(
    ("written", "sql", "name"),
    [
        ("`id.orig_h`", "`id.orig_h`", "id.orig_h"),
        ("l.`id.orig_h`", "`id.orig_h`", "id.orig_h"),
        ("`user agent`", "`user agent`", "user agent"),
        ("id.orig_h", "`id`['orig_h']", "orig_h"),
        ("ID.Orig_H", "`id`['orig_h']", "orig_h"),
        ("l.id.port", "`id`['port']", "port"),
        ("l.id.`a b`.c", "`id`['a b']['c']", "c"),
        ("id.`a b`.c", "`id`['a b']['c']", "c"),
        ("(id).port", "(`id`)['port']", "port"),
        ("ns[0]", "`ns`[0]", "ns[0]"),
        ("ns[rows]", "`ns`[`rows`]", "ns[rows]"),
        ("ns[rows + 1]", "`ns`[`rows` + 1]", "ns[rows + 1]"),
        ("m['k']", "`m`['k']", "m['k']"),
        ("m.k", "`m`['k']", "k"),
        ("deep[3][0]", "`deep`[3][0]", "deep[3][0]"),
        ("seen[0].hops", "`seen`[0]['hops']", "hops"),
        ("seen.hops", "`seen`['hops']", "hops"),
        ("get(seen, 0).at", "GET(`seen`, 0)['at']", "at"),
    ],
)
def test_fields_and_elements(written, sql, name):
    [output] = query(f"SELECT {written} FROM logs l").outputs
    assert output.name == name
    assert given(written, "logs l") == sql


@pytest.mark.parametrize(
    ("written", "sql"),
    [
        ("exists(ns, x -> x > 3)", "EXISTS(`ns`, __v0 -> __v0 > 3)"),
        ("exists(ns, X -> x > rows)", "EXISTS(`ns`, __v0 -> __v0 > `rows`)"),
        ("exists(ns, rows -> rows > 3)", "EXISTS(`ns`, __v0 -> __v0 > 3)"),  # it hides the column
        ("forall(seen, s -> s.hops > 3)", "FORALL(`seen`, __v0 -> __v0['hops'] > 3)"),
        ("filter(tags, t -> t LIKE 'a%')", "FILTER(`tags`, __v0 -> __v0 LIKE 'a%')"),
        ("size(filter(ns, x -> x > 1))", "SIZE(FILTER(`ns`, __v0 -> __v0 > 1))"),
        ("exists(seen, x -> exists(ns, y -> y = x.hops))",
         "EXISTS(`seen`, __v0 -> EXISTS(`ns`, __v1 -> __v1 = __v0['hops']))"),
    ],
)  # fmt: skip
def test_lambdas(written, sql):
    assert given(written) == sql


GOOD = [
    "id", "tags", "id.port + 1", "upper(id.orig_h)", "ns[0] + 1", "id.`a b`.c * 2", "m['k'] > 3", "size(m) > 1",
    "array_contains(tags, 'a')", "array_contains(ns, 3)", "element_at(ns, 1)", "element_at(m, 'k') + 1",
    "coalesce(tags, split(js, ','))", "IF(id.port > 1, ns, NULL)", "CASE WHEN rows > 1 THEN id END", "id IS NULL",
    "map_keys(m)[0]", "upper(map_keys(m)[0])", "map_values(m)[0] + 1", "array_join(deep[1], ',')",
    "split(js, ',')[0] = 'a'", "sort_array(ns)[0] + 1", "array_max(ns) + 1", "try_element_at(deep, 1)[0]",
    "get_json_object(js, '$.a')", "js AS a", "hash(id)", "map_contains_key(deep, 3)",
    "CAST(id AS STRING)", "to_json(id)",
]  # fmt: skip


@pytest.mark.parametrize("expression", GOOD)
def test_what_fits(expression):
    expression = expression.removesuffix(" AS a")
    assert query(f"SELECT {expression} AS v FROM logs").outputs[0].name == "v"
    assert query(f"SELECT js FROM logs WHERE ({expression}) IS NULL")


@pytest.mark.parametrize(
    ("expression", "says", "marked"),
    [
        ("id.orig_x", "there is no field 'orig_x' in this struct. Did you mean 'orig_h'?", "orig_x"),
        ("id.x", "there is no field 'x' in this struct. There are orig_h, port, a b", "x"),
        ("l.id.prt", "there is no field 'prt' in this struct. Did you mean 'port'?", "prt"),
        ("idd.port", "nothing in FROM is named 'idd'. Did you mean 'id'?", "idd"),
        ("js.a", "field 'a': only arrays, maps and structs have parts, but this is a string", "js.a"),
        ("js[0]", "only arrays, maps and structs have parts, but this is a string", "js[0]"),
        ("id[0]", "write a field of a struct as column.field", "0"),
        ("ns['a']", "an array's […] needs a number, but this is a string", "'a'"),
        ("m[1]", "a key of this map needs a string, but this is a number", "1"),
        ("ns[1:2]", "[…] takes one number or one key", "ns[1:2]"),
        ("id = id", "structs cannot be compared: compare their fields", "id = id"),
        ("tags IN (tags)", "arrays cannot be compared: use array_contains", "tags IN (tags)"),
        ("m <=> m", "maps cannot be compared: compare their values", "m <=> m"),
        ("tags = 'a'", "an array and a string cannot be compared", "tags = 'a'"),
        ("greatest(id, id)", "structs cannot be compared", "greatest(id, id)"),
        ("coalesce(tags, ns)", "ARRAY<STRING> and ARRAY<INT> cannot be compared", "coalesce(tags, ns)"),
        ("IF(rows > 1, id, seen[0])", "cannot be results of one IF", "IF(rows > 1, id, seen[0])"),
        ("id + 1", "arithmetic needs numbers, but this is a struct", "id"),
        ("upper(tags)", "UPPER needs a string, but this is an array", "tags"),
        ("size(js)", "SIZE needs an array or a map, but this is a string", "js"),
        ("size(NULL)", "SIZE needs an array or a map, but this is NULL", "size(NULL)"),
        ("array_contains(tags, 3)", "ARRAY_CONTAINS needs a string, but this is a number", "3"),
        ("array_contains(seen, 3)", "ARRAY_CONTAINS compares simple values, but this is a struct", "seen"),
        ("element_at(m, 1)", "ELEMENT_AT needs a string, but this is a number", "1"),
        ("exists(ns, x -> x)", "EXISTS needs a condition, but this is a number", "x"),
        ("exists(ns, x -> x = 'a')", "a number and a string cannot be compared", "x = 'a'"),
        ("exists(ns, 3)", "EXISTS needs a condition on one element: x -> x > 3", "3"),
        ("exists(ns, x -> y > 3)", "there is no column 'y' in logs", "y"),
        ("exists(ns)", "EXISTS takes 2 arguments, not 1", "exists(ns)"),
        ("exists(js, x -> x > 'a')", "EXISTS needs an array, but this is a string", "js"),
        ("transform(ns, x -> x + 1)",
         "unknown function or expression 'transform'. It is not implemented yet; exists",
         "transform(ns, x -> x + 1)"),
        ("CAST(id AS INT)", "a struct can only be cast to STRING", "CAST(id AS INT)"),
    ],
)  # fmt: skip
def test_what_does_not_fit(expression, says, marked):
    found = refused(f"SELECT {expression} AS v FROM logs l")
    assert says in found.message
    assert found.marked == marked


def test_an_alias_comes_before_a_column():
    """As in Spark: `l.id` is column id of l, although there is a struct l, too."""
    script = Script.parse(
        "CREATE STREAM s (l STRUCT<id: INT, x: INT>, id STRING) FROM files WITH (path = 'x', format = 'json');"
        "CREATE QUERY q AS SELECT l.id AS a, l.x, l.l.id FROM s AS l;"
    )
    [*_, project] = Plan.of(script).steps.values()
    assert project.columns == (("`id`", "a"), ("`l`['x']", "x"), ("`l`['id']", "id"))


def test_names_with_dots_find_their_way_through_joins_and_tables():
    made = steps_of(
        Script.parse(
            f"{DECLARED} CREATE TABLE t (`a.b c` STRING, `x``y` INT) FROM csv WITH (path = 't.csv');"
            "CREATE QUERY q AS SELECT a.`id.orig_h`, t.`x``y`, b.id.port FROM logs [ROWS 3] a, logs [ROWS 4] b, t "
            "WHERE a.`id.orig_h` = b.`id.orig_h` AND a.id.port < b.id.port AND t.`a.b c` = b.`user agent`"
        ).queries["q"]
    )
    assert isinstance(made.join, Join)
    assert [(each.sql, each.columns) for each in made.join.conditions] == [
        ("p0.`id.orig_h` = p1.`id.orig_h`", {"__p0_id.orig_h", "__p1_id.orig_h"}),
        ("p0.`id`['port'] < p1.`id`['port']", {"__p0_id", "__p1_id"}),
    ]
    assert made.join.conditions[0].equal == ((0, "id.orig_h"), (1, "id.orig_h"))
    assert [step.sql for step in made.chains[1]] == ["JOIN t t ON (t.`a.b c` = s.`user agent`)"]
    assert made.join.reads(made.tail[-1].reads(frozenset())[0]) == (
        {"id.orig_h", "id"},
        {"id.orig_h", "id", "__0_x`y"},
    )


@pytest.mark.parametrize(
    ("expression", "fails"),
    [("ns[0]", True), ("id.port", False), ("m['k']", False), ("element_at(ns, 1)", True), ("get(ns, 1)", False),
     ("to_timestamp(js)", True), ("try_to_timestamp(js)", False), ("id.port / 2", True)],
)  # fmt: skip
def test_what_may_fail_is_asked_last(expression, fails):
    assert may_fail(query(f"SELECT {expression} AS v FROM logs").outputs[0].expression) == fails


def test_csv_holds_no_nested_values():
    for source in ("files WITH (path = 'x', format = 'csv')", "socket WITH (port = 1, format = 'csv')"):
        found = refusal(f"CREATE STREAM s (a INT, b ARRAY<INT>) FROM {source}")
        assert "column b is an array, but a CSV field is a simple value" in found.message
        assert found.marked == "b ARRAY<INT>"
    assert refusal("CREATE TABLE s (b STRUCT<a: INT>) FROM csv WITH (path = 'x')").marked == "b STRUCT<a: INT>"


def test_queries_over_fields_form_groups():
    made = plan(
        "SELECT js FROM logs WHERE id.port > 3 AND m['k'] = 1",
        "SELECT js FROM logs WHERE id.port > 4 AND m['k'] = 2",
        "SELECT js FROM logs WHERE id.port > 4 AND m['j'] = 2",
    )
    [group] = made.groups.values()
    assert list(group.members) == ["q0", "q1"]


@pytest.mark.parametrize("window", ["[ROWS]", "[RANGE]", "[ROWS x]", "[ROWS -1]"])
def test_a_wrong_window_in_from_is_called_one(window):
    assert "expected a number after" in refused(f"SELECT js FROM logs {window}").message


@pytest.mark.parametrize(
    ("declared", "asked", "found"),
    [
        ("größe", "GRÖßE", True),
        ("größe", "GRÖSSE", False),
        ("straße", "strasse", False),
        ("İd", "id", False),
        ("s", "ſ", False),
        ("caf\u00e9", "CAFE\u0301", True),  # one character, or a letter and an accent
        ("cafe\u0301", "CAF\u00c9", True),
        ("ΑΣ", "ας", True),
    ],
)
def test_names_are_the_same_to_spark_or_to_the_eye(declared, asked, found):
    """Which of them Spark matches was looked up in Spark; accents it tells apart, and nobody can see."""
    stream = f"CREATE STREAM s ({declared} INT) FROM poisson WITH (rate = 1);"
    text = f"{stream} CREATE QUERY q AS SELECT {asked} AS v FROM s"
    if found:
        [*_, project] = Plan.of(Script.parse(text)).steps.values()
        assert project.columns == ((f"`{declared}`", "v"),)
    else:
        assert f"there is no column {asked!r} in s" in refusal(text).message
