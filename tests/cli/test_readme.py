"""The README and the documentation say what is there: links, the first script, commands."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.language import Script

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not target.startswith(("http:", "https:", "#")):
            assert (page.parent / target.split("#")[0]).exists(), target


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text()
    missing = [page.name for page in ROOT.glob("docs/*.md") if f"({page.name})" not in index]
    assert missing == ["README.md"]


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/images/architecture.svg"])
def test_the_architecture_names_files_that_exist(page):
    named = set(re.findall(r"[a-z_]+(?:/[a-z_]+)+\.py", (ROOT / page).read_text()))
    assert len(named) > 15
    assert {name for name in named if not any((ROOT / at / name).exists() for at in ("", "src/penstock"))} == set()


def test_the_readmes_script_is_the_example():
    sql = re.search(r"```sql\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert sql is not None
    assert sql[1] == (ROOT / "examples" / "first.sql").read_text()
    assert list(Script.parse(sql[1]).queries) == ["big", "small", "failures", "echoes"]


def test_the_readmes_commands_exist():
    said = CliRunner().invoke(app, ["--help"]).output
    for command in set(re.findall(r"penstock (\w+)", (ROOT / "README.md").read_text())):
        assert command in said, command
