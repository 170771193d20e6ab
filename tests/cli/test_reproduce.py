"""`penstock reproduce` and `penstock bench optimizer`, as a person or a script meets them."""

import json

import pytest
from typer.testing import CliRunner

import penstock.bench.optimizer as benchmark
from penstock.cli.app import app

runner = CliRunner()
AN04 = ["reproduce", "AN04", "--queries", "20", "--steps", "8"]


def test_an04_prints_tables_that_fit_a_terminal():
    result = runner.invoke(app, AN04)
    assert result.exit_code == 0, "whether or not claims hold"
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "…" not in result.stdout
    for words in ("20 random queries", "b and c cross at", "of 18 claims hold", "any 5 streams", "Selectivities:"):
        assert words in result.stdout


def test_an04_as_json():
    found = json.loads(runner.invoke(app, [*AN04, "--json"]).stdout)
    assert (found["paper"], found["queries"], found["seed"]) == ("AN04", 20, 1)
    assert [level["resources"] for level in found["levels"]] == [
        1,
        0.9,
        0.8,
        0.7,
        0.6,
        0.5,
        0.4,
        0.3,
        0.2,
        0.1,
        0.01,
    ]
    assert {"claim", "figure", "published", "measured", "holds"} <= set(found["claims"][0])
    assert found["claims"][1]["claim"] == "b and c cross at: 4 to 4.5 ms"
    assert found["hardest"]["error"] == max(each["error"] for each in found["searched"])
    assert found["hardest"]["heuristic"]["rate"] < found["hardest"]["best"]["rate"]


def test_one_query_that_never_gains_is_valid_json():
    result = runner.invoke(app, ["reproduce", "an04", "--queries", "1", "--steps", "0", "--json"])
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    assert found["hardest"] is None
    assert None in [each["measured"] for each in found["claims"]]


def test_an04_writes_a_page_with_five_figures(tmp_path):
    file = tmp_path / "an04.html"
    assert runner.invoke(app, [*AN04, "--report", str(file)]).exit_code == 0
    page = file.read_text()
    assert page.count("<figure>") == 5
    assert all(f"Figure {number}:" in page for number in range(6, 11))
    assert "<script src" not in page, "the page must stand alone"
    assert "The hardest problem" in page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["reproduce", "AN05"], "there is no paper 'AN05' to reproduce; there are AN04"),
        (["reproduce", "AN04", "--queries", "0"], "--queries"),
        (["reproduce", "AN04", "--report", "no/such/folder/x.html"], "there is no folder no/such/folder"),
        (["bench", "optimizer", "--most", "17"], "--most"),
    ],
)
def test_wrong_calls_exit_with_2_and_say_why(arguments, says):
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert says in " ".join(result.output.split())


@pytest.mark.parametrize("paper", ["AN04", "an04", "An04"])
def test_papers_are_found_in_any_case(paper):
    result = runner.invoke(app, ["reproduce", paper, "--help"])
    assert result.exit_code == 0
    assert "penstock reproduce AN04 --steps 0" in " ".join(result.stdout.split())


def test_bench_optimizer_prints_tables_that_fit_a_terminal():
    result = runner.invoke(app, ["bench", "optimizer", "--most", "9", "--repeat", "1"])
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "…" not in result.stdout
    assert "exhaustive takes at most 8 streams." in result.stdout


def test_bench_optimizer_says_where_it_stopped(monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark, "PATIENCE", 0.0)
    file = tmp_path / "optimizer.html"
    result = runner.invoke(app, ["bench", "optimizer", "--most", "4", "--json", "--report", str(file)])
    found = json.loads(result.stdout)
    assert [[each["answers"] for each in method["series"]] for method in found["methods"]] == [[1]] * 4
    assert all("was stopped at 2 streams" in method["stopped"] for method in found["methods"])
    assert file.read_text().count("<figure>") == 2
