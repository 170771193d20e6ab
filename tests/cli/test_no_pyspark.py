"""Commands that do not run a script load no pyspark: they start fast, and work where Spark is not installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROBE = """
import json, sys
from penstock.cli.app import main
sys.argv = ["penstock", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as end:
    code = end.code
loaded = sorted(name for name in sys.modules if name.split(".")[0] in ("pyspark", "py4j"))
print(json.dumps({"code": code or 0, "loaded": loaded}), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "examples/traffic.sql"],
        ["explain", "examples/goals.sql", "--json"],
        ["policies"],
        ["simulate", "examples/network.toml", "--json"],
        ["optimize", "examples/join.toml"],
        ["examples"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_commands_load_no_pyspark(arguments):
    run = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(arguments)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = json.loads(run.stderr.strip().splitlines()[-1])
    assert found == {"code": 0, "loaded": []}, run.stderr
