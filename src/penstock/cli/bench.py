"""`penstock bench`: the benchmarks, one file each."""

import typer

from penstock.cli.bench_chart import chart
from penstock.cli.bench_deciding import deciding
from penstock.cli.bench_optimizer import optimizer
from penstock.cli.bench_orders import orders
from penstock.cli.bench_overload import overload
from penstock.cli.bench_policies import policies
from penstock.cli.bench_selectors import selectors
from penstock.cli.bench_simulator import simulator
from penstock.cli.bench_stock import stock

bench = typer.Typer(
    help="Benchmarks: what Penstock does beside others, on this machine.",
    epilog="Start with: penstock bench stock --quick",
    no_args_is_help=True,
)
for command in (stock, policies, deciding, optimizer, orders, overload, selectors, simulator, chart):
    bench.command()(command)


@bench.callback()
def bench_options() -> None:
    """Stand for the sub-app, which would otherwise be its only command; the help text is the app's."""
