"""SET qos, selector, candidates and policy of a script, combined."""

import pytest

from penstock.errors import QosError
from penstock.qos import CANDIDATES, DEFAULT
from penstock.qos.settings import PolicySettings, candidates_in


def said(**settings):
    return PolicySettings.of(settings, queries=["Alarms", "other"])


@pytest.mark.parametrize(
    ("settings", "is_on"),
    [
        ({}, False),
        ({"policy": "hnr"}, False),
        ({"candidates": "hnr, bsd"}, False),
        ({"qos": "latency"}, True),
        ({"selector": "roulette"}, True),
        ({"selector": "none"}, False),
        ({"qos": "latency", "selector": "none"}, False),
        ({"qos": "weigh alarms 5"}, True),
        ({"qos": "weigh alarms 5", "policy": "hnr"}, False),
        ({"qos": "weigh alarms 5", "policy": "hnr", "selector": "ucb"}, True),
        ({"qos": "latency, weigh alarms 5", "policy": "hnr"}, True),
    ],
)
def test_a_policy_is_chosen_where_goals_or_a_selector_are_given(settings, is_on):
    assert said(**settings).is_on is is_on


def test_settings_not_given_have_defaults():
    selection = said(qos="memory").selection()
    assert (selection.selector, selection.candidates, selection.warmup) == ("foresight", CANDIDATES, 0)
    assert said(selector="ucb").selection().goals == DEFAULT
    assert str(said(qos="weigh alarms 5").selection().goals) == f"{DEFAULT}, weigh Alarms 5"
    assert str(said(qos="weigh alarms 5", policy="hnr").goals) == "weigh Alarms 5"


def test_the_policy_that_is_named_runs_first_and_is_a_candidate():
    selection = said(qos="memory", policy="chain").selection()
    assert selection.candidates[0] == "chain"
    assert sorted(selection.candidates) == sorted(CANDIDATES)
    assert selection.warmup == selection.every
    assert said(qos="memory", policy="srpt", candidates="hr, hnr").selection().candidates == ("srpt", "hr", "hnr")


def test_commas_in_brackets_belong_to_a_policy():
    text = "bsd.every(20),hnr.clustered(4, 'log') , fifo.threshold(chain.every( 3 ), memory=5, beta=0.75)"
    assert candidates_in(text) == (
        "bsd.every(20)",
        "hnr.clustered(4, 'log')",
        "fifo.threshold(chain.every(3), memory=5, beta=0.75)",
    )


def test_weights_name_queries_in_upper_or_lower_case():
    assert dict(said(qos="latency, weigh alarms 5").goals.queries) == {"Alarms": 5.0}
    assert said(qos="weigh alarms 5", policy="hnr").weights == {"Alarms": 5.0}
    assert said(policy="hnr").weights == {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"qos": "minimize avg_response 0.5, minimize queue_size 0.4"},
            "setting 'qos': the weights of goals must sum",
        ),
        ({"qos": "minimize avg_reponse 1"}, "setting 'qos': there is no statistic 'avg_reponse'"),
        ({"qos": "latency, weigh alarm 5"}, "no query 'alarm' to weigh. Did you mean 'Alarms'?"),
        ({"selector": "rulette"}, "setting 'selector': there is no selector 'rulette'. Did you mean 'roulette'?"),
        ({"selector": "x"}, "There are foresight, roulette, ucb, thompson, exp3, none."),
        ({"candidates": "hnr, bst"}, "setting 'candidates': there is no policy 'bst'. Did you mean 'bsd'?"),
        ({"candidates": "hnr,, bsd"}, "a policy is missing in 'hnr,, bsd'"),
        ({"candidates": "hnr, hnr"}, "a policy is named twice among the candidates"),
        ({"policy": "hrn"}, "setting 'policy': there is no policy 'hrn'"),
    ],
)
def test_what_is_wrong_is_named_with_its_setting(settings, message):
    with pytest.raises(QosError) as refused:
        said(**settings)
    assert message in str(refused.value)
