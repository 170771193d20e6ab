"""Whatever the text, it is a script or a `ScriptError`: nothing else is raised, and nothing hangs."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from penstock import ScriptError
from penstock.language import Script
from penstock.plan.plan import Plan
from tests.language.asking import DECLARED
from tests.language.samples import SAMPLES
from tests.language.test_nested import GOOD as NESTED
from tests.language.test_type_check import BAD, GOOD

VALID = f"""{DECLARED}
CREATE QUERY big AS SELECT src, bytes + 1 AS more, 'it''s' FROM packets WHERE bytes > 1 AND NOT (dst LIKE 'a%');
CREATE QUERY owned AS SELECT h.owner, p.* FROM packets p JOIN hosts h ON p.src = h.ip WHERE bytes BETWEEN 6 AND 7;
CREATE QUERY echo AS SELECT p.src, CASE WHEN r.code IN (1, 2) THEN CAST(r.code AS STRING) ELSE upper(r.host) END c
  FROM packets [RANGE 5 SECONDS] AS p, replies [ROWS 100] AS r
  WHERE p.src = r.host AND r.at - p.at < INTERVAL '1' HOUR;
DROP QUERY big;
SET policy = 'bsd'; SET memory = '512MB'; -- the end
"""
MORE = """
WITH UNION GROUP BY ORDER LIMIT OVER PARTITION LEFT OUTER USING LATERAL VIEW VALUES EXISTS ANY ALL DISTINCT HAVING
FILTER WINDOW PIVOT TABLESAMPLE QUALIFY INTERVAL EXTRACT ESCAPE STRUCT MAP ARRAY DECODE TRANSFORM TRY_CAST DATE
TIMESTAMP COLLATE FETCH FOR INTO SHOW EXECUTE ADD JAR DECLARE MERGE BEGIN END IF PREDICT n x d t ok ts day
-> => :: |> || ** << >> != <=> @ # $ ${ } { {{ {% ? : ; /* */ -- /*+ ' " ` \\ ² ½ 1e5 0x1F 5L 1.5BD X'1 [ROWS
"""
TOKENS = re.findall(r"\w+|'[^']*'|\s+|.", VALID)
TRIED = " ".join((*GOOD, *(bad for bad, _, _ in BAD)))
WORDS = sorted({*TOKENS, *re.findall(r"\w+|'[^']*'|\W", TRIED), *MORE.split(), "\0", "\ufeff", "\ud800"})
PARTS = sorted(
    {part for each in (*NESTED, *(call for call, _ in SAMPLES)) for part in re.findall(r"\w+|'[^']*'|\W", each)}
)
CHARACTERS = st.sampled_from(sorted(set(VALID) | set("\0\r\f\v\x85\u2028\ufeff'\"`\\[]{}²")))


def is_script_or_error(text):
    try:
        Plan.of(Script.parse(text))
    except ScriptError as error:
        said = str(error)
        assert len(said) < 2000


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_token_soup(words):
    is_script_or_error(" ".join(words))


@given(st.lists(st.sampled_from(WORDS), max_size=25), st.sampled_from([" ", ""]))
@example(["regexp_replace", "(", "t", ",", "'a'", ")"], "")
def test_token_soup_in_a_query(words, between):
    is_script_or_error(
        f"{DECLARED} CREATE QUERY q AS SELECT {between.join(words)} FROM kinds WHERE {between.join(words)}"
    )


@given(st.sampled_from(NESTED), st.lists(st.sampled_from(PARTS), max_size=12), st.integers(0, 30))
def test_token_soup_in_nested_expressions(expression, parts, place):
    written = expression[:place] + "".join(parts) + expression[place:]
    is_script_or_error(f"{DECLARED} CREATE QUERY q AS SELECT {written} AS v FROM logs WHERE ({written}) IS NULL")


@given(st.data())
def test_mutations_of_tokens(data):
    tokens = list(TOKENS)
    for _ in range(data.draw(st.integers(1, 4))):
        place, other = (data.draw(st.integers(0, len(tokens) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["delete", "duplicate", "swap", "replace", "copy"])):
            case "delete":
                del tokens[place]
            case "duplicate":
                tokens.insert(place, tokens[place])
            case "swap":
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case "copy":
                tokens[place:place] = tokens[min(place, other) : min(place, other) + 12]
            case "replace":
                tokens[place] = data.draw(st.sampled_from(WORDS))
    is_script_or_error("".join(tokens))


@given(st.data())
def test_mutations_of_characters(data):
    text = VALID
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text) - 1))
        put = data.draw(st.one_of(st.just(""), CHARACTERS, CHARACTERS.map(lambda char: char * 3)))
        text = text[:place] + put + text[place + data.draw(st.integers(0, 2)) :]
    is_script_or_error(text)


@given(st.text(max_size=60))
def test_any_text(text):
    is_script_or_error(text)
    is_script_or_error(f"{DECLARED} CREATE QUERY q AS SELECT {text} FROM packets")


def test_the_script_that_is_mutated_is_valid():
    assert list(Script.parse(VALID).queries) == ["owned", "echo"]
