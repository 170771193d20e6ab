"""The table of policies: all of the papers, one file each, declared in full."""

import importlib
import inspect

import pytest

import penstock as ps
from penstock.policies import policy_named

# name: (unit, urgency), of the papers
PAPERS = {
    "fifo": ("path", "age"),
    "round_robin": ("operator", "turns"),
    "aurora": ("operator", "turns"),
    "greedy": ("operator", "none"),
    "mtiq": ("operator", "length"),
    "chain": ("operator", "none"),
    "path_capacity": ("path", "none"),
    "segment": ("segment", "none"),
    "simplified_segment": ("segment", "none"),
    "threshold": ("path", "none"),
    "srpt": ("path", "none"),
    "hr": ("path", "none"),
    "hnr": ("path", "none"),
    "lsf": ("path", "age"),
    "brt": ("path", "age"),
    "bsd": ("path", "age"),
    "hr_oracle": ("path", "none"),
    "hnr_oracle": ("path", "none"),
}


@pytest.mark.parametrize("name", PAPERS)
def test_every_policy_of_the_papers_is_there(name):
    policy = ps.POLICIES[name]
    assert (policy.unit, policy.urgency) == PAPERS[name]
    assert policy.source.startswith(("JC03", "BBDM03", "SCLP08", "P04"))


@pytest.mark.parametrize("name", list(ps.POLICIES))
def test_one_file_a_policy_with_formula_source_and_a_running_example(name):
    policy = ps.POLICIES[name]
    module = importlib.import_module(f"penstock.policies.{name}")
    assert getattr(module, name.upper()) is policy
    assert policy.name == name
    assert policy.source
    assert policy.minimises
    doc = inspect.getdoc(module)
    assert "priority = " in doc
    assert ">>> " in doc


def test_a_wrong_name_is_answered_with_the_nearest():
    with pytest.raises(ps.PolicyError, match="Did you mean 'round_robin'"):
        policy_named("roundrobin")
    assert policy_named(ps.POLICIES["hr"]) is ps.POLICIES["hr"]
