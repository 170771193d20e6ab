"""Times as strings that Spark can cast. A time without a date would depend on the day, so it is not accepted."""

import re
from datetime import datetime

_TIME = re.compile(
    r"(?P<year>\d{4})(-(?P<month>\d{1,2})(-(?P<day>\d{1,2})"
    r"([ T](?P<hour>\d{1,2}):(?P<minute>\d{1,2})(:(?P<second>\d{1,2})(\.\d{0,9})?)?"
    r"( ?(Z|UTC|GMT|(UTC|GMT)?[+-]\d{1,2}(:\d{2}){0,2}|[A-Z][A-Za-z]+/[A-Za-z_/]+))?)?)?)?",
    re.ASCII,
)


def is_time(text: str) -> bool:
    """Return whether a string is a date, or a date and a time.

    >>> [is_time(each) for each in ("2026-01-31", "2026-1-31 9:30:00.5", "2026-02-31", "12:00", "soon")]
    [True, True, False, False, False]
    """
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return False
    parts = {name: int(value) for name, value in found.groupdict().items() if value is not None}
    try:
        datetime(**{"month": 1, "day": 1, **parts})  # type: ignore[arg-type]
    except ValueError:
        return False
    return True
