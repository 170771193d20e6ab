"""What every population promises: it builds, has the load that was asked for, repeats, and can be scheduled."""

import math
from inspect import signature

import numpy as np
import pytest

from penstock.errors import ArrivalError, PenstockError
from penstock.network import Network, NetworkBuilder
from penstock.policies import POLICIES
from penstock.policies.units import units_of
from penstock.workloads import POPULATIONS, Poisson, Population, Predicate, Trace, population
from penstock.workloads.populations.population import first, scaled

SMALL = {"sclp08": {"queries": 40}, "sclp08_shared": {"queries": 40}, "sclp08_two_streams": {"queries": 40}}


@pytest.fixture(params=POPULATIONS)
def name(request):
    return request.param


def built(name, **settings):
    return population(name, **SMALL.get(name, {}), **settings)


def load_by_hand(network):
    """Σ rate × cost, operator by operator, with what every window holds written out."""
    rates = {stream.name: stream.rate for stream in network.streams}
    load = 0.0
    for operator in network.operators:
        into = [rates[source] for source in operator.inputs]
        load += sum(rate * cost for rate, cost in zip(into, operator.costs, strict=True))
        if operator.windows:
            left, right = operator.windows
            held = [w.size if w.kind == "rows" else w.size * r for w, r in zip((left, right), into, strict=True)]
            rates[operator.name] = operator.selectivity * (into[0] * held[1] + into[1] * held[0])
        else:
            rates[operator.name] = operator.selectivity * sum(into)
    return load


def test_the_load_is_what_was_asked(name):
    for settings in ({}, {"load": 0.7}, {"load": 1.3, "seed": 5}, {"arrivals": Poisson(3)}):
        made = built(name, **settings)
        wanted = settings.get("load", signature(POPULATIONS[name]).parameters["load"].default)
        assert made.name == name
        assert math.isclose(made.network.load, wanted, rel_tol=1e-9)
        assert math.isclose(load_by_hand(made.network), wanted, rel_tol=1e-9)
        assert made.load == made.network.load


def test_streams_have_the_rates_of_their_arrivals(name):
    made = built(name)
    assert [*made.arrivals] == [stream.name for stream in made.network.streams]
    assert all(made.network.stream(s).rate == process.rate for s, process in made.arrivals.items())
    own = built(name, arrivals=Poisson(3))
    assert all(stream.rate == pytest.approx(3) for stream in own.network.streams)


def test_equal_seeds_give_equal_populations(name):
    assert built(name, seed=3) == built(name, seed=3)
    drawn = name.startswith(("sclp08", "jc03"))
    assert (built(name, seed=3).network != built(name, seed=4).network) == drawn


def test_the_load_only_scales_costs(name):
    half, full = (built(name, load=load).network for load in (0.45, 0.9))
    for one, other in zip(half.operators, full.operators, strict=True):
        assert np.multiply(2, one.costs) == pytest.approx(other.costs)
        assert (one.selectivity, one.windows) == (other.selectivity, other.windows)


@pytest.mark.parametrize("policy", ["hnr", "chain", "fifo", "simplified_segment"])
def test_every_population_can_be_scheduled(name, policy):
    network = built(name).network
    units = units_of(network, POLICIES[policy])
    assert {edge for unit in units for edge in (*unit.entries, *unit.through)} == set(network.edges)


def test_times(name):
    made = built(name)
    early = made.times(seed=4, seconds=20)
    assert [*early] == [*made.arrivals]
    some = made.times(seed=4, count=50)
    assert sum(len(times) for times in some.values()) == 50
    last = max(times[-1] for times in some.values() if len(times))
    whole = made.times(seed=4, seconds=last)
    assert sum(len(times) for times in whole.values()) == 49
    for stream, times in some.items():
        assert np.array_equal(times[times < last], whole[stream])
    again, other = made.times(count=50, seed=4), made.times(count=50, seed=5)
    assert all(np.array_equal(again[stream], some[stream]) for stream in some)
    assert not all(np.array_equal(other[stream], some[stream]) for stream in some)
    runs = [times.tolist() for times in early.values()]
    assert all(one != two for i, one in enumerate(runs) for two in runs[:i])  # each stream has a seed of its own


