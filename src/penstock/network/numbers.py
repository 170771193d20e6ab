"""Numbers of a network: floats for speed, fractions where results must be exact."""

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import TypeAlias

from penstock.errors import NetworkError, PenstockError

Number: TypeAlias = float | Fraction


LARGEST = 1e100
"""The largest cost, rate, size or time; its inverse is the smallest. So sums and products stay finite."""


def exact(value: Number) -> Fraction:
    """Return `value` as the fraction that its decimal digits say: 0.2 is one fifth, not the nearest binary number.

    >>> exact(0.2)
    Fraction(1, 5)
    """
    return value if isinstance(value, Fraction) else Fraction(str(value))


def checked(
    value: object,
    what: str,
    *,
    above: Number | None = None,
    at_least: Number | None = None,
    error: type[PenstockError] = NetworkError,
) -> Number:
    """Return `value` as a finite number within its bounds, or raise an `error` that names `what`.

    >>> checked(-1, "the cost of operator 'o1'", above=0)
    Traceback (most recent call last):
    penstock.errors.NetworkError: the cost of operator 'o1' must be above 0, not -1
    """
    number: Number | None = _number(value)
    if number is None:
        raise error(f"{what} must be a number, not {value!r}")
    if isinstance(number, float) and not math.isfinite(number):
        raise error(f"{what} must be a finite number, not {number}")
    magnitude = -number if number < 0 else number
    if magnitude > LARGEST or 0 < magnitude < 1 / LARGEST:
        raise error(f"{what} is out of range: its magnitude must be between {1 / LARGEST:g} and {LARGEST:g}")
    if above is not None and not number > above:
        raise error(f"{what} must be above {above}, not {number}")
    if at_least is not None and number < at_least:
        raise error(f"{what} must be at least {at_least}, not {number}")
    return number


def _number(value: object) -> Number | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Fraction) or type(value) is float:
        return value
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() else math.nan
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Real):
        return float(value)
    return None
