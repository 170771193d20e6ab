"""SQL to read times in logs: numbers since 1970 in seconds or finer units, or dates as text."""

from collections.abc import Mapping

UNITS: Mapping[str, int] = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""Nanoseconds of each unit of numbers."""
LIMITS: Mapping[str, float] = {"s": 1e11, "ms": 1e14, "us": 1e17}
"""Without a given unit, a number below the limit has this unit. Correct for every time since March 1973."""
_NUMBER = r"^\\s*[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?\\s*$"
_DATE = r"^\\d{4}-\\d{2}-\\d{2}"
_TIME_ONLY = r"^\\s*T?\\d{1,2}:"
_SERVER = r"^\\[?(\\d{2}/[A-Z][a-z]{2}/\\d{4}:\\d{2}:\\d{2}:\\d{2}( [+-]\\d{4})?)\\]?$"
"""The time in a web server's log: [10/Oct/2026:13:55:36 +0200]."""


def time_sql(text: str, unit: str | None, number: str) -> str:
    """Return the SQL of a TIMESTAMP from a text, NULL if it is not a time.

    `unit` is one of s, ms, us, ns or iso; None: numbers by their magnitude, all else as a date; `number`
    is the SQL of `number_of`. A text without a date would depend on the day on which it is read, so it is not a
    time.
    """
    if unit in UNITS:
        return number_sql(f"try_cast({text} AS DECIMAL(38,9))", unit)
    comma = f"regexp_replace({text}, '(:\\\\d\\\\d),(\\\\d)', '$1.$2')"  # 12:00:00,123
    server = f"regexp_extract({text}, '{_SERVER}', 1)"
    cast = f"coalesce(try_cast({text} AS TIMESTAMP), try_cast({comma} AS TIMESTAMP))"
    date = (  # the first case is a short cut for most logs: it excludes the others
        f"CASE WHEN {text} RLIKE '{_DATE}' THEN {cast} "
        f"WHEN {text} RLIKE '{_TIME_ONLY}' THEN NULL "
        f"WHEN {text} RLIKE '{_SERVER}' THEN coalesce(try_to_timestamp({server}, 'dd/MMM/yyyy:HH:mm:ss Z'), "
        f"try_to_timestamp({server}, 'dd/MMM/yyyy:HH:mm:ss')) "
        f"ELSE {cast} END"
    )
    if unit == "iso":
        return date
    return f"CASE WHEN {number} IS NOT NULL THEN {number_sql(number, None)} ELSE {date} END"


def number_of(text: str) -> str:
    """Return the SQL of the number in a text; NULL if it is none.

    A text is cast only if it looks like a number: for any other text Java would throw and catch an exception.
    """
    return f"CASE WHEN {text} RLIKE '{_NUMBER}' THEN try_cast({text} AS DECIMAL(38,9)) END"


def number_sql(number: str, unit: str | None) -> str:
    """Return the SQL of a TIMESTAMP from a number since 1970, truncated to microseconds."""
    if unit is not None:
        return _scaled(number, unit)
    cases = " ".join(
        f"WHEN abs({number}) < {limit:.0f} THEN {_scaled(number, each)}" for each, limit in LIMITS.items()
    )
    return f"CASE {cases} ELSE {_scaled(number, 'ns')} END"


def unit_sql(number: str) -> str:
    """Return the SQL of the unit of a number by its magnitude; NULL if it is NULL."""
    cases = " ".join(f"WHEN abs({number}) < {limit:.0f} THEN '{each}'" for each, limit in LIMITS.items())
    return f"CASE WHEN {number} IS NULL THEN NULL {cases} ELSE 'ns' END"


def within_years(time: str, kind: str) -> str:
    """Return the SQL of a DATE or TIMESTAMP, NULL before the year 1 and after 9999, which few readers support."""
    last = "9999-12-31" + (" 23:59:59.999999" if kind == "TIMESTAMP" else "")
    return f"CASE WHEN {time} BETWEEN {kind}'0001-01-01' AND {kind}'{last}' THEN {time} END"


def _scaled(number: str, unit: str) -> str:
    scale = f"{UNITS[unit] // 1000}" if UNITS[unit] >= 1000 else "0.001"
    return f"timestamp_micros(try_cast(floor(try_multiply({number}, {scale})) AS BIGINT))"


def seconds(micros: int) -> str:
    """Return a duration as text.

    >>> seconds(2_500), seconds(90_000_000), seconds(0)
    ('0.0025 s', '1 min 30 s', '0 s')
    """
    if micros < 60_000_000:
        return f"{micros / 1e6:.4g} s"
    whole = micros // 1_000_000
    parts = ((whole // 86_400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)
