"""The `penstock` command. Exit codes: 0 success, 1 failure or a comparison that does not hold, 2 a wrong call."""

import io
import os
import sys
import threading
from typing import Annotated

import typer

import penstock
from penstock.cli.bench.app import bench
from penstock.cli.doctor import doctor
from penstock.cli.examples import examples
from penstock.cli.explain.command import explain
from penstock.cli.init import init
from penstock.cli.optimize import optimize
from penstock.cli.policies import policies
from penstock.cli.reproduce.app import reproduce
from penstock.cli.run.command import run
from penstock.cli.simulate.command import simulate
from penstock.cli.state import state
from penstock.cli.warm import warm
from penstock.errors import PenstockError

TRACEBACKS = "PENSTOCK_TRACEBACKS"
"""Environment variable: if it is set, unexpected errors are shown with their traceback."""

app = typer.Typer(
    help="Penstock schedules many continuous queries over bursty streams: it decides which runs next.",
    epilog="Start with: penstock doctor; penstock run examples/first.sql; for your own data, penstock init FILE",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (init, run, state, explain, simulate, optimize, policies, examples, doctor, warm):
    app.command()(command)
app.add_typer(reproduce, name="reproduce")
app.add_typer(bench, name="bench")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.callback()
def penstock_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options before the command; the help text is the app's."""


def main() -> None:
    """Run the command; every error is printed as one sentence."""
    threading.excepthook = _report_thread
    sys.unraisablehook = lambda unraisable: None  # py4j objects whose Java process has ended
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows question marks
    try:
        app()
        sys.stdout.flush()
    except (PenstockError, OSError) as error:
        typer.echo(f"penstock: {_masked(str(error))}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if os.environ.get(TRACEBACKS):
            raise
        typer.echo(f"penstock: internal error: {_described(error)}; {TRACEBACKS}=1 shows where", err=True)
        sys.exit(1)


def _report_thread(broken: threading.ExceptHookArgs) -> None:
    if os.environ.get(TRACEBACKS):
        threading.__excepthook__(broken)
    elif broken.exc_value is not None:
        typer.echo(f"penstock: a background thread failed: {_described(broken.exc_value)}", err=True)


def _described(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [""]
    return _masked(f"{type(error).__name__}: {lines[0][:300]}".rstrip(": "))


def _masked(text: str) -> str:
    from penstock.language.secrets import masked  # imports more than most commands need

    return masked(text)


if __name__ == "__main__":
    main()
