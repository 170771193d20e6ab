"""When two names of a script are the same name."""

import unicodedata


def name_key(name: str) -> str:
    """Return what two spellings of one name have in common.

    Spark compares names whatever their case, as Java's `toLowerCase` does: `GRÖßE` is `größe`, `GRÖSSE` is not.
    Spark tells apart an `é` written as one character and as two, which nobody can see; here both are the same.

    >>> name_key("GRÖßE") == name_key("größe"), name_key("GRÖSSE") == name_key("größe")
    (True, False)
    >>> name_key("e\u0301") == name_key("É")
    True
    """
    return name if name.isascii() and name.islower() else unicodedata.normalize("NFC", name.lower())
