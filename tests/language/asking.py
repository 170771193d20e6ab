"""A few declarations, queries over them, and refusals taken apart: message, place, text under the carets."""

import re
from dataclasses import dataclass

import pytest

from penstock import PenstockError
from penstock.language import Script
from penstock.plan.plan import Plan, always

DECLARED = """\
CREATE STREAM packets (src STRING, dst STRING, bytes INT, at TIMESTAMP) FROM poisson WITH (rate = 100);
CREATE STREAM replies (host STRING, code INT, at TIMESTAMP) FROM poisson WITH (rate = 10);
CREATE STREAM kinds (n BIGINT, x DOUBLE, d DECIMAL(10,2), t STRING, ok BOOLEAN, ts TIMESTAMP, day DATE, raw BINARY)
  FROM poisson WITH (rate = 1);
CREATE STREAM logs (id STRUCT<orig_h: STRING, port: INT, `a b`: STRUCT<c: DOUBLE>>, `id.orig_h` STRING,
  tags ARRAY<STRING>, ns ARRAY<INT>, seen ARRAY<STRUCT<at: TIMESTAMP, hops: INT>>, m MAP<STRING,INT>,
  deep MAP<INT,ARRAY<STRING>>, `user agent` STRING, js STRING, rows INT)
  FROM files WITH (path = 'logs', format = 'json');
CREATE TABLE hosts (ip STRING, owner STRING, floor INT) FROM csv WITH (path = 'hosts.csv');
CREATE TABLE owners (name STRING, boss STRING) FROM csv WITH (path = 'owners.csv');
"""


def query(select, name="q"):
    """The query that a SELECT becomes."""
    return Script.parse(f"{DECLARED}CREATE QUERY {name} AS {select};").queries[name]


def plan(*selects, may_group=always):
    """The plan of several SELECTs, called q0, q1, …"""
    statements = (f"CREATE QUERY q{number} AS {select};\n" for number, select in enumerate(selects))
    return Plan.of(Script.parse(DECLARED + "".join(statements)), may_group)


def steps(made):
    """The operators of a plan as lines: name, inputs, what it does."""
    return [f"{op.name} {','.join(op.inputs)}: {made.steps[op.name].sql}" for op in made.network.operators]


@dataclass(frozen=True)
class Refusal:
    """An error as a reader sees it."""

    message: str
    line: int
    column: int
    marked: str


def refusal(text, name="script"):
    """What is said against a script; fails if it is accepted, or if the carets do not stand where it says."""
    with pytest.raises(PenstockError) as caught:
        Plan.of(Script.parse(text, name))
    shown = re.fullmatch(
        r"(?P<name>.*?):(?P<line>\d+):(?P<column>\d+): (?P<message>.*)\n"
        r"  (?P<margin>\d+ \| )(?P<part>[^\n]*)\n  (?P<blank> *\| *)(?P<carets>\^+)",
        str(caught.value),
        re.DOTALL,
    )
    assert shown is not None, str(caught.value)
    assert shown["name"] == name
    start = len(shown["blank"]) - len(shown["margin"])
    marked = shown["part"][start : start + len(shown["carets"])]
    line, column = int(shown["line"]), int(shown["column"])
    written = text.removeprefix("\ufeff").split("\n")[line - 1][column - 1 :].rstrip("\r").replace("\t", " ")
    assert written.startswith(marked.rstrip("�"))
    return Refusal(shown["message"], line, column, marked)


def refused(select):
    """What is said against a query over the declarations."""
    return refusal(f"{DECLARED}CREATE QUERY q AS {select};")
