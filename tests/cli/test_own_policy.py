"""`--policy FILE.py:NAME`: a policy of one's own, and what is wrong with it in a sentence."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock.cli.app import app
from penstock.cli.bench.policies import _others
from penstock.cli.own_policy import policy_given
from penstock.errors import PolicyError, QosError
from penstock.policies import POLICIES, policy_named
from penstock.qos.settings import PolicySettings

runner = CliRunner()
EXAMPLE = Path(__file__).parents[2] / "examples" / "least_slack.py"
NETWORK = str(EXAMPLE.with_name("network.toml"))
GOOD = """
from penstock.policies import Policy, Term
from penstock.policies.features import ONE, C
MINE = Policy(name="mine", unit="path", gain=ONE, cost=C, urgency="age")
OTHER = Policy(name="other", unit="operator", gain=ONE, cost=None)
COUNT = 5
"""


@pytest.fixture
def file(tmp_path):
    def written(text):
        path = tmp_path / "mine.py"
        path.write_text(text)
        return path

    return written


def test_a_policy_of_a_file_with_combinators(file):
    path = file(GOOD)
    assert policy_given(f"{path}:MINE").name == "mine"
    made = policy_given(f" {path}:MINE.every(20).threshold(OTHER, memory=5) ")
    assert made.name == "mine.every(20).threshold(other, memory=5)"
    assert policy_given(f"{path}:MINE.threshold(chain)").saving.policy == POLICIES["chain"]
    assert policy_given("bsd.every(3)") == POLICIES["bsd"].every(3)
    assert not (path.parent / "__pycache__").exists()


def test_the_example_runs_like_the_same_formula_of_the_table():
    """1 ÷ C × W is `path_capacity` by age: the example and a policy made by hand come to the same."""
    result = runner.invoke(app, ["simulate", NETWORK, "-p", f"{EXAMPLE}:LEAST_SLACK", "-p", "fifo", "--json"])
    assert result.exit_code == 0, result.output
    mine, fifo = json.loads(result.stdout)["policies"]
    assert mine["name"] == "least_slack"
    assert mine["metrics"] != fifo["metrics"]
    net = ps.Network.chains([[(2.0, 0.5), (1.0, 1.0)], [(1.0, 0.25)], [(4.0, 1.0)]])
    by_hand = replace(POLICIES["path_capacity"], name="by_hand", urgency="age")
    times = {"s": [0.0, 0.0, 1.0, 3.0, 3.5, 20.0]}
    given = ps.simulate(net, times, policy_given(f"{EXAMPLE}:LEAST_SLACK"), seed=1)
    assert given.metrics == ps.simulate(net, times, by_hand, seed=1).metrics


WRONG = {  # what is in the file, what is asked for, what is said
    "no such name": (GOOD, "MIEN", "has no policy 'MIEN'. Did you mean 'MINE'? It has MINE, OTHER"),
    "no name": (GOOD, "", "name the policy in"),
    "not a policy": (GOOD, "COUNT", "COUNT in {path} is of type int, not a Policy"),
    "nothing in it": ("", "MINE", "has no policy 'MINE'. It has none"),
    "raises": ("x = 1\ny = x / 0\n", "MINE", "{path}, line 2: ZeroDivisionError: division by zero"),
    "syntax": ("x = 1\ny = = 2\n", "MINE", "{path}, line 2: SyntaxError: invalid syntax"),
    "exits": ("import sys\nsys.exit(3)\n", "MINE", "{path}, line 2: SystemExit: 3"),
    "wrong policy": (
        GOOD.replace('"age"', '"agee"'),
        "MINE",
        "{path}, line 4: PolicyError: policy 'mine' has the",
    ),
    "imports nothing there is": ("import no_such_thing\n", "MINE", "{path}, line 1: ModuleNotFoundError"),
    "combinator": (GOOD, "MINE.evry(2)", "a policy has no combinator 'evry'. Did you mean 'every'?"),
    "number": (GOOD, "MINE.every(0)", "every(n) needs a whole number from 1 to 1,000,000,000, not 0"),
    "term": (
        GOOD.replace("gain=ONE", "gain=Term('g', lambda f: f.length)"),
        "MINE",
        "{path}, line 4: MINE has no priority: AttributeError: 'Features' object has no attribute 'length'",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_a_sentence(file, case):
    text, name, said = WRONG[case]
    path = file(text)
    with pytest.raises(PolicyError) as error:
        policy_given(f"{path}:{name}")
    assert said.format(path=path) in str(error.value)
    result = runner.invoke(app, ["simulate", NETWORK, "-p", f"{path}:{name}"])
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(PolicyError, match="there is no file"):
        policy_given(f"{tmp_path}/none.py:MINE")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(PolicyError, match="cannot be read"):
        policy_given(f"{tmp_path}/folder.py:MINE")


def test_only_the_option_executes_a_file(file, tmp_path):
    """SET policy, SET candidates and Python's names refuse it, and leave the file alone."""
    path = file(f"open({str(tmp_path / 'was_here')!r}, 'w')\n" + GOOD)
    for refused in (
        lambda: policy_named(f"{path}:MINE"),
        lambda: PolicySettings.of({"policy": f"{path}:MINE"}, ()),
        lambda: PolicySettings.of({"candidates": f"fifo, {path}:MINE"}, ()),
    ):
        with pytest.raises((PolicyError, QosError), match="only --policy executes files"):
            refused()
    script = tmp_path / "script.sql"
    script.write_text(
        "CREATE STREAM s (v INT) FROM poisson WITH (rate = 10); CREATE QUERY q AS SELECT v FROM s;"
        f"SET policy = '{path}:MINE';"
    )
    result = runner.invoke(app, ["run", str(script), "--seconds", "1"])
    assert result.exit_code == 1
    assert "only --policy executes files" in " ".join(str(result.exception or result.output).split())
    assert not (tmp_path / "was_here").exists()


def test_selectors_choose_among_policies_of_the_table(file):
    result = runner.invoke(
        app, ["simulate", NETWORK, "-p", f"{file(GOOD)}:MINE", "-p", "fifo", "--qos", "latency"]
    )
    assert result.exit_code == 2
    assert "selectors choose among built-in policies" in " ".join(result.output.replace("│", "").split())


def test_the_benchmark_of_policies_takes_others(file):
    path = file(GOOD)
    assert [policy.name for policy in _others(["lsf", f"{path}:MINE"], ("fifo", "hr"))] == ["lsf", "mine"]
    for names, said in ((["fifo"], "already compared"), (["hr_oracle"], "knows the future"), (["lfs"], "'lsf'")):
        with pytest.raises(Exception, match=said):
            _others(names, ("fifo", "hr"))


def test_a_copy_of_the_example_explains_itself(tmp_path):
    copy = shutil.copy(EXAMPLE, tmp_path / "copied.py")
    assert str(policy_given(f"{copy}:LEAST_SLACK.every(20)")) == "least_slack.every(20): 1 ÷ C × age"
