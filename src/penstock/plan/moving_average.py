"""The moving average of measured costs and selectivities."""

ALPHA = 0.175
"""Weight of the newest measurement, SCLP08 §9."""


def moving_average(old: float, new: float) -> float:
    """Return the average after one more measurement.

    >>> round(moving_average(1.0, 3.0), 3)
    1.35
    """
    return (1 - ALPHA) * old + ALPHA * new
