"""`penstock bench chart`: the README's chart from a recorded benchmark."""

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
            metavar="FILE", help="What `penstock bench stock --out DIR` recorded.", exists=True, dir_okay=False
        ),
    ] = Path("benchmarks/results/stock.json"),
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The picture, as SVG.", callback=in_a_folder)
    ] = Path("stock.svg"),
) -> None:
    """Draw throughput beside stock Structured Streaming from a recorded benchmark; nothing is run.

    Example: `penstock bench chart benchmarks/results/stock.json --out docs/images/stock.svg`
    """
    from penstock.report.chart import drawn

    try:
        picture = drawn(json.loads(results.read_text()))
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{results}: this is not a result of penstock bench stock ({error!r})") from error
    out.write_text(picture, encoding="utf-8")
    typer.echo(f"the chart is in {out}")
