import pytest
from typer.testing import CliRunner

from penstock.bench.stock import run as stock_run
from penstock.bench.stock.case import StockCase
from penstock.cli.app import app
from tests.bench.made_up import measured

runner = CliRunner()


@pytest.fixture
def made_up_measures(monkeypatch):
    """No case is run; `measure` says what it is told."""
    told = {"ours": 5000.0, "status": "ok", "stop_after": 99}
    seen = []

    def measure(case, offered, on_stage, limit_s):
        if len(seen) == told["stop_after"]:
            raise KeyboardInterrupt
        seen.append(case)
        ours = case.system == "penstock"
        return measured(case, told["ours"] if ours else 1000.0, status=told["status"] if ours else "ok")

    monkeypatch.setattr(stock_run, "measure", measure)
    return told


def stock(tmp_path, *arguments):
    return runner.invoke(app, ["bench", "stock", "--out", str(tmp_path), *arguments])


def test_a_part_that_does_not_exist_is_a_wrong_call(tmp_path):
    found = stock(tmp_path, "--only", "filter")
    assert found.exit_code == 2
    assert "filters" in found.output


def test_a_quick_part_that_is_empty_is_a_wrong_call(tmp_path):
    assert stock(tmp_path, "--only", "paced", "--quick").exit_code == 2


def test_figures_and_report_are_kept(tmp_path, made_up_measures):
    found = stock(tmp_path, "--only", "mixed")
    assert found.exit_code == 0, found.output
    assert "40 mixed queries" in found.output
    assert {file.name for file in tmp_path.iterdir()} == {"stock.json", "stock.html"}


def test_a_comparison_that_does_not_hold_fails(tmp_path, made_up_measures):
    made_up_measures["ours"] = 2000.0
    found = stock(tmp_path, "--only", "mixed")
    assert found.exit_code == 1
    assert "does not hold" in found.output


def test_wrong_results_are_said_loudly(tmp_path, made_up_measures):
    made_up_measures["status"] = "wrong"
    found = stock(tmp_path, "--only", "mixed")
    assert found.exit_code == 1
    assert "WRONG: made up" in found.output


def test_ctrl_c_keeps_what_is_done(tmp_path, made_up_measures):
    made_up_measures["stop_after"] = 2
    found = stock(tmp_path, "--only", "mixed")
    assert found.exit_code == 130
    assert "2 cases of 3 kept" in found.output
    assert '"interrupted": true' in (tmp_path / "stock.json").read_text()


def test_the_load_of_paced_cases_is_a_share_of_what_was_drained(monkeypatch):
    loads = []

    def measure(case, offered, on_stage, limit_s):
        loads.append(offered)
        return measured(case, 500.0)

    monkeypatch.setattr(stock_run, "measure", measure)
    drained = StockCase("filters", "each-fifo", queries=50)
    paced = StockCase("paced", "penstock", queries=50, feeding="paced")
    stock_run.run_cases([drained, paced], print, print)
    assert loads == [None, pytest.approx(0.5 * 10)]


@pytest.mark.slow
def test_a_tiny_case_gives_what_it_must():
    for system in ("each-fair", "penstock"):
        case = StockCase(
            "filters", system, queries=3, selectivity=0.1, files=2, file_rows=500, warm_files=1, repeat=1
        )
        found = stock_run.measure(case, None, print)
        assert (found.status, found.reason) == ("ok", "")
        assert found.rate > 0
        assert 0 < found.avg_response <= found.runs[0].seconds
