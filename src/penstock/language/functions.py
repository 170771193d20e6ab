"""The functions a query may call: arguments, result and description of each, in one table.

Calls are passed to Spark as written. A signature is a line of words, one for each argument: a type family, or
several separated by |; a trailing `?` marks an optional argument, `*` one that may be repeated.

| word | what the argument is |
|---|---|
| `same` | like all others of this kind |
| `element`, `key` | like the elements of the array, or the keys of the map, that comes first |
| `lambda` | a condition on one element: `x -> x > 3` |
| `pattern` | a pattern for dates and times, such as 'yyyy-MM-dd' |
| `any` | anything |
"""

from collections.abc import Mapping
from dataclasses import dataclass

KINDS = ("same", "element", "key", "lambda", "pattern", "any")
"""Words of a signature that are not type families."""


@dataclass(frozen=True)
class Function:
    """A function: its arguments, its result, whether it fails on some of them, and one line of explanation.

    >>> FUNCTIONS["round"].count, FUNCTIONS["round"].accepts(3), FUNCTIONS["greatest"].count
    ('1 to 2 arguments', False, '2 or more arguments')
    """

    takes: str
    gives: str
    """A family, a nested type, `same`, or the type of the first argument (`first`), its element, keys, values."""
    about: str
    fails: bool = False
    """Whether it fails the query where there is no result, as a division by zero does."""

    def kind(self, place: int) -> tuple[str, ...]:
        """Return the possible types of the argument at that place."""
        words = self.takes.split()
        return tuple(words[min(place, len(words) - 1)].rstrip("?*").split("|"))

    @property
    def least(self) -> int:
        """The minimum number of arguments."""
        return sum(not word.endswith(("?", "*")) for word in self.takes.split())

    @property
    def most(self) -> int | None:
        """The maximum number of arguments; None if there is no limit."""
        return None if self.takes.endswith("*") else len(self.takes.split())

    def accepts(self, count: int) -> bool:
        """Return whether it can have that number of arguments."""
        return self.least <= count and (self.most is None or count <= self.most)

    @property
    def count(self) -> str:
        """The number of arguments, in words."""
        if self.most is None:
            return f"{self.least} or more arguments"
        if self.most == self.least:
            return f"{self.least} argument{'' if self.least == 1 else 's'}"
        return f"{self.least} to {self.most} arguments"


_of = Function

