"""Whole scripts: files of every kind, large ones, deep ones, and texts that are none."""

import time

import pytest

from penstock import PenstockError, ScriptError
from penstock.language import Script
from penstock.language.tokens import LARGEST_SCRIPT
from penstock.plan.plan import Plan, never
from tests.language.asking import DECLARED, refusal

QUERY = "CREATE QUERY q AS SELECT src FROM packets WHERE bytes > 1;"
MEGABYTE = 1_000_000


def written(folder, data):
    path = folder / "script.sql"
    path.write_bytes(data)
    return path


def unreadable(path):
    with pytest.raises(ScriptError) as caught:
        Script.read(path)
    return str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        (DECLARED + QUERY).encode(),
        (DECLARED + QUERY).encode("utf-8-sig"),
        (DECLARED + QUERY).replace("\n", "\r\n").encode(),
        (DECLARED + QUERY).replace("\n", "\r").encode(),
        (DECLARED + QUERY).replace(" ", "\t").encode(),
        (DECLARED + QUERY).replace(" ", "\f ").encode(),
        (DECLARED + QUERY.rstrip(";")).encode(),
        (DECLARED + QUERY + "\n\n;;\n; -- the end").encode(),
        (DECLARED + "/* ünï\n /* in another */ */" + QUERY + "\n-- ünï").encode(),
    ],
    ids=["plain", "bom", "windows", "mac", "tabs", "feeds", "no semicolon", "semicolons", "comments"],
)
def test_a_script_is_read_from_a_file(tmp_path, data):
    script = Script.read(written(tmp_path, data))
    assert list(script.queries) == ["q"]
    assert (script.name, script.folder) == (str(tmp_path / "script.sql"), tmp_path)
    assert len(Plan.of(script).steps) == 2


@pytest.mark.parametrize(
    "text", ["", " \n\t ", ";", ";;;", "-- only a comment", "/* only\na comment */", "\ufeff"]
)
def test_an_empty_script_is_a_script(text):
    assert Script.parse(text) == Script()


def test_files_that_cannot_be_read(tmp_path):
    assert unreadable(tmp_path / "none.sql").endswith("none.sql: cannot be read: No such file or directory")
    assert "this is a folder; a script is one file" in unreadable(tmp_path)
    assert "cannot be read: File name too long" in unreadable(tmp_path / ("x" * 5000))
    assert "cannot be read" in unreadable(tmp_path / "a\0b")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (DECLARED.encode("utf-16"), "this is not UTF-8 text (byte 0). Is it a script?"),
        ("ünï".encode("latin-1"), "this is not UTF-8 text (byte 0)"),
        (bytes(range(256)), "this is not UTF-8 text (byte 128)"),
        (b"\x80\x02PK\x03\x04", "this is not UTF-8 text (byte 0)"),
        (DECLARED.encode("utf-16-le"), ":1:2: this is not text: it contains a control character. Is it a script?"),
        (b"\0" * 100, ":1:1: this is not text: it contains a control character"),
        (b"SET policy = 'a\x1b[31m'", ":1:16: this is not text: it contains a control character"),
        (b"\x7fELF\x02\x01", ":1:5: this is not text: it contains a control character"),
        (b"x" * (LARGEST_SCRIPT + 1), "a script can have at most 8,388,608 characters, not 8,388,609"),
        (b"x" * (5 * LARGEST_SCRIPT), "a script can have at most 8,388,608 characters"),
    ],
    ids=["utf-16", "latin-1", "bytes", "zip", "utf-16-le", "zeros", "escape", "elf", "too large", "huge"],
)
def test_files_that_are_no_scripts(tmp_path, data, says):
    assert says in unreadable(written(tmp_path, data))


def test_a_lone_surrogate_is_no_text():
    assert "control character" in refusal("SET policy = '\ud800'").message


