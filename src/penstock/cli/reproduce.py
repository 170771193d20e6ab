"""`penstock reproduce`: the papers' experiments, one file each."""

import typer
from typer.core import TyperGroup

from penstock.cli.reproduce_an04 import an04


class _Papers(TyperGroup):
    """The papers, whose names are found in whatever case they are written."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        papers = self.list_commands(ctx)
        named = next((place for place, each in enumerate(args) if not each.startswith("-")), None)
        if named is not None:
            if args[named].upper() not in papers:
                ctx.fail(f"there is no paper {args[named]!r} to reproduce; there is {', '.join(papers)}")
            args = [*args[:named], args[named].upper(), *args[named + 1 :]]
        return super().parse_args(ctx, args)


reproduce = typer.Typer(
    cls=_Papers,
    help="The papers' experiments, run again: each published claim beside what is measured here.",
    epilog="Start with: penstock reproduce AN04",
    no_args_is_help=True,
)
reproduce.command("AN04")(an04)


@reproduce.callback()
def reproduce_options() -> None:
    """Stand for the sub-app, which would otherwise be its only command; the help text is the app's."""
