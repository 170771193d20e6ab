"""The table of policies: all of PAPERS §3, one file each, declared in full."""

import importlib
import inspect

import pytest

import penstock as ps
from penstock.policies import policy_named

NAMES = [
    "fifo",
    "round_robin",
    "aurora",
    "greedy",
    "mtiq",
    "chain",
    "path_capacity",
    "segment",
    "simplified_segment",
    "threshold",
    "srpt",
    "hr",
    "hnr",
    "lsf",
    "brt",
    "bsd",
    "hr_oracle",
    "hnr_oracle",
]
UNITS = {
    "path": [
        "fifo",
        "path_capacity",
        "threshold",
        "srpt",
        "hr",
        "hnr",
        "lsf",
        "brt",
        "bsd",
        "hr_oracle",
        "hnr_oracle",
    ],
    "operator": ["round_robin", "aurora", "greedy", "mtiq", "chain"],
    "segment": ["segment", "simplified_segment"],
}
URGENCY = {"age": {"fifo", "lsf", "brt", "bsd"}, "length": {"mtiq"}, "turns": {"round_robin", "aurora"}}


def test_every_policy_of_the_papers_is_there():
    assert list(ps.POLICIES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_one_file_a_policy_with_formula_source_and_a_running_example(name):
    module = importlib.import_module(f"penstock.policies.{name}")
    assert getattr(module, name.upper()) is ps.POLICIES[name]
    doc = inspect.getdoc(module)
    assert "priority = " in doc
    assert ">>> " in doc
    assert any(tag in doc for tag in ("JC03", "BBDM03", "SCLP08", "P04"))


@pytest.mark.parametrize("name", NAMES)
def test_declarations_are_complete(name):
    policy = ps.POLICIES[name]
    assert policy.name == name
    assert policy.source
    assert policy.minimises
    assert name in UNITS[policy.unit]
    assert policy.urgency == next((u for u, names in URGENCY.items() if name in names), "none")


def test_a_wrong_name_is_answered_with_the_nearest():
    with pytest.raises(ps.PolicyError, match="Did you mean 'round_robin'"):
        policy_named("roundrobin")
    assert policy_named(ps.POLICIES["hr"]) is ps.POLICIES["hr"]
