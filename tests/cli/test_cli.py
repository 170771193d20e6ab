"""The commands as a person or a script meets them."""

import json
import subprocess
import sys
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import penstock.cli.examples as examples_command
from penstock import POLICIES
from penstock.cli.app import app
from penstock.experiments.examples import Example, ExampleCell

runner = CliRunner()


def test_examples_prints_tables_that_fit_a_terminal():
    result = runner.invoke(app, ["examples"])
    assert result.exit_code == 0
    assert "125 numbers compared, all agree in every printed digit." in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    for title in ("JC03, Table 2", "BBDM03, Example 1", "P04, Table 1.1", "SCLP08, Example 1"):
        assert title in result.stdout
    assert "…" not in result.stdout


def test_examples_as_json():
    cells = json.loads(runner.invoke(app, ["examples", "--json"]).stdout)
    assert all(list(cell) == ["paper", "example", "quantity", "printed", "computed", "ok"] for cell in cells)
    queue = [c for c in cells if c["paper"] == "JC03" and c["quantity"].startswith("queue size")]
    latency = [c for c in cells if c["paper"] == "JC03" and c["quantity"].startswith("latency")]
    assert (len(queue), len(latency)) == (20, 8)
    assert len({(c["paper"], c["example"], c["quantity"]) for c in cells}) == len(cells)
    assert all(c["ok"] is True for c in cells)


@pytest.mark.parametrize("arguments", [["examples"], ["examples", "--json"]])
def test_examples_exits_with_1_if_a_digit_differs(monkeypatch, arguments):
    wrong = ExampleCell("JC03", "Table 2", "queue size, FIFO", "t = 1", "1.0", Fraction(11, 10), digits=1)
    monkeypatch.setattr(examples_command, "EXAMPLES", [Example("JC03", "Table 2", lambda: [wrong])])
    result = runner.invoke(app, arguments)
    assert result.exit_code == 1
    assert "1.1" in result.stdout


def test_policies_as_json():
    policies = json.loads(runner.invoke(app, ["policies", "--json"]).stdout)
    assert [policy["name"] for policy in policies] == list(POLICIES)
    keys = ["name", "unit", "gain", "cost", "urgency", "formula", "minimises", "source"]
    assert all(list(policy) == keys for policy in policies)
    by_name = {policy["name"]: policy for policy in policies}
    assert by_name["bsd"] == {
        "name": "bsd",
        "unit": "path",
        "gain": "S/T²",
        "cost": "C",
        "urgency": "age",
        "formula": "S/T² ÷ C × age",
        "minimises": "ℓ2 norm of slowdown",
        "source": "SCLP08 (7)",
    }
    assert (by_name["fifo"]["gain"], by_name["fifo"]["cost"]) == ("1", "1")


def test_policies_prints_a_table_that_fits_a_terminal():
    result = runner.invoke(app, ["policies"])
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "(m_in − s·m_out) ÷ c" in result.stdout
    assert "…" not in result.stdout


def test_wrong_calls_exit_with_2():
    assert runner.invoke(app, ["exampels"]).exit_code == 2
    assert runner.invoke(app, ["examples", "--jsn"]).exit_code == 2


def test_help_and_version():
    for arguments in (["--help"], ["examples", "-h"], ["policies", "--help"]):
        result = runner.invoke(app, arguments)
        assert result.exit_code == 0
        assert any(f"penstock {name}" in result.stdout for name in ("doctor", "examples", "policies"))
    assert runner.invoke(app, ["--version"]).stdout.startswith("penstock 0.")


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_penstock_loads_neither_spark_nor_numba():
    result = run_python(
        "import sys, penstock as ps; ps.Network.chains; ps.POLICIES\n"
        "print([name for name in ('pyspark', 'numba', 'numpy', 'pandas', 'rich', 'typer') if name in sys.modules])"
    )
    assert result.stdout.strip() == "[]"


def test_what_needs_spark_or_arrow_is_loaded_when_asked_for():
    result = run_python(
        "import sys, penstock as ps\n"
        "heavy = ('pyspark', 'pyarrow', 'sqlglot')\n"
        "print([name for name in heavy if name in sys.modules], set(ps.__all__) <= set(dir(ps)))\n"
        "ps.Script, ps.ScriptError, ps.RunError\n"
        "print([name for name in heavy if name in sys.modules])\n"
        "print(all(getattr(ps, name) for name in ps.__all__), ps.run.__module__, ps.Summary.__module__)\n"
        "print(hasattr(ps, 'no_such_thing'))"
    )
    assert result.stdout.splitlines() == [
        "[] True",
        "['sqlglot']",
        "True penstock.spark.api penstock.runtime.summary",
        "False",
    ]


def test_commands_that_need_no_spark_do_not_load_it():
    result = run_python(
        "import sys\n"
        "from penstock.cli.app import app\n"
        "app(['policies', '--json'], standalone_mode=False)\n"
        "sys.exit(any(name in sys.modules for name in ('pyspark', 'pyarrow', 'sqlglot')))"
    )
    assert result.returncode == 0


def test_a_refusal_is_one_sentence_and_exit_code_1():
    result = run_python(
        "import penstock.cli.app as app\n"
        "from penstock import PenstockError\n"
        "def refuse(): raise PenstockError('the valve is shut')\n"
        "app.app.command('refuse')(refuse)\n"
        "import sys; sys.argv = ['penstock', 'refuse']\n"
        "app.main()"
    )
    assert (result.returncode, result.stderr) == (1, "penstock: the valve is shut\n")
