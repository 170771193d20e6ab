"""The chart has a bar for every system, as long as its throughput says."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.errors import RunError
from penstock.report.chart import drawn

RECORDED = Path(__file__).parents[2] / "benchmarks" / "results" / "stock.json"


def test_bars_are_as_long_as_what_was_recorded():
    found = json.loads(RECORDED.read_text())
    widths = [float(each) for each in re.findall(r'<rect x="250"[^>]* width="([\d.]+)"', drawn(found))]
    filters = sorted(
        case["row_queries_per_s"]
        for case in found["cases"]
        if (case["workload"], case["queries"], case["feeding"]) == ("filters", 50, "drain")
    )
    assert len(widths) == len(filters) + 3
    for width, value in zip(widths, filters, strict=False):
        assert width == pytest.approx(max(widths[len(filters) - 1] * value / filters[-1], 2), abs=0.2)


def test_the_readmes_chart_is_the_one_that_the_command_makes(tmp_path):
    found = CliRunner().invoke(app, ["bench", "chart", str(RECORDED), "--out", str(tmp_path / "a.svg")])
    assert found.exit_code == 0
    kept = RECORDED.parents[2] / "docs" / "images" / "stock.svg"
    assert (tmp_path / "a.svg").read_text() == kept.read_text()


def test_something_else_is_refused():
    with pytest.raises(RunError, match="nothing to draw"):
        drawn({"cases": [], "machine": {}})
