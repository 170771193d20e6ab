import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench.weighted_statistics import percentile, responses

pairs = st.lists(st.tuples(st.floats(0, 100), st.integers(0, 50)), min_size=1).filter(
    lambda some: any(weight for _, weight in some)
)


@given(pairs, st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_a_weighted_percentile_is_that_of_the_repeated_values(some, share):
    values = np.array([value for value, _ in some])
    weights = np.array([weight for _, weight in some])
    repeated = np.sort(np.repeat(values, weights))
    assert percentile(values, weights, share) == np.quantile(repeated, share, method="inverted_cdf")


@given(pairs)
def test_figures_are_those_of_the_repeated_values(some):
    values, weights = np.array([v for v, _ in some]), np.array([w for _, w in some])
    repeated = np.repeat(values, weights)
    found = responses(values, weights)
    assert (found.outputs, found.max, found.min) == (len(repeated), repeated.max(), repeated.min())
    assert np.isclose(found.avg, repeated.mean())
