"""The functions a query may call, the words some of them take, and those whose result would not repeat."""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from penstock.language.types import Family

Signature = tuple[Sequence[Family], int, Family]
"""What it takes, in order; how many of these must be given; what it returns."""


def _of(*takes: Family, least: int | None = None, gives: Family) -> Signature:
    return takes, len(takes) if least is None else least, gives


FUNCTIONS: Mapping[type[exp.Expression], Signature] = {
    exp.Upper: _of("text", gives="text"),
    exp.Lower: _of("text", gives="text"),
    exp.Initcap: _of("text", "text", gives="text"),  # sqlglot writes the blank between words out
    exp.Reverse: _of("text", gives="text"),
    exp.Length: _of("text", gives="number"),
    exp.Trim: _of("text", "text", least=1, gives="text"),
    exp.Substring: _of("text", "number", "number", least=2, gives="text"),
    exp.Left: _of("text", "number", gives="text"),
    exp.Right: _of("text", "number", gives="text"),
    exp.Replace: _of("text", "text", "text", least=2, gives="text"),
    exp.RegexpReplace: _of("text", "text", "text", gives="text"),
    exp.RegexpExtract: _of("text", "text", "number", least=2, gives="text"),
    exp.StartsWith: _of("text", "text", gives="truth"),
    exp.EndsWith: _of("text", "text", gives="truth"),
    exp.Contains: _of("text", "text", gives="truth"),
    exp.MD5: _of("text", gives="text"),
    exp.SHA: _of("text", gives="text"),
    exp.Abs: _of("number", gives="number"),
    exp.Sign: _of("number", gives="number"),
    exp.Round: _of("number", "number", least=1, gives="number"),
    exp.Floor: _of("number", "number", least=1, gives="number"),
    exp.Ceil: _of("number", "number", least=1, gives="number"),
    exp.Sqrt: _of("number", gives="number"),
    exp.Cbrt: _of("number", gives="number"),
    exp.Exp: _of("number", gives="number"),
    exp.Ln: _of("number", gives="number"),
    exp.Pow: _of("number", "number", gives="number"),
    exp.Year: _of("time", gives="number"),
    exp.Month: _of("time", gives="number"),
    exp.Day: _of("time", gives="number"),
    exp.DayOfMonth: _of("time", gives="number"),
    exp.DayOfWeek: _of("time", gives="number"),
    exp.DayOfYear: _of("time", gives="number"),
    exp.Hour: _of("time", gives="number"),
    exp.Minute: _of("time", gives="number"),
    exp.Second: _of("time", gives="number"),
}

NAMES = sorted(
    {name.lower() for kind in FUNCTIONS if issubclass(kind, exp.Func) for name in kind.sql_names()}
    | {"dayofmonth", "dayofweek", "dayofyear", "date_trunc", "trunc", "extract", "concat_ws", "mod", "regexp_like"}
    | {"coalesce", "concat", "if", "nullif", "greatest", "least", "cast", "try_cast", "case"}
)
"""What an unknown name is compared with."""

CHANGING = {"rand", "random", "randn", "uuid", "now", "current_timestamp", "current_date", "current_time"} | {
    "localtimestamp", "localtime", "curdate", "current_timezone", "uniform", "randstr", "shuffle",
}  # fmt: skip
"""Functions that give something else each time."""

# Spark answers an unknown unit of TRUNC and DATE_TRUNC with NULL, so they are checked here.
DATE_UNITS = {"YEAR", "YYYY", "YY", "QUARTER", "MONTH", "MON", "MM", "WEEK"}
TIME_UNITS = DATE_UNITS | {"DAY", "DD", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"}
FIELDS = {"YEAR", "YEAROFWEEK", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFWEEK", "DAYOFWEEK_ISO", "DOW", "DOY"} | {
    "HOUR", "MINUTE", "SECOND",
}  # fmt: skip
INTERVAL_UNITS = {"YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"}
