"""The table of functions: each has samples, and the manual lists the same."""

import re
from pathlib import Path

import pytest

from penstock.language import Script
from penstock.language.functions import FUNCTIONS, INSTEAD, KINDS, NAMES, SECTIONS
from penstock.language.types import Family
from tests.language.samples import ROW, SAMPLES

SCRIPTS = Path(__file__).parents[2] / "docs" / "scripts.md"
DECLARED = f"""
CREATE STREAM s ({", ".join(f"{name} {kind}" for name, (kind, _) in ROW.items())})
  FROM files WITH (path = 's', format = 'json');
"""
WORDS = {
    "text": "string", "truth": "condition", "time": "time", "same": "value", "any": "value",
    "lambda": "x -> condition",
    "key": "key", "element": "element", "pattern": "pattern",
}  # fmt: skip


def documented(name, function):
    """The line of the manual on a function."""
    words = function.takes.split()
    shown = []
    for word in words:
        argument = " or ".join(WORDS.get(each, each) for each in word.rstrip("?*").split("|"))
        shown.append("…" if word.endswith("*") else f"[{argument}]" if word.endswith("?") else argument)
    return f"| `{name}({', '.join(shown)})` | {function.about} |"


def manual():
    """All lines of the manual on functions, by section."""
    return {
        section: [documented(name, function) for name, function in functions.items()]
        for section, functions in SECTIONS.items()
    }


@pytest.mark.parametrize("expression", [expression for expression, _ in SAMPLES])
def test_every_sample_is_accepted(expression):
    assert Script.parse(f"{DECLARED} CREATE QUERY q AS SELECT {expression} AS v FROM s").queries


def test_every_function_has_a_sample():
    called = {name.lower() for expression, _ in SAMPLES for name in re.findall(r"(\w+)\(", expression)}
    assert called >= FUNCTIONS.keys()


def test_signatures_are_made_of_known_words():
    families = {*Family.__args__, *KINDS}
    for name, function in FUNCTIONS.items():
        for place in range(len(function.takes.split())):
            assert set(function.kind(place)) <= families, name
    assert not INSTEAD.keys() & set(NAMES)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_manual_lists_the_functions_there_are(section):
    text = SCRIPTS.read_text()
    _, _, behind = text.partition(f"\n### {section}\n")
    body = behind.split("\n#")[0]
    assert [line for line in body.splitlines() if line.startswith("| `")] == manual()[section]
