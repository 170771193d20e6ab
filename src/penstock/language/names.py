"""Comparison and quoting of names in a script."""

import unicodedata


def name_key(name: str) -> str:
    """Return the key that two spellings of one name share.

    Spark ignores the case of names, as Java's `toLowerCase` does: `GRÖßE` is `größe`, `GRÖSSE` is not. Spark
    distinguishes an `é` written as one character and as two, which nobody can see; here both are the same.

    >>> name_key("GRÖßE") == name_key("größe"), name_key("GRÖSSE") == name_key("größe")
    (True, False)
    >>> name_key("e\u0301") == name_key("É")
    True
    """
    return name if name.isascii() and name.islower() else unicodedata.normalize("NFC", name.lower())


def field_key(name: str) -> str:
    """Return the key that two fields of a struct share if Spark cannot tell them apart.

    Spark compares fields character by character, as Java's `equalsIgnoreCase` does, and so distinguishes fewer
    fields than columns.

    >>> field_key("ſize") == field_key("SIZE"), field_key("İd") == field_key("id"), field_key("ß") == "ss"
    (True, True, False)
    """
    return unicodedata.normalize("NFC", "".join(map(_folded, name)))


def _folded(character: str) -> str:
    upper = character.upper()
    return (upper if len(upper) == 1 else character).lower()[0]


def quoted(name: str) -> str:
    """Return a column's name in backticks, as SQL writes it.

    >>> quoted("a `b`")
    '`a ``b```'
    """
    return f"`{name.replace('`', '``')}`"


def named(expression: str, name: str) -> str:
    """Return the SQL of a column with its name.

    >>> named("v + 1", "a `b`")
    'v + 1 AS `a ``b```'
    """
    return f"{expression} AS {quoted(name)}"