def test_the_first_of_all_streams_against_sorting():
    rng = np.random.default_rng(2)
    times = {name: np.sort(rng.integers(0, 20, 30)).astype(float) for name in "abc"}
    merged = sorted((t, name) for name, run in times.items() for t in run)[:37]
    cut = first(times, 37)
    assert sorted((t, name) for name, run in cut.items() for t in run) == merged


def test_costs_by_input_are_scaled_too():
    build = NetworkBuilder()
    build.stream("a", 2)
    build.stream("b", 3)
    build.query("q", build.join("j", ["a", "b"], cost=(1, 2)))
    net = scaled(build.build(), 0.4)
    assert net.operator("j").costs == pytest.approx((0.05, 0.1))  # 2 · 1 + 3 · 2 = 8


NET = Network.chains([[(0.1, 0.5)]], rate=4)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: population("sclp09"), "there is no population 'sclp09'. Did you mean 'sclp08'?"),
        (lambda: population(7), "there is no population 7."),
        (lambda: population("sclp08", querys=5), "'sclp08' has no setting 'querys'. Did you mean 'queries'?"),
        (lambda: population("jc03", load=0), "the load must be above 0, not 0"),
        (lambda: population("jc03", load="x"), "the load must be a number, not 'x'"),
        (lambda: population("p04_join", seed=-1), "a seed must be between 0 and"),
        (lambda: population("bbdm03_two", seed="x"), "a seed must be a number, not 'x'"),
        (lambda: population("sclp08", queries=0), "the number of queries must be between 1 and 100000, not 0"),
        (lambda: population("sclp08", max_selectivity=1.5), "max_selectivity must be at most 1, not 1.5"),
        (lambda: population("sclp08", max_selectivity=0.05), "max_selectivity must be at least 0.1, not 0.05"),
        (lambda: population("sclp08", least_selectivity=0), "least_selectivity must be above 0, not 0"),
        (lambda: population("sclp08_shared", group=0), "the size of a group must be between 1 and"),
        (lambda: population("sclp08_two_streams", rate=0), "the rate of a Poisson process must be above 0"),
        (
            lambda: population("sclp08", arrivals=100),
            "must be an arrival process such as Poisson(rate=100), not 100",
        ),
        (lambda: population("jc03", rate=-1), "the rate of the first stream must be above 0, not -1"),
        (lambda: population("jc03_phases", rising=()), "rising must be a list of relative rates"),
        (lambda: population("jc03_phases", rising=(1, 0)), "rate 2 of rising must be above 0, not 0"),
        (lambda: Population("x", NET, {}), "stream 's' has no arrivals"),
        (lambda: Population("x", NET, {"t": Poisson(4)}), "for the stream 't', which is not in the network"),
        (
            lambda: Population("x", NET, {"s": Poisson(5)}),
            "has the rate 4 in the network, but its arrivals have 5",
        ),
        (lambda: Population("x", NET, {"s": Poisson(4)}, {"q2": "a"}), "the query 'q2', which is not in the netw"),
        (
            lambda: Population("x", NET, {"s": Poisson(4)}, {}, {"q1.01": Predicate(0, 0)}),
            "a predicate is given for the operator 'q1.01', which is not in the network. Did you mean 'q1.o1'?",
        ),
        (lambda: Predicate(0, 1), "the low end of a predicate must be below 1, not 1"),
        (lambda: Predicate(-1, 0), "the column of a predicate must be between 0 and"),
        (
            lambda: Population("x", NET, {"s": Poisson(4)}).times(1),
            "give either the number of arrivals, count=, or",
        ),
        (lambda: Population("x", NET, {"s": Poisson(4)}).times(1, count=1, seconds=1), "give either the number"),
        (lambda: Population("x", NET, {"s": Poisson(4)}).times(-1, count=1), "a seed must be between 0 and"),
        (
            lambda: scaled(Network(), 1),
            "a network without rates, or without operators, cannot be scaled to a load",
        ),
    ],
)
def test_errors(build, says):
    with pytest.raises(PenstockError) as caught:
        build()
    assert says in str(caught.value)


def test_arrivals_without_a_rate(tmp_path):
    (tmp_path / "t.csv").write_text("time\n5\n")
    with pytest.raises(ArrivalError, match="the arrivals of a population must have a rate, but"):
        population("sclp08", arrivals=Trace(tmp_path / "t.csv"))
