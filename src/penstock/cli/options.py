"""Options that commands share, and commands that take their options as one value."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from penstock.cli.style import in_a_folder
from penstock.errors import RunError

_Options = TypeVar("_Options")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")]
ReportFolder = Annotated[
    Path, typer.Option("--out", help="Write the figures and a report here.", metavar="DIR", file_okay=False)
]


def page_option(text: str) -> object:
    """Return the option `--report FILE.html` with this help; the folder of the file must exist."""
    return typer.Option(help=text, metavar="FILE.html", dir_okay=False, callback=in_a_folder)


BENCHMARK_RESULTS = Path("benchmarks/results")


def takes(options: type[_Options]) -> Callable[[Callable[[_Options], None]], Callable[..., None]]:
    """Return a decorator for a command whose options are the fields of a dataclass.

    Typer sees each field as a parameter, in the order of the fields; the command gets one object. A field that is
    itself such a dataclass stands for its own fields: a group of options that several commands have.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Range:
    ...     first: int
    ...     last: int = 9
    >>> @takes(Range)
    ... def count(options: Range) -> None:
    ...     print(options)
    >>> count(first=3)
    Range(first=3, last=9)
    """
    parameters = list(_parameters(options))

    def decorate(command: Callable[[_Options], None]) -> Callable[..., None]:
        @wraps(command)
        def called(**given: object) -> None:
            command(_filled(options, given))

        called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        return called

    return decorate


def _parameters(options: type) -> Iterator[Parameter]:
    for field, hint in _fields(options):
        if _is_group(hint):
            yield from _parameters(hint)
        else:
            default = Parameter.empty if field.default is MISSING else field.default
            yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _filled(options: type[_Options], given: Mapping[str, object]) -> _Options:
    """Return the dataclass with the given values, and its groups with theirs."""
    values: dict[str, object] = {}
    for field, hint in _fields(options):
        if _is_group(hint):
            values[field.name] = _filled(hint, given)
        elif field.name in given:
            values[field.name] = given[field.name]
    return options(**values)


def _is_group(hint: object) -> bool:
    return isinstance(hint, type) and is_dataclass(hint)


def _fields(options: type) -> Iterator[tuple[Field[Any], Any]]:
    hints = get_type_hints(options, include_extras=True)
    return ((field, hints[field.name]) for field in fields(options))


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """Options of commands that start Spark: its settings, its memory, packages."""

    conf: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="A Spark setting, e.g. spark.sql.shuffle.partitions=8; repeatable."
        ),
    ] = None
    driver_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Heap of Spark's driver, e.g. 4g. Default: a quarter of the memory."),
    ] = None
    packages: Annotated[
        list[str] | None, typer.Option(metavar="G:A:V", help="A package that Spark fetches; repeatable.")
    ] = None

    def settings(self, remote: str | None = None) -> dict[str, str]:
        """Return the settings of Spark that the options give; raise `BadParameter` for a wrong one."""
        from penstock.spark.conf import HEAP, PACKAGES

        found: dict[str, str] = {}
        for each in self.conf or ():
            key, equals, value = each.partition("=")
            if not equals:
                raise typer.BadParameter(f"{each!r} has no value; expected KEY=VALUE", param_hint="--conf")
            found[key.strip()] = value.strip()
        _check("--conf", found, remote)
        if self.driver_memory is not None:
            _check("--driver-memory", {HEAP: self.driver_memory}, remote)
            found[HEAP] = self.driver_memory
        if self.packages:
            joined = ",".join(self.packages)
            _check("--packages", {PACKAGES: joined}, remote)
            found[PACKAGES] = ",".join(filter(None, (found.get(PACKAGES), joined)))
        return found


def _check(option: str, conf: dict[str, str], remote: str | None) -> None:
    from penstock.spark.conf import check_conf

    try:
        check_conf(conf, remote)
    except RunError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
