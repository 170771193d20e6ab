"""The `penstock` command. Exit codes: 0 good, 1 the work failed or a comparison did not hold, 2 a wrong call."""

import sys
from typing import Annotated

import typer

import penstock
from penstock.cli.examples import examples
from penstock.cli.policies import policies
from penstock.errors import PenstockError

app = typer.Typer(
    help="Penstock runs many continuous SQL queries over bursty streams and decides which runs next.",
    epilog="Start with: penstock examples",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(examples)
app.command()(policies)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; a refusal is one sentence, not a traceback."""
    try:
        app()
    except PenstockError as error:
        typer.echo(f"penstock: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
