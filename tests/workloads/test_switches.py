"""ON/OFF flows in bulk against one flow at a time."""

import numpy as np
import pytest

from penstock.workloads.pareto import Pareto
from penstock.workloads.switches import Switches


def random(seed=1):
    return np.random.Generator(np.random.PCG64(seed))


def switches_of_one_flow(on, off, rng, end):
    """When one flow switches before `end`: period by period, as the paper tells it."""
    is_on = rng.random() < on.mean / (on.mean + off.mean)
    now = float((on if is_on else off).draw_rest(rng, 1)[0])
    while now < end:
        is_on = not is_on
        yield now, 1 if is_on else -1
        now += float((on if is_on else off).draw(rng, 1)[0])


@pytest.mark.parametrize("stretch", [0.05, 1.0, 20.0])
def test_as_many_switches_as_one_flow_at_a_time(stretch):
    on, off, end, flows = Pareto(1, 1.4), Pareto(2, 1.2), 20.0, 3000
    plain = [list(switches_of_one_flow(on, off, random(seed), end)) for seed in range(flows)]
    switches = Switches(flows, on, off, random(7))
    counted = sum(len(switches.steps(i * stretch, (i + 1) * stretch)[0]) - 2 for i in range(round(end / stretch)))
    assert counted == pytest.approx(sum(len(of_flow) for of_flow in plain), rel=0.03)


@pytest.mark.parametrize(("mean_on", "mean_off"), [(1.0, 2.0), (3.0, 1.0), (0.1, 5.0)])
def test_the_share_on_is_the_same_from_the_start(mean_on, mean_off):
    flows, share = 20_000, mean_on / (mean_on + mean_off)
    switches = Switches(flows, Pareto(mean_on, 1.4), Pareto(mean_off, 1.2), random(3))
    for second in range(20):
        knots, levels = switches.steps(second, second + 1)
        assert np.dot(levels, np.diff(knots)) / flows == pytest.approx(share, rel=0.08)


def test_stretches_join_and_levels_are_possible():
    switches = Switches(5, Pareto(1, 1.4), Pareto(2, 1.2), random(5))
    before = switches.flows_on
    for i in range(2000):
        knots, levels = switches.steps(i * 0.7, (i + 1) * 0.7)
        assert (knots[0], knots[-1]) == (i * 0.7, (i + 1) * 0.7)
        assert (np.diff(knots) >= 0).all()
        assert levels[0] == before
        assert (np.abs(np.diff(levels)) == 1).all()
        assert (levels.min() >= 0) & (levels.max() <= 5)
        before = levels[-1]


def test_what_is_held_does_not_grow():
    switches = Switches(64, Pareto(1, 1.4), Pareto(2, 1.2), random(5))
    cycles = 10 / (switches.on.scale + switches.off.scale) + 2
    for i in range(1000):
        switches.steps(i * 10, (i + 1) * 10)
        assert len(switches.times) <= 2 * 64 * (cycles + 1)
