"""Scripts with derived streams, taken apart: streams by name, conditions as SQL."""

from penstock.language import Script
from penstock.language.dialect import DIALECT
from tests.language.asking import DECLARED

MINUTES = "[RANGE 1 MINUTE SLIDE 1 MINUTE]"


def script(text):
    """The script of the declarations and more statements."""
    return Script.parse(DECLARED + text)


def composed(select):
    """The query q that a SELECT becomes, and the derived streams below it by name."""
    made = script(f"CREATE QUERY q AS {select};")
    return made.queries["q"], made.derived


def types(stream):
    """The names and types of a stream's columns."""
    return {column.name: column.type.name for column in stream.columns}


def derived_types(select):
    """The types of the columns of a derived stream."""
    return types(script(f"CREATE STREAM s AS {select};").streams["s"])


def reading(query):
    """What a query reads: alias, relation and window of each item of FROM."""
    return [(item.alias, item.relation.name, item.window and str(item.window)) for item in query.items]


def sql(trees):
    """Expressions as SQL."""
    return [DIALECT.generate(tree) for tree in trees]
