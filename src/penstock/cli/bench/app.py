"""`penstock bench`: the group of benchmark commands."""

import typer

from penstock.cli.bench.aggregates import aggregates
from penstock.cli.bench.chart import chart
from penstock.cli.bench.deciding import deciding
from penstock.cli.bench.optimizer import optimizer
from penstock.cli.bench.orders import orders
from penstock.cli.bench.overload import overload
from penstock.cli.bench.policies import policies
from penstock.cli.bench.restart import restart
from penstock.cli.bench.scale import scale
from penstock.cli.bench.selectors import selectors
from penstock.cli.bench.simulator import simulator
from penstock.cli.bench.start import start
from penstock.cli.bench.stock import stock

bench = typer.Typer(
    help="Benchmarks on this machine: Penstock compared with other systems.",
    epilog="Start with: penstock bench stock --quick",
    no_args_is_help=True,
)
_COMMANDS = (
    stock,
    scale,
    aggregates,
    policies,
    deciding,
    optimizer,
    orders,
    overload,
    selectors,
    simulator,
    start,
    restart,
    chart,
)
for command in _COMMANDS:
    bench.command()(command)


@bench.callback()
def bench_options() -> None:
    """Make `bench` a group even if it has one command; the help text is the app's."""
