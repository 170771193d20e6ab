"""Progress charts: the lower envelope against a convex hull computed another way."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.network import ProgressChart
from tests.strategies import chains


@st.composite
def charts(draw):
    """Any chart: sizes may rise where a join multiplies."""
    steps = draw(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 12)), min_size=1, max_size=7))
    points, time = [(Fraction(0), Fraction(draw(st.integers(1, 12))))], 0
    for step, size in steps:
        time += step
        points.append((Fraction(time), Fraction(size)))
    points[-1] = (points[-1][0], Fraction(0))
    return ProgressChart(tuple(points))


def lower_hull(points):
    """The lower convex hull by Andrew's monotone chain: cross products, no slopes."""
    hull = []
    for x, y in points:
        while len(hull) >= 2:
            (x1, y1), (x2, y2) = hull[-2], hull[-1]
            if (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) <= 0:
                hull.pop()
            else:
                break
        hull.append((x, y))
    return hull


def height(points, x):
    for (x1, y1), (x2, y2) in pairwise(points):
        if x1 <= x <= x2:
            return y1 + (y2 - y1) * (x - x1) / (x2 - x1)
    raise AssertionError(x)


@given(charts())
def test_the_envelope_is_the_lower_hull(chart):
    corners = [chart.points[0]] + [chart.points[chain.stop] for chain in chart.envelope()]
    hull = lower_hull(chart.points)
    assert all(height(corners, x) == height(hull, x) for x, _ in chart.points)


@given(charts())
def test_slopes_never_get_steeper(chart):
    slopes = [chain.slope for chain in chart.envelope()]
    assert slopes == sorted(slopes, reverse=True)


@given(charts())
def test_chains_cover_the_path_once(chart):
    chains_found = chart.envelope()
    assert [chain.start for chain in chains_found] == [0] + [chain.stop for chain in chains_found[:-1]]
    assert chains_found[-1].stop == len(chart.points) - 1


def test_ties_go_to_the_nearest_point():
    chart = ProgressChart(((0, 4), (1, 3), (2, 2), (4, 0)))
    assert [(chain.start, chain.stop) for chain in chart.envelope()] == [(0, 1), (1, 2), (2, 3)]


def test_the_chart_of_a_path():
    """BBDM03 Example 1: unit time and 0.2 left, then unit time for those 0.2."""
    net = ps.Network.chains([[(1, 0.2), (5, 0)]])
    assert net.chart(net.paths[0]).points == ((0, 1), (1, 0.2), (2.0, 0))


@given(chains(max_queries=1))
def test_chart_times_add_up_to_the_cost(queries):
    net = ps.Network.chains(queries)
    path = net.paths[0]
    assert net.chart(path).points[-1] == (net.C(path), 0)


def test_operators_that_nothing_reaches_have_a_chain_of_no_slope():
    net = ps.Network.chains([[(1, 0), (2, 0.5), (3, 1)]])
    assert [net.envelope_segment_at[path].slope for edge in net.edges for path in net.suffixes[edge]] == [1, 0, 0]


def test_a_join_that_multiplies_hides_behind_the_drop_after_it():
    net = ps.Network.chains([[(1, 2.0), (1, 0.1), (10, 1)]])
    assert [(chain.start, chain.stop) for chain in net.envelope(net.paths[0])] == [(0, 2), (2, 3)]


@pytest.mark.parametrize("points", [((0, 1),), ((0, 1), (1, 0.5)), ((0, 1), (2, 0.5), (1, 0))])
def test_bad_charts_are_refused(points):
    with pytest.raises(ps.NetworkError):
        ProgressChart(points)