@pytest.mark.parametrize("change", [str, lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
@pytest.mark.parametrize(
    ("text", "says", "line", "column", "marked"),
    [
        ("SET\n\tpolcy = 'x'", "there is no setting 'polcy'", 2, 2, "polcy"),
        ("-- ünï 🙂\nSET polcy = 'x'", "there is no setting", 2, 5, "polcy"),
        ("/* a\nb */ SET polcy = 'x'", "there is no setting", 2, 10, "polcy"),
        ("SET qos = 'two\nlines'; SET polcy = 'x'", "there is no setting", 2, 13, "polcy"),
        ("SET qos = 'a';\nSET qos = 'b", "this quote is not closed", 2, 11, "'"),
        ("SET qos = 'it''s", "this quote is not closed", 1, 11, "'"),
        ("SET qos = 'a\\'", "this quote is not closed", 1, 11, "'"),
        ('SET qos = "a\nb', "this quote is not closed", 1, 11, '"'),
        ("CREATE QUERY `q", "this quote is not closed", 1, 14, "`"),
        ("SET qos = 'a';\n/* b", "this comment is not closed", 2, 1, "/*"),
        ("SET qos = 'a'; '", "this quote is not closed", 1, 16, "'"),
        ("/* a */ SET qos = X'zz'", "this is not a hexadecimal number", 1, 19, "X"),
        ("SET qos = 'a'; /", "expected CREATE, DROP or SET", 1, 16, "/"),
    ],
)
def test_carets_are_right_in_every_text(change, text, says, line, column, marked):
    found = refusal(change(text))
    assert says in found.message
    assert (found.line, found.column, found.marked) == (line, column, marked)


def test_parse_errors_are_placed_behind_strings_and_comments_of_several_lines():
    text = f"{DECLARED}/* a\n b */ CREATE QUERY q AS SELECT 'x\ny' AS a, /* c\n */ 5 6 FROM packets"
    found = refusal(text)
    assert (found.line, found.column, found.marked) == (DECLARED.count("\n") + 4, 7, "6")


def test_a_megabyte_of_queries():
    queries = [
        f"CREATE QUERY q{n} AS SELECT src, bytes + {n} AS more FROM packets WHERE bytes > {n};"
        for n in range(1500)
    ]
    lines = [query.ljust(MEGABYTE // 1500) for query in queries]
    start = time.perf_counter()
    script = Script.parse(DECLARED + "\n".join(lines))
    assert len(Plan.of(script, never).steps) == 3000
    assert len(Plan.of(script).steps) == 2
    assert time.perf_counter() - start < 30  # 1.5 s on an idle machine; what is quadratic takes minutes


@pytest.mark.parametrize(
    "expression",
    [
        "src IN ({})".format(", ".join(f"'{number:0500}'" for number in range(2000))),
        "src = '{}'".format("x" * MEGABYTE),
        "src = '{}'".format("\\n" * 100_000),
        " OR ".join([f"src = '{'x' * 1000}'"] * 1000),
        " AND ".join(f"src <> '{number:0500}'" for number in range(2000)),
    ],
    ids=["in", "string", "escapes", "or", "and"],
)
def test_a_megabyte_in_one_expression(expression):
    made = Plan.of(Script.parse(f"{DECLARED}CREATE QUERY q AS SELECT src FROM packets WHERE {expression}"))
    assert len(made.steps) == 2


@pytest.mark.parametrize("depth", [101, 5_000])
@pytest.mark.parametrize(
    ("before", "middle", "after"),
    [
        ("(", "bytes", ")"),
        ("- ", "bytes", ""),
        ("NOT ", "TRUE", ""),
        ("", "bytes", " + 1 - 1"),
        ("", "src", " || 'x'"),
        ("", "bytes", "::INT"),
        ("abs(", "bytes", ")"),
        ("CASE WHEN TRUE THEN ", "1", " END"),
        ("bytes > 1 OR (bytes > 1 AND ", "TRUE", ")"),
        ("(SELECT ", "1", ")"),
    ],
)
def test_what_is_nested_too_deeply_is_refused(before, middle, after, depth):
    expression = before * depth + middle + after * depth
    found = refusal(f"{DECLARED}CREATE QUERY q AS SELECT {expression} AS v FROM packets")
    assert "nested too deeply" in found.message


def test_a_hundred_levels_are_enough():
    expression = "bytes" + " + 1 - 1" * 49
    assert Plan.of(Script.parse(f"{DECLARED}CREATE QUERY q AS SELECT {expression} AS v FROM packets")).steps


def test_statements_can_be_added():
    script = Script.parse(DECLARED + QUERY, "a.sql", "folder")
    more = script.with_statements(script.read_statements("DROP QUERY Q; CREATE QUERY r AS SELECT * FROM replies"))
    assert (list(script.queries), list(more.queries)) == (["q"], ["r"])
    assert (more.name, more.folder, more.streams) == (script.name, script.folder, script.streams)
    with pytest.raises(PenstockError, match=r"a\.sql:1:14: .*|there is already a query 'Q'"):
        list(script.read_statements("CREATE QUERY Q AS SELECT * FROM replies"))
