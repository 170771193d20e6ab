"""The selectors by name."""

from collections.abc import Callable, Mapping

from penstock.errors import QosError, nearest
from penstock.qos.selectors.bandits import exp3, thompson, ucb
from penstock.qos.selectors.foresight import Foresight
from penstock.qos.selectors.roulette import Roulette
from penstock.qos.selectors.selector import Selector

SELECTORS: Mapping[str, tuple[Callable[[int], Selector], str]] = {
    "foresight": (
        Foresight,
        "what-if runs of all candidates beside the run; before there are any, a prior rank of policies",
    ),
    "roulette": (Roulette, "P04's: every candidate once, then a wheel with slices as large as the scores"),
    "ucb": (ucb, "river's upper confidence bounds, restarted when rewards drift"),
    "thompson": (thompson, "river's Thompson sampling, restarted when rewards drift"),
    "exp3": (exp3, "river's EXP3, restarted when rewards drift"),
}


def selector_named(name: str, seed: int = 0) -> Selector:
    """Return a new selector of that name.

    >>> selector_named("rulette")
    Traceback (most recent call last):
    penstock.errors.QosError: there is no selector 'rulette'. Did you mean 'roulette'?
    """
    if name not in SELECTORS:
        hint = nearest(name, SELECTORS) or f" There are {', '.join(SELECTORS)}."
        raise QosError(f"there is no selector {name!r}.{hint}")
    return SELECTORS[name][0](seed)
