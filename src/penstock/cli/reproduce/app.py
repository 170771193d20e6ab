"""`penstock reproduce`: the group of commands, one per paper."""

import typer
from typer.core import TyperGroup

from penstock.cli.reproduce.an04 import an04
from penstock.cli.reproduce.simulated import bbdm03, every_paper, jc03, p04, sclp08


class _Papers(TyperGroup):
    """The group of papers, whose names are not case-sensitive."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        papers = self.list_commands(ctx)
        named = next((place for place, each in enumerate(args) if not each.startswith("-")), None)
        if named is not None:
            paper = next((each for each in papers if each.upper() == args[named].upper()), None)
            if paper is None:
                ctx.fail(f"there is no paper {args[named]!r} to reproduce; there are {', '.join(papers)}")
            args = [*args[:named], paper, *args[named + 1 :]]
        return super().parse_args(ctx, args)


reproduce = typer.Typer(
    cls=_Papers,
    help="The papers' experiments, run again: each published claim compared with what is measured here.",
    epilog="Start with: penstock reproduce AN04, or penstock reproduce all --quick",
    no_args_is_help=True,
)
reproduce.command("AN04")(an04)
reproduce.command("BBDM03")(bbdm03)
reproduce.command("JC03")(jc03)
reproduce.command("P04")(p04)
reproduce.command("SCLP08")(sclp08)
reproduce.command("all")(every_paper)
