"""JSON lines that are all alike: read as Python's own parser reads them, or left."""

import json
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock.formats.plain_text as plain_text
from penstock.formats.layout import Layout
from penstock.formats.plain_json import read_uniform
from penstock.formats.plain_text import parsed_plain, read_plain
from tests.formats.test_plain_text import form_of

KINDS = {"v": pa.int32(), "d": pa.float64(), "t": pa.string(), "b": pa.bool_(), "at": pa.timestamp("us", "UTC")}
TEMPLATES = [
    '{{"v":{v},"d":{d},"t":"{t}","b":{b},"at":"{at}"}}',
    '{{"t": "{t}", "v": {v}, "x": {d}, "at": {v}, "y": {b}, "d": {d}, "b": {b}}}',
    '{{ "at" : "{at}", "b":{b},"a long key, {{with}} signs: é":"{t}","d":{v},"v":{v},"t":"{t}"}}',
]
"""Members x and y are in no column."""
SIGNS = [
    '"',
    "{",
    "}",
    ":",
    ",",
    " ",
    "0",
    "1",
    "-",
    "+",
    ".",
    "e",
    "E",
    "x",
    "\\",
    "\t",
    "\x01",
    "[",
    "é",
    "null",
]


def read(lines: list[str], kinds: dict[str, pa.DataType] = KINDS) -> list[dict[str, Any]] | None:
    encoded = [line.encode() for line in lines]
    starts = np.cumsum([0, *(len(line) + 1 for line in encoded)])
    found = read_uniform(b"\n".join(encoded), starts, kinds)
    return None if found is None else found.to_pylist()


def made(random: Random, template: str) -> str:
    return template.format(
        v=random.choice([0, 7, -12, 2**31 - 1]),
        d=random.choice(["0", "0.5", "-0.25", "12.5e3", "1E-2", "3", "-7"]),
        t=random.choice(["", "a", "x, y: {z}", "ü€𝄞", "null", "5", "www.example.org"]),
        b=random.choice(["true", "false"]),
        at=random.choice(["2024-01-31T23:59:59Z", "2024-01-31T23:59:59.5Z"]),
    )


def wanted(line: str) -> dict[str, Any]:
    """Return the row of a line by Python's parser, which raises ValueError for malformed ones."""

    def unlike(text: str) -> None:
        raise ValueError(text)

    pairs = json.loads(line, object_pairs_hook=lambda pairs: pairs, parse_constant=unlike)
    assert len({key for key, _ in pairs}) == len(pairs), line
    row = {key: value for key, value in pairs if key in KINDS}
    types = {"v": int, "d": (int, float), "t": str, "b": bool, "at": (int, str)}
    assert row.keys() == KINDS.keys(), line
    assert all(isinstance(row[key], kind) for key, kind in types.items()), line
    return row


@pytest.mark.parametrize("template", TEMPLATES)
def test_lines_that_are_alike_are_read(template):
    random = Random(3)
    for count in (1, 2, 50):
        lines = [made(random, template) for _ in range(count)]
        assert read(lines) == [{key: wanted(line)[key] for key in KINDS} for line in lines]


@pytest.mark.parametrize("template", TEMPLATES)
def test_lines_with_any_change_are_read_alike_or_left(template):
    random, seen = Random(11), 0
    for _ in range(6000):
        lines = [made(random, template) for _ in range(random.randrange(1, 4))]
        number = random.randrange(len(lines))
        for _ in range(random.choice([1, 1, 2, 3])):
            line = lines[number]
            place = random.randrange(1, len(line))
            lines[number] = line[:place] + random.choice(["", *SIGNS]) + line[place + random.randrange(2) :]
        lines = [line for line in lines if line.startswith("{") and line.endswith("}")]  # as the caller promises
        found = read(lines) if lines else None
        if found is not None:
            seen += 1
            assert found == [{key: wanted(line)[key] for key in KINDS} for line in lines], lines
    assert seen > 300


@pytest.mark.parametrize(
    "value",
    [
        "01",
        "-01",
        "+1",
        "0x1",
        " 1",
        "1 ",
        "",
        "1.",
        ".5",
        "1.e5",
        "-",
        "-.5",
        "00",
        "1,2",
        '1,"v":2',
        "1:2",
        "[1]",
    ],
)
@pytest.mark.parametrize("key", ["v", "d", "x"])
def test_malformed_numbers_are_left(key, value):
    kinds = {name: kind for name, kind in {"v": pa.int32(), "d": pa.float64()}.items() if name == key}
    good = f'{{"{key}":1,"t":"a"}}'
    for lines in ([good, f'{{"{key}":{value},"t":"a"}}'], [f'{{"{key}":{value},"t":"a"}}', good]):
        assert read(lines, {**kinds, "t": pa.string()}) is None


@pytest.mark.parametrize(
    "other",
    [
        '{"w":1,"t":"a"}',
        '{"t":"a","v":1}',
        '{"v":1}',
        '{"v":null,"t":"a"}',
        '{"v":1,"t":null}',
        '{"v":1, "t":"a"}',
        '{"v":1,"t":"a","x":"b"}',
        '{"v":"1","t":"a"}',
        '{"v":1,"t":"\\u0061"}',
        '{"v":1,"t":"a"} {"v":1,"t":"b"}',
        '{"":"","":""}',
    ],
)
def test_lines_that_differ_are_left(other):
    line, kinds = '{"v":1,"t":"a"}', {"v": pa.int32(), "t": pa.string()}
    assert read([line, line], kinds) is not None
    assert read([line, other], kinds) is None
    assert read([other, line], kinds) is None


@pytest.mark.parametrize("line", ['{"v":1,"t":"a","t":"b"}', '{"v":1,"t":"a","x":2,"x":2}', '{"v":1,"t":"a"x}'])
def test_lines_that_are_alike_but_odd_are_left(line):
    assert read([line, line], {"v": pa.int32(), "t": pa.string()}) is None


def test_a_literal_is_not_sought_outside_of_the_text():
    assert read(['{"v":1,' + " " * 90 + '"t":"a"}', '{"v":1,"t":"a"}'], {"v": pa.int32()}) is None
    assert read(['{"v":1,"' + "t" * 90 + '":"a"}', '{"v":1,"":""}'], {"v": pa.int32()}) is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("kind", ["json", "csv"])
def test_chunks_have_the_rows_of_the_whole(tmp_path, monkeypatch, kind, end):
    form = form_of("v INT|at TIMESTAMP", Layout(kind, quoted=kind == "csv"))
    lines = [f'{{"v":{v},"at":{v + 1700000000000}}}' if kind == "json" else f"{v},{v}" for v in range(40)]
    data, path = end.join(lines).encode(), tmp_path / "a"
    path.write_bytes(data)
    whole = parsed_plain(data, form)
    assert whole is not None
    for most in range(40, 200, 7):
        monkeypatch.setattr(plain_text, "_CHUNK_BYTES", most)
        found = read_plain(str(path), 0, len(data), form)
        assert found is not None
        assert found.table.to_pylist() == whole.table.to_pylist()
        assert found.unit == whole.unit
    start = data.index(b"\n") + 1
    found = read_plain(str(path), start, len(data), form)
    assert found is not None
    assert found.table.to_pylist() == whole.table.to_pylist()[1:]
    assert read_plain(str(path), 0, len(data) + 1, form) is None  # the file became shorter
    monkeypatch.setattr(plain_text, "_CHUNK_BYTES", 2)
    assert read_plain(str(path), 0, len(data), form) is None