SECTIONS: Mapping[str, Mapping[str, Function]] = {
    "Strings": {
        "upper": _of("text", "text", "in upper case"),
        "lower": _of("text", "text", "in lower case"),
        "initcap": _of("text", "text", "each word with a capital letter"),
        "reverse": _of("text", "text", "reversed"),
        "length": _of("text", "number", "number of characters"),
        "char_length": _of("text", "number", "number of characters"),
        "trim": _of("text text?", "text", "without spaces around it; also `trim(BOTH 'x' FROM s)`"),
        "ltrim": _of("text text?", "text", "without spaces before it; of two, the first is removed"),
        "rtrim": _of("text text?", "text", "without spaces after it; of two, the first is removed"),
        "lpad": _of("text number text?", "text", "padded on the left, or cut, to a length"),
        "rpad": _of("text number text?", "text", "padded on the right, or cut, to a length"),
        "left": _of("text number", "text", "the first characters"),
        "right": _of("text number", "text", "the last characters"),
        "substring": _of("text number number?", "text", "a number of characters from a position, counted from 1"),
        "substr": _of("text number number?", "text", "the same as substring"),
        "substring_index": _of("text text number", "text", "the text before the n-th separator"),
        "replace": _of("text text text?", "text", "every occurrence replaced"),
        "translate": _of("text text text", "text", "characters replaced one by one"),
        "repeat": _of("text number", "text", "repeated a number of times"),
        "concat": _of("text text*", "text", "concatenated; also `a || b`"),
        "concat_ws": _of("text text*", "text", "concatenated, with the first between"),
        "instr": _of("text text", "number", "position of the second in the first, from 1; 0 if absent"),
        "locate": _of("text text number?", "number", "position of the first in the second, from 1; 0 if absent"),
        "startswith": _of("text text", "truth", "whether it begins with the second"),
        "endswith": _of("text text", "truth", "whether it ends with the second"),
        "contains": _of("text text", "truth", "whether it contains the second"),
        "split": _of("text text number?", "ARRAY<STRING>", "its parts between matches of a regular expression"),
        "split_part": _of("text text number", "text", "the n-th part between separators, from 1", fails=True),
        "regexp_replace": _of("text text text", "text", "every match of a regular expression replaced"),
        "regexp_extract": _of(
            "text text number?", "text", "a group of the first match, by default 1; '' if there is none"
        ),
        "levenshtein": _of("text text", "number", "number of characters in which they differ"),
        "ascii": _of("text", "number", "the code of the first character"),
    },
    "JSON, URLs, hashes and codes": {
        "get_json_object": _of("text text", "text", "a part of JSON: `get_json_object(js, '$.id.port')`"),
        "to_json": _of("array|map|struct", "text", "as JSON in a string"),
        "json_array_length": _of("text", "number", "the elements of a JSON array in a string"),
        "parse_url": _of("text text text?", "text", "HOST, PATH, QUERY, … of a URL", fails=True),
        "try_parse_url": _of("text text text?", "text", "the same, NULL where it is none"),
        "md5": _of("text|binary", "text", "checksum of 128 bits, as hexadecimal digits"),
        "sha1": _of("text|binary", "text", "checksum of 160 bits, as hexadecimal digits"),
        "sha": _of("text|binary", "text", "the same as sha1"),
        "sha2": _of("text|binary number", "text", "checksum of 224, 256, 384 or 512 bits"),
        "crc32": _of("text|binary", "number", "checksum of 32 bits"),
        "hash": _of("any any*", "number", "hash of 32 bits (Murmur 3)"),
        "xxhash64": _of("any any*", "number", "hash of 64 bits"),
        "base64": _of("text|binary", "text", "in base 64"),
        "unbase64": _of("text", "binary", "bytes from base 64", fails=True),
        "hex": _of("number|text|binary", "text", "in hexadecimal digits"),
        "unhex": _of("text", "binary", "bytes from hexadecimal digits", fails=True),
    },
    "Numbers": {
        "abs": _of("number", "number", "without its sign"),
        "sign": _of("number", "number", "-1, 0 or 1"),
        "signum": _of("number", "number", "-1, 0 or 1"),
        "round": _of("number number?", "number", "rounded to a number of digits, halves away from 0"),
        "bround": _of("number number?", "number", "rounded, halves to the even digit"),
        "floor": _of("number number?", "number", "rounded down"),
        "ceil": _of("number number?", "number", "rounded up"),
        "ceiling": _of("number number?", "number", "rounded up"),
        "sqrt": _of("number", "number", "square root"),
        "cbrt": _of("number", "number", "cube root"),
        "exp": _of("number", "number", "power of e"),
        "ln": _of("number", "number", "logarithm to base e"),
        "log": _of("number number?", "number", "logarithm to base e; of two arguments the first is the base"),
        "log2": _of("number", "number", "logarithm to base 2"),
        "log10": _of("number", "number", "logarithm to base 10"),
        "log1p": _of("number", "number", "logarithm of 1 + x"),
        "pow": _of("number number", "number", "power", fails=True),
        "power": _of("number number", "number", "power", fails=True),
        "pmod": _of("number number", "number", "remainder, never below 0", fails=True),
        "mod": _of("number number", "number", "remainder; also `a % b`", fails=True),
        "div": _of("number number", "number", "quotient without its fraction; also `a DIV b`", fails=True),
        "try_divide": _of("number number", "number", "quotient, NULL where the divisor is 0"),
        "bit_count": _of("number", "number", "bits that are 1"),
        "isnan": _of("number", "truth", "whether it is NaN"),
        "nanvl": _of("number number", "number", "the second if the first is NaN"),
        "sin": _of("number", "number", "sine"),
        "cos": _of("number", "number", "cosine"),
        "tan": _of("number", "number", "tangent"),
        "asin": _of("number", "number", "inverse sine"),
        "acos": _of("number", "number", "inverse cosine"),
        "atan": _of("number", "number", "inverse tangent"),
        "atan2": _of("number number", "number", "angle of the point (second, first)"),
        "sinh": _of("number", "number", "hyperbolic sine"),
        "cosh": _of("number", "number", "hyperbolic cosine"),
        "tanh": _of("number", "number", "hyperbolic tangent"),
        "radians": _of("number", "number", "from degrees"),
        "degrees": _of("number", "number", "from radians"),
    },
    "Times": {
        "year": _of("time", "number", "year"),
        "quarter": _of("time", "number", "quarter, 1 to 4"),
        "month": _of("time", "number", "month, 1 to 12"),
        "weekofyear": _of("time", "number", "ISO week of the year"),
        "day": _of("time", "number", "day of the month"),
        "dayofmonth": _of("time", "number", "day of the month"),
        "dayofweek": _of("time", "number", "day of the week, Sunday is 1"),
        "weekday": _of("time", "number", "day of the week, Monday is 0"),
        "dayofyear": _of("time", "number", "day of the year"),
        "hour": _of("time", "number", "hour"),
        "minute": _of("time", "number", "minute"),
        "second": _of("time", "number", "second"),
        "date_add": _of("time number", "time", "a number of days later"),
        "date_sub": _of("time number", "time", "a number of days earlier"),
        "datediff": _of("time time", "number", "days from the second to the first"),
        "add_months": _of("time number", "time", "a number of months later"),
        "months_between": _of("time time", "number", "months from the second to the first"),
        "last_day": _of("time", "time", "the last day of its month"),
        "date_format": _of("time pattern", "text", "as a string: `date_format(ts, 'yyyy-MM-dd HH:mm')`"),
        "to_date": _of("text|time pattern?", "time", "a date from a string or a time", fails=True),
        "to_timestamp": _of("text|time pattern?", "time", "a time from a string", fails=True),
        "try_to_timestamp": _of("text|time pattern?", "time", "the same, NULL where it is none"),
        "unix_timestamp": _of("text|time pattern?", "number", "whole seconds since 1970", fails=True),
        "from_unixtime": _of("number pattern?", "text", "seconds since 1970 as a string"),
        "timestamp_seconds": _of("number", "time", "a time from seconds since 1970", fails=True),
        "timestamp_millis": _of("number", "time", "a time from milliseconds since 1970", fails=True),
        "timestamp_micros": _of("number", "time", "a time from microseconds since 1970", fails=True),
        "unix_seconds": _of("time", "number", "whole seconds since 1970"),
        "unix_millis": _of("time", "number", "whole milliseconds since 1970"),
        "unix_micros": _of("time", "number", "microseconds since 1970"),
        "unix_date": _of("time", "number", "days since 1970"),
    },
    "Arrays, maps and structs": {
        "size": _of("array|map", "number", "number of elements"),
        "cardinality": _of("array|map", "number", "number of elements"),
        "get": _of("array number", "element", "an element, the first is 0; NULL where there is none"),
        "element_at": _of("array|map key", "element", "an element, the first is 1, or a map's value", fails=True),
        "try_element_at": _of("array|map key", "element", "the same, NULL where there is none"),
        "array_contains": _of("array element", "truth", "whether it is an element"),
        "array_position": _of("array element", "number", "its position, from 1; 0 if absent"),
        "arrays_overlap": _of("array array", "truth", "whether they have an element in common"),
        "array_join": _of("array text text?", "text", "joined with the second between; the third replaces NULL"),
        "array_min": _of("array", "element", "the smallest element"),
        "array_max": _of("array", "element", "the largest element"),
        "array_distinct": _of("array", "first", "each element once"),
        "sort_array": _of("array truth?", "first", "sorted, descending if the second is FALSE"),
        "filter": _of("array lambda", "first", "the elements that meet a condition: `filter(a, x -> x > 3)`"),
        "exists": _of("array lambda", "truth", "whether an element meets a condition: `exists(a, x -> x > 3)`"),
        "forall": _of("array lambda", "truth", "whether all elements meet a condition"),
        "map_keys": _of("map", "keys", "an array of the keys"),
        "map_values": _of("map", "values", "an array of the values"),
        "map_contains_key": _of("map key", "truth", "whether it is a key"),
    },
    "Of any type": {
        "coalesce": _of("same same*", "same", "the first that is not NULL"),
        "nvl": _of("same same", "same", "the second if the first is NULL"),
        "ifnull": _of("same same", "same", "the second if the first is NULL"),
        "nullif": _of("same same", "same", "the first, NULL if they are equal"),
        "greatest": _of("same same same*", "same", "the largest that is not NULL"),
        "least": _of("same same same*", "same", "the smallest that is not NULL"),
        "isnull": _of("any", "truth", "whether it is NULL; also `x IS NULL`"),
        "isnotnull": _of("any", "truth", "whether it is not NULL; also `x IS NOT NULL`"),
    },
}

