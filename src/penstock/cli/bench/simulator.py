"""`penstock bench simulator`: decisions per second, compared with SimPy, a plain reference and a scan."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.bench.outcome import conclude, share_bar
from penstock.cli.options import AsJson, page_option
from penstock.cli.style import COMPACT, NONE, size

TITLES = {
    "compiled": "Million decisions per second, compiled",
    "scan": "Million decisions per second, compiled scan; ÷: compiled ÷ scan",
    "simpy": "Thousand decisions per second, SimPy; ÷: compiled ÷ SimPy",
    "plain": "Decisions per second, plain Python; ÷: compiled ÷ plain",
}
UNITS = {"compiled": 1e6, "scan": 1e6, "simpy": 1e3, "plain": 1.0}


def simulator(
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer timings, few with 5,000 queries, no long run: under a minute."),
    ] = False,
    report: Annotated[
        Path | None,
        page_option("Write a page with a plot of the rates."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the simulator's decisions per second under every policy, with 50, 500 and 5,000 queries.

    Compared with the plain reference in Python, for policies by age with a compiled scan of all queries, and with
    a SimPy model of the same system, if SimPy is installed (pip install simpy). A run of a million packets
    measures memory. Takes about 5 minutes of one core, and a minute more if the simulator was never compiled.
    Exits with 1 if a required comparison does not hold.

    Examples: `penstock bench simulator --quick`; `penstock bench simulator --report simulator.html`;
    `penstock bench simulator --json | jq '.comparisons[] | {claim, measured, holds}'`
    """
    from penstock.bench.simulator.claims import ADVICE
    from penstock.bench.simulator.run import measured

    with share_bar() as on_stage:
        found = measured(quick=quick, on_stage=on_stage)
    if report:
        from penstock.report.simulator import page

        report.write_text(page(found))
    parts: list[RenderableType] = [
        *_tables(found),
        f"{found['population']}, load {found['load']:g}; {found['taken']}.",
    ]
    if found["simpy"] is None:
        parts.append(Text(f"{ADVICE}."))
    if found["memory"]:
        parts.append(_long(found["memory"]))
    conclude(found, parts, f"{report} has a plot." if report else "", as_json=as_json)


def _tables(found: Mapping[str, Any]) -> Iterator[Table]:
    """Yield a table for each system: its rates, and the compiled simulator's rates divided by them."""
    rates = _by_policy(found)
    for system, title in TITLES.items():
        rows = {policy: some for policy, some in rates.items() if any(key[1] == system for key in some)}
        if not rows:
            continue
        table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
        table.add_column("policy", no_wrap=True)
        signs = ("",) if system == "compiled" else ("", "÷ ")
        for sign in signs:
            for queries in found["queries"]:
                table.add_column(f"{sign}{queries:,}", justify="right", no_wrap=True, min_width=6)
        for policy, some in rows.items():
            own = [some.get((queries, system)) for queries in found["queries"]]
            fast = [some.get((queries, "compiled")) for queries in found["queries"]]
            times = [a / b if a and b else None for a, b in zip(fast, own, strict=True)]
            cells = [_number(rate and rate / UNITS[system]) for rate in own]
            table.add_row(policy, *cells, *(_number(each) for each in times if len(signs) == 2))
        yield table


def _by_policy(found: Mapping[str, Any]) -> dict[str, dict[tuple[int, str], float]]:
    rates: dict[str, dict[tuple[int, str], float]] = {}
    for each in found["rates"]:
        rates.setdefault(each["policy"], {})[each["queries"], each["system"]] = each["best"]
    return rates


def _number(value: float | None) -> str | Text:
    """Return a number with two or three digits.

    >>> _number(12345.6), _number(12.34), _number(0.0123)
    ('12,346', '12.3', '0.012')
    """
    if value is None:
        return NONE
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2g}"


def _long(memory: Mapping[str, Any]) -> str:
    peak = "unknown" if memory["peak_bytes"] is None else size(memory["peak_bytes"])
    return (
        f"{memory['packets']:,} packets, {memory['queries']} queries, {memory['policy']}: "
        f"{memory['decisions']:,} decisions in {memory['seconds']:.0f} s, peak memory {peak}.\n"
    )
