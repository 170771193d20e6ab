"""A run that changes its policy on the way: the compiled simulator against the plain one, to the last bit."""

import math

import numpy as np
import pytest

from penstock.policies import Exhaustive, Limited, QueueShare, Scheduler, policy_named
from penstock.simulator.layout.arrivals import Feed, checked_times
from penstock.simulator.options import SimulationOptions
from penstock.simulator.plain import Plain
from penstock.simulator.run import SimulationRun
from tests.reference.networks import chains, network

POLICIES = ("fifo", "chain", "mtiq", "round_robin", "hnr", "bsd", "simplified_segment", "aurora")


class Steered(Plain):
    """The plain reference, with a scheduler for each policy that takes its turn."""

    def steer(self, turns):
        schedulers = {name: Scheduler(self.net, policy_named(name)) for _, name in turns}
        turns = list(turns)
        while True:
            while turns and self.now >= turns[0][0]:
                self.scheduler = schedulers[turns.pop(0)[1]]
            self.settle()
            units = self.scheduler.choose(self.now, self.look)
            if units:
                self.runs.append((self.now, units[0].name))
                for unit in units:
                    self.serve(unit)
            elif self.coming:
                self.pass_time(self.coming[0][0])
            else:
                return self


def steered(net, times, turns, seed, service):
    options = SimulationOptions(service=service, bins=16, detail=True)
    run = SimulationRun(net, checked_times(net, times), policy_named(turns[0][1]), seed, options)
    names = list(dict.fromkeys(name for _, name in turns))
    course = run.course(Feed(net, run.times, None), names, is_what_if=False)
    readings = []
    for (_, name), until in zip(turns, [*(start for start, _ in turns[1:]), math.inf], strict=True):
        course.go_on(name, until)
        readings.append(course.read(np.ones(len(net.queries))))
    return course, readings


@pytest.mark.parametrize("seed", range(40))
def test_same_to_the_last_bit(seed):
    random = np.random.default_rng(seed)
    net, times = (chains if seed % 2 else network)(random)
    service = [Limited(1), Exhaustive(), QueueShare(0.5, 2)][seed % 3]
    starts = [-1.0, *sorted(random.choice(64, 5, replace=False) * 0.25)]
    turns = [(start, str(random.choice(POLICIES))) for start in starts]
    expected = Steered(net, times, policy_named("fifo"), seed, service=service).steer(turns)
    course, readings = steered(net, times, turns, seed, service)
    state = course.close()
    names = [query.name for query in net.queries]
    got = [(t, names[int(q)], int(n), r, h) for t, q, n, r, h in state.detail().departures]
    assert got == [tuple(departure) for departure in expected.departures]
    assert [start for start, _ in state.detail().runs.tolist()] == [start for start, _ in expected.runs]
    # what was read at each sample, beside the departures themselves
    assert sum(each.results.count for each in readings) == len(expected.departures)
    since = -math.inf
    for sample in readings:
        left = [each for each in expected.departures if since < each.time <= sample.now]
        if all(each.time not in (since, sample.now) for each in left):
            assert sample.results.count == len(left)
            assert sample.results.max_response == max((each.response for each in left), default=0.0)
            assert sample.results.squared_slowdown == pytest.approx(sum(each.slowdown**2 for each in left))
        since = sample.now
    assert readings[-1].waiting == 0
    for operator in net.operators:
        work = readings[-1].operators[operator.name]
        if all(source in times for source in operator.inputs):
            assert work.taken == sum(len(times[source]) for source in operator.inputs)
        for query in net.queries_at.get(operator.name, ()):
            assert work.made == sum(each.query == query for each in expected.departures)
