"""Claims that were not measured: on the screen, on a page, in the count."""

from penstock.cli.reproduce.claims import claims_table, reasons
from penstock.cli.style import wide_console
from penstock.experiments.claim import Claim
from penstock.report.reproduction import page
from penstock.report.verdicts import counted

CLAIMS = [
    Claim("§1", "one", "is small", 1.0, high=2).as_dict(),
    Claim("§1", "two", "is small", 3.0, high=2, why="It is large.").as_dict(),
    Claim("§2", "three", "is small", None, high=2, why="It is large.", missing="No trace was given.").as_dict(),
]
DOCUMENT = {"paper": "BBDM03", "title": "Chain", "notes": [], "claims": CLAIMS, "figures": []}


def test_each_claim_has_one_of_three_verdicts():
    assert [(claim["holds"], claim["verdict"], claim["why"]) for claim in CLAIMS] == [
        (True, "holds", ""),
        (False, "does not hold", "It is large."),
        (None, "not measured", "No trace was given."),
    ]
    assert counted(CLAIMS) == "1 of 2 claims hold, 1 was not measured"
    assert counted(CLAIMS[:2]) == "1 of 2 claims hold"


def test_the_screen_says_what_was_not_measured_and_why():
    console = wide_console()
    with console.capture() as shown:
        console.print(claims_table(CLAIMS))
    lines = {line.split()[0]: line for line in shown.get().splitlines() if line.split()}
    assert lines["one"].split()[-1] == "yes"
    assert lines["two"].split()[-1] == "no"
    assert "not measured" in lines["three"]
    assert reasons(CLAIMS) == ["§1: It is large.", "§2: Not measured. No trace was given."]


def test_a_page_says_what_was_not_measured_and_why():
    found = page([DOCUMENT])
    assert "1 of 2 claims hold, 1 was not measured." in found
    row = next(row for row in found.split("<tr>") if ">three<" in row)
    assert "not measured</span>" in row
    assert "No trace was given." in row
    assert "does not hold" not in row
