"""Options of commands that start Spark: its settings, its memory, packages."""

from typing import Annotated

import typer

from penstock.errors import RunError

Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf", metavar="KEY=VALUE", help="A setting of Spark, e.g. spark.sql.shuffle.partitions=8; repeatable."
    ),
]
DriverMemory = Annotated[
    str | None,
    typer.Option(
        "--driver-memory", metavar="SIZE", help="Heap of Spark's driver, e.g. 4g; else a quarter of the memory."
    ),
]
Packages = Annotated[
    list[str] | None,
    typer.Option("--packages", metavar="G:A:V", help="A package that Spark fetches; repeatable."),
]


def spark_conf(
    conf: list[str] | None, driver_memory: str | None, packages: list[str] | None, remote: str | None = None
) -> dict[str, str]:
    """Return the settings that the options give; what cannot be is a wrong call."""
    from penstock.spark.conf import HEAP, PACKAGES

    found: dict[str, str] = {}
    for each in conf or ():
        key, equals, value = each.partition("=")
        if not equals:
            raise typer.BadParameter(f"{each!r} has no value; expected KEY=VALUE", param_hint="--conf")
        found[key.strip()] = value.strip()
    _checked("--conf", found, remote)
    if driver_memory is not None:
        _checked("--driver-memory", {HEAP: driver_memory}, remote)
        found[HEAP] = driver_memory
    if packages:
        joined = ",".join(packages)
        _checked("--packages", {PACKAGES: joined}, remote)
        found[PACKAGES] = ",".join(filter(None, (found.get(PACKAGES), joined)))
    return found


def _checked(option: str, conf: dict[str, str], remote: str | None) -> None:
    from penstock.spark.conf import check_conf

    try:
        check_conf(conf, remote)
    except RunError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
