"""Checks of the settings of workloads; every error names the setting."""

import numpy as np

from penstock.errors import ArrivalError
from penstock.network.numbers import Number, checked

FASTEST = 1e9
"""The maximum arrivals per second of a process: times are doubles, and must stay distinct for days."""

MOST = 2**63 - 1
"""The largest whole number that an integer column, a count or a seed can hold."""


def number(value: object, what: str, *, above: Number | None = None, at_least: Number | None = None) -> float:
    """Return `value` as a float within its bounds, or raise an error that names `what`.

    >>> number(1, "the shape of ON times", above=1)
    Traceback (most recent call last):
    penstock.errors.ArrivalError: the shape of ON times must be above 1, not 1
    """
    return float(checked(value, what, above=above, at_least=at_least, error=ArrivalError))


def rate_of(value: object, whose: str) -> float:
    """Return an average number of arrivals per second: above 0 and at most `FASTEST`."""
    rate = number(value, f"the rate of {whose}", above=0)
    if rate > FASTEST:
        raise ArrivalError(f"the rate of {whose} must be at most {FASTEST:g} per second, not {rate:g}")
    return rate


def whole(value: object, what: str, least: int = 0, most: int = MOST) -> int:
    """Return `value` as a whole number within its bounds; 3.0 is accepted, 3.5 is not.

    >>> whole(3.0, "the number of flows"), whole(7, "the number of flows", least=1)
    (3, 7)
    """
    given = checked(value, what, error=ArrivalError)
    if given != int(given):
        raise ArrivalError(f"{what} must be a whole number, not {value}")
    if not least <= given <= most:
        raise ArrivalError(f"{what} must be between {least} and {most}, not {value}")
    return int(given)


def generator(seed: int) -> np.random.Generator:
    """Return the random number generator of a seed.

    >>> float(generator(7).random()) == float(generator(7).random())
    True
    """
    return np.random.Generator(np.random.PCG64(whole(seed, "a seed", most=2**64 - 1)))
