"""Queries with aggregates, taken apart: the SQL of their keys, aggregates, HAVING and results."""

import re

from penstock.language import Script
from penstock.language.dialect import DIALECT
from tests.language.asking import DECLARED

SPELLED = {
    "PACKETS": "packets [RANGE 10 SECONDS SLIDE 1 SECOND]",
    "KINDS": "kinds [ROWS 100 SLIDE 10]",
    "LOGS": "logs [RANGE 1 MIN SLIDE 1 MIN]",
    "TIMES": "times [RANGE 1 MIN SLIDE 1 MIN]",
}
TIMES = "CREATE STREAM times (window_start TIMESTAMP, v INT, host STRING) FROM poisson WITH (rate = 1);\n"


def written(select):
    """A SELECT over streams with windows, which are named in capitals to keep lines short."""
    for short, whole in SPELLED.items():
        select = re.sub(rf"\b{short}\b", whole, select)
    return select


def sql(tree):
    return None if tree is None else DIALECT.generate(tree)


def bound(select):
    """The query that a SELECT becomes."""
    return Script.parse(f"{DECLARED}{TIMES}CREATE QUERY q AS {written(select)};").queries["q"]


def keys(select):
    return [sql(key) for key in bound(select).aggregation.keys]


def calls(select):
    """The aggregates of a query: function, arguments, condition."""
    return [
        (
            call.function,
            *map(sql, call.arguments),
            *([] if call.condition is None else [f"IF {sql(call.condition)}"]),
        )
        for call in bound(select).aggregation.calls
    ]


def having(select):
    return [sql(condition) for condition in bound(select).aggregation.having]


def outputs(select):
    return {output.name: sql(output.expression) for output in bound(select).outputs}
