"""`penstock bench chart`: draws the README's chart from a recorded benchmark."""

import json
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.style import in_a_folder
from penstock.errors import RunError


def chart(
    results: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The JSON file of `penstock bench stock`.", exists=True, dir_okay=False
        ),
    ] = Path("benchmarks/results/stock.json"),
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The SVG file to write.", callback=in_a_folder)
    ] = Path("stock.svg"),
) -> None:
    """Draw throughput compared with stock Structured Streaming from a recorded benchmark; nothing is run.

    Example: `penstock bench chart benchmarks/results/stock.json --out docs/images/stock.svg`
    """
    from penstock.report.chart import drawn

    try:
        picture = drawn(json.loads(results.read_text()))
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{results}: not a result of penstock bench stock ({error!r})") from error
    out.write_text(picture, encoding="utf-8")
    typer.echo(f"the chart is in {out}")
