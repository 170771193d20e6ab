"""Scripts drafted from data: Zeek's logs, web servers', syslog as CSV, parquet; each is read back and checked."""

import gzip
import json
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.init import drafted
from penstock.errors import RunError
from penstock.language import Script

ZEEK = (
    "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
    "#fields\tts\tuid\tid.orig_h\tid.orig_p\tduration\tlocal\tparents\n"
    "#types\ttime\tstring\taddr\tport\tinterval\tbool\tset[string]\n"
)


def script_of(path: Path) -> Script:
    return Script.parse(drafted(path, path.parent / "a.sql"), folder=path.parent)


def columns_of(script: Script, stream: str) -> dict[str, str]:
    return {column.name: column.type.name for column in script.streams[stream].columns}


def json_file(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_zeek_json_and_tsv_in_one_folder_are_two_streams(tmp_path):
    rows = [
        {
            "ts": 1591367999.3 + i - (3 if i == 50 else 0),
            "uid": f"C{i}",
            "id.orig_h": "10.0.0.1",
            "id.orig_p": 1024 + i,
        }
        | {"query": "a.com" if i % 3 else "b.com", "answers": ["1.2.3.4"] * (i % 2), "AA": False, "rtt": i / 8}
        for i in range(100)
    ]
    json_file(tmp_path / "dns.log", *rows)
    with gzip.open(tmp_path / "conn.00:00:00-01:00:00.log.gz", "wt") as file:
        file.write(ZEEK + "".join(f"{1591367999 + i}.5\tC{i}\t10.0.0.1\t443\t-\tT\t(empty)\n" for i in range(9)))
        file.write("#close\t2020-06-05-01-00-00\n")
    (tmp_path / "notes.md").write_text("not data")
    script = script_of(tmp_path)
    assert columns_of(script, "dns") == {
        "ts": "TIMESTAMP",
        "uid": "STRING",
        "id.orig_h": "STRING",
        "id.orig_p": "BIGINT",
        "query": "STRING",
        "answers": "ARRAY<STRING>",
        "AA": "BOOLEAN",
        "rtt": "DOUBLE",
    }
    options = script.streams["dns"].options
    assert (options["timestamp"], options["timestamp_unit"], options["lateness"]) == ("ts", "s", 5_000_000)
    assert options["path"].endswith("/dns*.log")
    assert columns_of(script, "conn") == {
        "ts": "TIMESTAMP",
        "uid": "STRING",
        "id.orig_h": "STRING",
        "id.orig_p": "INT",
        "duration": "DOUBLE",
        "local": "BOOLEAN",
        "parents": "ARRAY<STRING>",
    }
    assert "lateness" not in script.streams["conn"].options
    assert set(script.queries) >= {"dns_large", "dns_matching"}
    assert "rtt > 11" in script.queries["dns_large"].sql
    assert "query = 'a.com'" in script.queries["dns_matching"].sql
    assert len(script.queries) == 4


def test_a_web_servers_log(tmp_path):
    line = '10.0.0.{0} - - [10/Oct/2026:13:55:{0:02d} +0200] "GET /{0} HTTP/1.1" 200 1{0} "-" "Mozilla (X11)"\n'
    odd = '::1 - bob [10/Oct/2026:13:56:00 +0200] "GET /\\"x\\" [1] HTTP/1.1" 404 7 "-" "-"\nno such line\n'
    (tmp_path / "access.log").write_text("".join(line.format(i) for i in range(60)) + odd)
    script = script_of(tmp_path / "access.log")
    assert columns_of(script, "access") == {
        "remote_addr": "STRING",
        "ident": "STRING",
        "remote_user": "STRING",
        "time_local": "TIMESTAMP",
        "request": "STRING",
        "status": "BIGINT",
        "bytes": "BIGINT",
        "referer": "STRING",
        "user_agent": "STRING",
    }
    options = script.streams["access"].options
    assert (options["format"], options["timestamp"], "lateness" in options) == ("clf", "time_local", False)
    assert "61 rows of clf were sampled, 1 more did not fit" in drafted(
        tmp_path / "access.log", tmp_path / "a.sql"
    )


def test_no_query_asks_for_what_a_run_reads_as_null(tmp_path):
    line = '10.0.0.1 - bob smith [10/Oct/2026:13:55:{:02d} +0200] "GET / HTTP/1.1" 200 5 "{}" "Mozilla"\n'
    referers = ["-", "-", "-", "https://a", "https://b"]
    (tmp_path / "a.log").write_text("".join(map(line.format, range(5), referers)))
    queries = script_of(tmp_path / "a.log").queries.values()
    assert "'-'" not in " ".join(query.sql for query in queries)


def test_thresholds_leave_something(tmp_path):
    rows = [{"msec": 1774737000.012 + i, "took": 1e6 + i / 1000, "most": max(i, 5)} for i in range(20)]
    script = script_of(json_file(tmp_path / "a.json", *rows))
    assert script.streams["a"].options["timestamp"] == "msec"
    assert "took > 1000000.017" in script.queries["a_large"].sql
    flat = [{"n": min(i, 4)} for i in range(20)]
    assert "n >= 4" in script_of(json_file(tmp_path / "b.json", *flat)).queries["b_large"].sql


def test_who_writes_a_script_is_told_what_was_not_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.formats.detect_format.MOST_ROWS", 10)
    path = json_file(tmp_path / "a.json", *({"v": i} for i in range(11)))
    assert "a: the first 10 rows of json were sampled" in drafted(path, tmp_path / "a.sql")
    path.write_text('{"v":1}\n{"v":2}\n{"v":3}\nbroken\n')
    said = CliRunner().invoke(app, ["init", str(path)])
    assert "1 of 4 rows do not fit the others" in said.stderr


def test_what_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "a.json.gz"
    path.write_bytes(b"this is not packed")
    with pytest.raises(RunError, match=f"^{path}: "):
        drafted(path, tmp_path / "a.sql")
    said = CliRunner().invoke(app, ["init", "/dev/null"])
    assert said.exit_code == 2
    assert "/dev/null is neither a file nor a folder" in said.stderr


def test_lines_that_are_mostly_no_objects(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"v":1}\nbroken\n{"v"\n')
    with pytest.raises(RunError, match=r"2 of 3 lines are not objects, the first of them 'broken'") as caught:
        drafted(path, tmp_path / "a.sql")
    assert "jq" not in str(caught.value)


def test_a_change_of_the_zone_is_no_disorder(tmp_path):
    times = ("27/Oct/2024:02:59:58 +0200", "27/Oct/2024:02:00:01 +0100", "27/Oct/2024:02:00:03 +0100")
    (tmp_path / "a.log").write_text("".join(f'10.0.0.1 - - [{at}] "GET / HTTP/1.1" 200 5\n' for at in times))
    script = script_of(tmp_path / "a.log")
    assert "lateness" not in script.streams["a"].options
    assert len(script.streams["a"].columns) == 7


def test_files_of_a_kind_are_looked_at_together(tmp_path):
    json_file(tmp_path / "app-1.jsonl", {"n": 3}, {"n": 4})
    json_file(tmp_path / "app-2.jsonl", {"n": 3.5, "extra": "x"})
    json_file(tmp_path / "apple-1.jsonl", {"fruit": True})
    (tmp_path / "README.txt").write_text("# notes\n")
    (tmp_path / "deep").mkdir()
    script = script_of(tmp_path)
    assert columns_of(script, "app") == {"n": "DOUBLE", "extra": "STRING"}
    assert columns_of(script, "apple") == {"fruit": "BOOLEAN"}
    assert set(script.streams) == {"app", "apple"}
    assert script.streams["app"].options["path"].endswith("/app[!A-Za-z_]*jsonl")
    assert "-- Left out: the folder deep" in drafted(tmp_path, tmp_path / "a.sql")


def test_rotated_files_are_one_stream(tmp_path):
    for name in ("access.log", "access.log.1", "access.log.2.gz"):
        with (gzip.open if name.endswith("gz") else open)(tmp_path / name, "wt") as file:
            file.write('{"v": 1}\n')
    script = script_of(tmp_path)
    assert [stream.options["path"] for stream in script.streams.values()] == [str(tmp_path / "access*.log*")]


def test_paths_are_from_the_scripts_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    json_file(tmp_path / "a.json", {"v": 1})
    found = CliRunner().invoke(app, ["init", "a.json", "--out", "sub/a.sql"])
    assert found.exit_code == 0
    assert Script.read(tmp_path / "sub" / "a.sql").streams["a"].options["path"] == "../a.json"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_separated_fields_with_a_header(tmp_path, delimiter):
    head = ["timestamp", "host name", "code", "zip", "price", "ok", "day", "message"]
    rows = [
        [
            "2026-11-16T15:00:01+01:00",
            "web1",
            "-" if i % 4 else "7",
            "01234",
            "1.5",
            "true",
            "2026-11-16",
            f'"say ""{i}"""',
        ]
        for i in range(20)
    ]
    text = "# exported\n" + "".join(delimiter.join(row) + "\n" for row in [head, *rows])
    (tmp_path / "sys.csv").write_text(text)
    script = script_of(tmp_path / "sys.csv")
    assert list(columns_of(script, "sys").values()) == [
        "TIMESTAMP", "STRING", "BIGINT", "STRING", "DOUBLE", "BOOLEAN", "DATE", "STRING",
    ]  # fmt: skip
    options = script.streams["sys"].options
    assert options.get("delimiter", ",") == delimiter
    assert (options["null"], options["comment"], options["timestamp"]) == ("-", "#", "timestamp")


def test_nested_json_becomes_paths_and_names_are_made_to_fit(tmp_path):
    row = {"@timestamp": 1591367999305, "host": {"name": "a", "ip": ["x"]}, "Src": 1, "src": 2, "__CURSOR": "c"}
    script = script_of(json_file(tmp_path / "1.json", {**row, "mixed": 1, "none": None}, {**row, "mixed": "x"}))
    [stream] = script.streams.values()
    found = {column.name: (column.type.name, column.path) for column in stream.columns}
    assert found == {
        "@timestamp": ("TIMESTAMP", None),
        "host.name": ("STRING", None),
        "host.ip": ("ARRAY<STRING>", None),
        "Src": ("BIGINT", None),
        "src_2": ("BIGINT", "src"),
        "CURSOR": ("STRING", "__CURSOR"),
        "mixed": ("STRING", None),
        "none": ("STRING", None),
    }
    assert stream.options["timestamp_unit"] == "ms"


def test_parquet_has_its_own_types(tmp_path):
    table = pa.table(
        {
            "at": pa.array([datetime(2026, 1, 1)], pa.timestamp("ns")),
            "u": pa.array([1], pa.uint32()),
            "s": pa.array(["x"]).dictionary_encode(),
            "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
            "r": pa.array([{"a b": 1}]),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    script = script_of(tmp_path / "t.parquet")
    assert columns_of(script, "t") == {
        "at": "TIMESTAMP",
        "u": "BIGINT",
        "s": "STRING",
        "m": "MAP<STRING,BIGINT>",
        "r": "STRUCT<`a b`:BIGINT>",
    }


def test_numbered_files_are_one_stream_named_after_the_folder(tmp_path):
    folder = tmp_path / "events-2026"
    folder.mkdir()
    for number in range(3):
        json_file(folder / f"{number}.json", {"v": number})
    [stream] = script_of(folder).streams.values()
    assert (stream.name, stream.options["path"]) == ("events", str(folder / "*.json"))
    assert stream.timestamp is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is empty"),
        ('[\n{\n"a": 1\n}\n]\n', "one object per line"),
        ("Mar  5 10:00:00 host sshd[1]: hello there\nMar  6 10:00:00 host cron: x\n", "journalctl"),
        ("a,a\n1,2\n", "same name"),
        ("PAR1 but not really", "this is not a readable parquet file"),
        ("#separator \\x09\n#path\tx\n", "it has no #fields line"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(tmp_path, content, said):
    (tmp_path / "x.log").write_text(content)
    with pytest.raises(RunError, match=said):
        drafted(tmp_path / "x.log", tmp_path / "a.sql")


def test_an_empty_folder_says_where_to_look(tmp_path):
    (tmp_path / "inner").mkdir()
    with pytest.raises(RunError, match="1 folders; give one of them"):
        drafted(tmp_path, tmp_path / "a.sql")


def test_the_command_writes_a_script_and_keeps_one_that_is_there(tmp_path):
    source = json_file(tmp_path / "a.json", {"v": 1}, {"v": 2})
    run = CliRunner().invoke
    printed = run(app, ["init", str(source)])
    assert printed.exit_code == 0
    assert Script.parse(printed.stdout).streams["a"].options["path"] == str(source)
    written = run(app, ["init", str(source), "--out", str(tmp_path / "a.sql")])
    assert (written.exit_code, "Next: penstock run" in written.output) == (0, True)
    again = run(app, ["init", str(source), "--out", str(tmp_path / "a.sql")])
    assert (again.exit_code, "--overwrite" in again.output) == (2, True)
