"""Secrets: values of options that no message and no log line may show, such as passwords of a source."""

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

HIDDEN = "***"
"""Stands for a secret."""
_NAMES = r"(?:password|passwd|secret|token|credential|key|jaas|\bsas\b)"
_NAME = re.compile(_NAMES, re.IGNORECASE)
_OPTION = re.compile(
    rf"[(,]\s*(?P<quote>['\"`]?)[\w.`-]*?{_NAMES}[\w.`-]*?(?P=quote)"
    r"\s*(?:=?\s*(?P<value>'(?:[^']|'')*'?|\"(?:[^\"]|\"\")*\"?)|=\s*(?!true\b|false\b)(?P<bare>[a-z_][^\s,)]*))",
    re.IGNORECASE,
)
"""An option of such a name in a script, also one that is not written right."""
_PART = re.compile(r"((?:password|passwd|secret)\w*\s*=\s*)(\"[^\"]*\"|'[^']*'|[^\s\"';,&)]+)", re.IGNORECASE)
"""A secret inside of a value, as in a JAAS configuration or in the address of a database."""
_USER = re.compile(r"(://[^\s/:@'\"]*:)([^\s/@'\"]+)(?=@)")
"""A password before the host of an address."""
_SHORTEST = 4
"""Shorter values are not looked for in messages: they are everywhere."""
_HARMLESS = ("true", "false", "none", "null")

_known: set[str] = set()
"""The secrets of all scripts and sessions of this process."""


def is_secret(option: str) -> bool:
    """Whether the value of an option is not shown, by its name.

    >>> is_secret("kafka.sasl.jaas.config"), is_secret("subscribe")
    (True, False)
    """
    return _NAME.search(option) is not None


def shown_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as they may be shown.

    >>> shown_options({"subscribe": "logs", "api.token": "abc"})
    {'subscribe': 'logs', 'api.token': '***'}
    """
    return {name: HIDDEN if is_secret(name) else value for name, value in options.items()}


def keep_secret(options: Mapping[str, object]) -> None:
    """Remember the values of options whose names say that they are secret, for `masked`."""
    for name, value in options.items():
        if is_secret(name):
            text = str(value)
            parts = (match[2].strip("\"'") for pattern in (_PART, _USER) for match in pattern.finditer(text))
            _known.update(each for each in (text, *parts) if _is_long(each))


def masked(text: str, more: Iterable[str] = ()) -> str:
    """Return a text without the secrets that are known, and without what looks like one.

    >>> keep_secret({"kafka.ssl.keystore.password": "open sesame"})
    >>> masked("cannot open with 'open sesame'"), masked("login failed: user=me&password=1234")
    ("cannot open with '***'", 'login failed: user=me&password=***')
    >>> masked("no route to postgresql://me:1234@host/db")
    'no route to postgresql://me:***@host/db'
    """
    for secret in sorted({*_known, *more}, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    for pattern in (_PART, _USER):
        text = pattern.sub(lambda match: match[1] + HIDDEN, text)
    return text


def secrets_in(script: str) -> set[str]:
    """Return the secrets that a script has as it is written, also where it is not written right."""
    found = ((match["value"] or match["bare"]).strip("'\"") for match in _OPTION.finditer(script))
    return {each for each in found if _is_long(each)}


def _is_long(secret: str) -> bool:
    return len(secret) >= _SHORTEST and secret.lower() not in _HARMLESS


def blanked(script: str) -> str:
    """Return a script with a star for each character of a secret, so that all places stay the same.

    >>> blanked("FROM structured WITH (format = 'x', api.token = 'abc', n = 1)")
    "FROM structured WITH (format = 'x', api.token = '***', n = 1)"
    >>> blanked("WITH (url = 'jdbc:pg://me:abcd@host/db?password=efgh', tokens = abc)")
    "WITH (url = 'jdbc:pg://me:****@host/db?password=****', tokens = ***)"
    """
    for pattern, group in ((_OPTION, "value"), (_OPTION, "bare"), (_PART, 2), (_USER, 2)):
        script = pattern.sub(partial(_stars, group), script)
    return script


def _stars(group: str | int, match: re.Match[str]) -> str:
    value = match[group]
    if value is None:
        return match[0]
    return match[0][: match.start(group) - match.start()] + re.sub(r"[^\n'\"]", "*", value)
