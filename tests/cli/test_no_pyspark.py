"""Commands that do not run a script load no pyspark: they start fast, and work where Spark is not installed."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMANDS = [
    ["explain", "examples/traffic.sql"],
    ["explain", "examples/goals.sql", "--json"],
    ["policies"],
    ["simulate", "examples/network.toml", "--json"],
    ["optimize", "examples/join.toml"],
    ["examples"],
    ["--help"],
]
PROBE = """
import json, sys
from penstock.cli.app import main
for arguments in json.loads(sys.argv[1]):
    sys.argv, code = ["penstock", *arguments], None
    try:
        main()
    except SystemExit as end:
        code = end.code
    loaded = sorted(name for name in sys.modules if name.split(".")[0] in ("pyspark", "py4j"))
    print(json.dumps({"command": arguments, "code": code or 0, "loaded": loaded}), file=sys.stderr)
"""


def test_commands_load_no_pyspark():
    """One process for all, as starting one takes longer than most commands; the first that loads it is the one."""
    run = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(COMMANDS)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found = [json.loads(line) for line in run.stderr.splitlines() if line.startswith('{"command"')]
    assert found == [{"command": each, "code": 0, "loaded": []} for each in COMMANDS], run.stderr
