import json
from dataclasses import replace

import pytest

from penstock.bench.stock.case import StockCase
from penstock.bench.stock.case_list import PARTS, plan
from penstock.bench.stock.run import document
from penstock.report.page import Raw, table, text
from penstock.report.stock import page
from tests.bench.made_up import measured


def made_up(cases):
    return [measured(case, 1000.0 * case.queries, response=1.0 / case.queries) for case in cases]


@pytest.mark.parametrize("parts", [list(PARTS), ["mixed"], []], ids=["all", "mixed", "nothing"])
def test_a_page_of_whatever_was_measured(parts):
    found = document(made_up(plan(parts, quick=False, repeat=1)), quick=False, interrupted=False, seconds=60)
    made = page(json.loads(json.dumps(found)))
    assert made.startswith("<!doctype html>")
    assert "Real-time mode" in made
    assert "<script src" not in made, "the page must stand alone"
    assert made.count("<figure>") == {0: 0, 3: 1}.get(len(found["cases"]), 9)
    assert '"1 filters of' not in made, "joins of windows have plots of their own"


def test_failures_and_missing_memory_are_said():
    bad = replace(measured(StockCase("filters", "each-fifo"), 10, status="wrong"), reason="q1 has <1> row")
    lean = replace(measured(StockCase("filters", "penstock"), 10), peak_bytes=None)
    made = page(document([bad, lean], quick=True, interrupted=True, seconds=60))
    assert "q1 has &lt;1&gt; row" in made
    assert "interrupted" in made
    assert "does not hold" in made


def test_cells_are_escaped_unless_they_are_html():
    made = table(("a", "b"), [("<i>", Raw("<b>1</b>"))])
    assert "&lt;i&gt;" in made
    assert "<b>1</b>" in made
    assert text("&") == "&amp;"
