"""Whatever becomes of a script with derived streams, it is a script or a `ScriptError`."""

import re

from hypothesis import given
from hypothesis import strategies as st

from penstock import ScriptError
from penstock.language import Script
from tests.language.asking import DECLARED
from tests.language.composed import MINUTES
from tests.language.test_subqueries import REFUSED

VALID = f"""\
CREATE STREAM alarms AS SELECT src, bytes FROM packets WHERE bytes > 9 UNION ALL (SELECT host, 1 FROM replies);
CREATE QUERY q AS WITH a AS (SELECT src AS s, bytes FROM alarms),
  b AS (SELECT s, count(*) AS n FROM a {MINUTES} GROUP BY s)
  SELECT x.s, owner, b.n FROM (SELECT * FROM (SELECT s FROM a) AS y) [ROWS 5] AS x, b [RANGE 5 SECONDS]
  LEFT JOIN hosts AS h ON b.s = h.ip AND n > 3 WHERE x.s = b.s;
CREATE QUERY r AS SELECT src FROM alarms UNION ALL SELECT dst FROM packets UNION ALL SELECT host FROM replies;
DROP QUERY q; DROP QUERY r; DROP STREAM alarms;
"""
TOKENS = re.findall(r"\w+|'[^']*'|\s+|.", VALID)
WORDS = sorted({*TOKENS, *(each for select, *_ in REFUSED for each in re.findall(r"\w+|'[^']*'|\W", select))})


def is_script_or_error(text):
    try:
        made = Script.parse(DECLARED + text)
    except ScriptError as error:
        said = str(error)
        assert len(said) < 2000
    else:
        assert all(column.type.family for stream in made.derived.values() for column in stream.columns)


def test_the_script_that_is_mutated_is_valid():
    made = Script.parse(DECLARED + VALID[: VALID.index("DROP")])
    assert list(made.derived) == ["alarms", "q.a", "q.x.y", "q.x", "q.b", "r.union"]
    assert list(Script.parse(DECLARED + VALID).derived) == []


@given(st.data())
def test_mutations_of_tokens(data):
    tokens = list(TOKENS)
    for _ in range(data.draw(st.integers(1, 5))):
        place, other = (data.draw(st.integers(0, len(tokens) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["delete", "swap", "replace", "copy"])):
            case "delete":
                del tokens[place]
            case "swap":
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case "copy":
                tokens[place:place] = tokens[min(place, other) : min(place, other) + 12]
            case "replace":
                tokens[place] = data.draw(st.sampled_from(WORDS))
    is_script_or_error("".join(tokens))


@given(st.lists(st.sampled_from(WORDS), max_size=14), st.lists(st.sampled_from(WORDS), max_size=8))
def test_token_soup(words, more):
    soup, tail = " ".join(words), " ".join(more)
    is_script_or_error(f"CREATE QUERY q AS SELECT * FROM ({soup}) {tail}")
    is_script_or_error(f"CREATE STREAM s AS WITH a AS ({soup}) SELECT * FROM a {tail}")
    is_script_or_error(f"CREATE STREAM s AS SELECT src FROM packets UNION ALL {soup}")
    is_script_or_error(f"CREATE QUERY q AS SELECT src FROM packets LEFT JOIN {soup} ON {tail}")
