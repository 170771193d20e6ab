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


@pytest.mark.parametrize(
    "policy",
    [
        ps.POLICIES["hnr"].every(3),
        ps.POLICIES["bsd"].by_age_and_length().level("operator"),
        ps.POLICIES["bsd"].clustered(3, "uniform"),
        ps.POLICIES["hr"].shared("max").oracle(),
        ps.POLICIES["hnr"].threshold(ps.POLICIES["chain"], memory=40),
        ps.POLICIES["hnr"].threshold(ps.POLICIES["chain"], memory=1234567.125, beta=0.75, longest=3),
        ps.POLICIES["hnr"].threshold(ps.POLICIES["segment"].every(2)),
    ],
    ids=lambda policy: policy.name,
)
def test_the_name_of_a_combined_policy_can_be_read_back(policy):
    assert policy_named(policy.name) == policy


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bsd.evry(3)", "no combinator 'evry'. Did you mean 'every'?"),
        ("bsd.every", "lacks the parentheses after 'every'"),
        ("bds.every(3)", "no policy 'bds'. Did you mean 'bsd'?"),
        ("bsd.every(0)", "a whole number from 1 to 1,000,000,000, not 0"),
        ("bsd.every()", "cannot be read"),
        ("bsd.every(3", "cannot be read"),
        ("__import__('os').system('true')", "no combinator 'system'"),
        ("__import__('os').every(3)", "is not a policy"),
        ("bsd.every(1 + 2)", "'1 + 2' is not a number, a string or a policy"),
        ("bsd.every(" + "-" * 150 + "1)", "is not a number"),
        ("bsd.every(__import__('os'))", "is not a policy"),
        ("bsd.__class__", "no combinator '__class__'"),
        ("bsd" + ".oracle()" * 500, "at most 200 characters"),
        ("1.5", "is not a policy"),
        ("bsd.\0every(3)", "cannot be read"),
        ("bsd.threshold(chain, depth=3)", "cannot be read"),
        ("bsd.clustered('x')", "of clusters from 1 to 10,000, not 'x'"),
        ("bsd.every(-1)", "a whole number from 1 to 1,000,000,000, not -1"),
        ("bsd.every(99999999999999999999)", "from 1 to 1,000,000,000, not 99999999999999999999"),
        ("bsd.every(" + "9" * 150 + ")", "from 1 to 1,000,000,000, not 9999"),
        ("bsd.every(1e400)", "every(n) needs a whole number from 1 to 1,000,000,000, not inf"),
        ("bsd.every(2.5)", "a whole number from 1 to 1,000,000,000, not 2.5"),
        ("bsd.every(True)", "a whole number from 1 to 1,000,000,000, not True"),
        ("bsd.clustered(99999999999999999999)", "a whole number of clusters from 1 to 10,000, not 9999"),
        ("bsd.clustered(1e400)", "a whole number of clusters from 1 to 10,000, not inf"),
        ("bsd.clustered(3, together=7)", "together must be True or False, not 7"),
        ("hr.threshold(chain, memory=1e400)", "the memory limit of a threshold policy must be a finite number"),
        ("hr.threshold(chain, memory=5, longest=1e400)", "checks must be a finite number"),
        ("hr.threshold(chain, memory=5, beta=1e400)", "the safety factor of a threshold policy must be"),
        ("bsd.every({1: [2}", "cannot be read"),
    ],
)
def test_what_is_no_policy_is_refused(text, says):
    with pytest.raises(ps.PolicyError) as caught:
        policy_named(text)
    assert says in str(caught.value)
