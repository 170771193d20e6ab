"""`POPULATIONS`: all populations, by the name of the function that builds them."""

from collections.abc import Callable
from inspect import signature

from penstock.errors import ArrivalError, nearest
from penstock.workloads.populations.bbdm03 import bbdm03_four, bbdm03_join, bbdm03_lookup, bbdm03_three, bbdm03_two
from penstock.workloads.populations.jc03 import jc03, jc03_phases
from penstock.workloads.populations.p04 import p04_filters, p04_join
from penstock.workloads.populations.population import Population
from penstock.workloads.populations.sclp08 import sclp08, sclp08_shared, sclp08_two_streams

POPULATIONS: dict[str, Callable[..., Population]] = {
    build.__name__: build
    for build in (
        sclp08,
        sclp08_shared,
        sclp08_two_streams,
        bbdm03_two,
        bbdm03_four,
        bbdm03_lookup,
        bbdm03_join,
        bbdm03_three,
        jc03,
        jc03_phases,
        p04_filters,
        p04_join,
    )
}


def population(name: str, **settings: object) -> Population:
    """Return the population of that name; all have the settings `load`, `seed` and `arrivals`, some have more.

    >>> population("bbdm03_two", load=0.8).load
    0.8
    >>> population("sclp8")
    Traceback (most recent call last):
    penstock.errors.ArrivalError: there is no population 'sclp8'. Did you mean 'sclp08'?
    """
    if not isinstance(name, str) or name not in POPULATIONS:
        raise ArrivalError(f"there is no population {name!r}.{nearest(name, POPULATIONS)}")
    build = POPULATIONS[name]
    known = signature(build).parameters
    for setting in settings:
        if setting not in known:
            raise ArrivalError(f"population {name!r} has no setting {setting!r}.{nearest(setting, known)}")
    return build(**settings)