FUNCTIONS: Mapping[str, Function] = {name: each for section in SECTIONS.values() for name, each in section.items()}

SPECIAL = {
    "if": "3 arguments: a condition and two results",
    "date_trunc": "2 arguments: a unit such as 'HOUR' and a time",
    "trunc": "2 arguments: a date and a unit such as 'MONTH'",
    "regexp_like": "2 arguments: a string and a pattern",
    "mod": "2 arguments",
    "div": "2 arguments",
}
"""Functions with a syntax or a check of their own, and their arguments in words."""

NAMES = sorted({*FUNCTIONS, *SPECIAL, "cast", "case", "extract", "try_cast"})
"""The names that are suggested for an unknown one."""

CHANGING = {"rand", "random", "randn", "uuid", "now", "current_timestamp", "current_date", "current_time"} | {
    "localtimestamp", "localtime", "curdate", "current_timezone", "uniform", "randstr", "shuffle", "current_user",
    "monotonically_increasing_id", "input_file_name", "spark_partition_id", "session_user", "user",
}  # fmt: skip
"""Functions whose result differs from call to call."""

_NO_INET = (
    "Spark has no functions for IP addresses. Compare them as strings: ip LIKE '10.0.%', or split_part(ip, '.', 1)"
)
_JSON = "Write get_json_object(js, '$.name'), or declare the column with its type: id STRUCT<port: INT>"
INSTEAD = {
    **dict.fromkeys(("inet", "inet_aton", "inet_ntoa", "inet6_aton", "inet6_ntoa", "ip_to_int"), _NO_INET),
    **dict.fromkeys(("cidr", "cidr_match", "ip_in_range", "is_private_ip", "netmask"), _NO_INET),
    **dict.fromkeys(("json_extract", "json_value", "json_query", "from_json", "json_tuple", "parse_json"), _JSON),
    **dict.fromkeys(("strftime", "to_char", "format_datetime"), "Write date_format(ts, 'yyyy-MM-dd HH:mm:ss')"),
    **dict.fromkeys(("strptime", "str_to_date"), "Write to_timestamp(text, 'yyyy-MM-dd HH:mm:ss')"),
    **dict.fromkeys(("epoch", "to_epoch", "unixepoch"), "Write unix_timestamp(ts)"),
    **dict.fromkeys(
        ("date_diff", "dateadd", "date_part", "datepart"), "Write datediff, date_add, EXTRACT(HOUR FROM ts)"
    ),
    "len": "Write length(text)",
    "charindex": "Write locate(part, text)",
    "strpos": "Write instr(text, part)",
    "transform": "It is not implemented yet; exists, forall and filter are",
    "explode": "A query returns one row for each combination of rows; array_contains and exists search an array",
}
"""What to write instead of functions that other systems have."""

# For an unknown unit, TRUNC and DATE_TRUNC of Spark return NULL, so units are checked here.
DATE_UNITS = {"YEAR", "YYYY", "YY", "QUARTER", "MONTH", "MON", "MM", "WEEK"}
TIME_UNITS = DATE_UNITS | {"DAY", "DD", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"}
FIELDS = {"YEAR", "YEAROFWEEK", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFWEEK", "DAYOFWEEK_ISO", "DOW", "DOY"} | {
    "HOUR", "MINUTE", "SECOND",
}  # fmt: skip
_MONTHS, _MICROS = 2**31 - 1, 2**63 - 1
INTERVAL_UNITS = {"YEAR": _MONTHS // 12, "MONTH": _MONTHS} | {
    unit: _MICROS // micros
    for unit, micros in (
        ("WEEK", 604_800_000_000), ("DAY", 86_400_000_000), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000),
        ("SECOND", 1_000_000), ("MILLISECOND", 1000), ("MICROSECOND", 1),
    )
}  # fmt: skip
"""The units of intervals, with the largest amount of each that Spark's intervals can hold."""
PATTERN_LETTERS = set("GyMLdQqDEaFhKkHmsSVzOXx")
"""Letters of a pattern for dates and times that Spark knows."""
