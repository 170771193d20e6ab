"""The run whose classes are archived: a small script with the parts that most scripts have.

`python -m penstock.spark.archive_training FILE` runs it. Java writes FILE when the process has ended.
"""

import json
import sys
import tempfile
from pathlib import Path

from penstock.language.script import Script
from penstock.spark.api import run
from penstock.spark.class_archive import DEFAULT_OPTIONS, SILENT

ROWS = 100
SCRIPT = """
CREATE STREAM sent (src STRING, bytes INT, at TIMESTAMP) FROM files
  WITH (path = 'sent.json', format = 'json', timestamp = 'at');
CREATE STREAM seen (src STRING, code INT, at TIMESTAMP) FROM files
  WITH (path = 'seen.csv', format = 'csv', header = true, timestamp = 'at');
CREATE STREAM made (src STRING, n INT) FROM poisson WITH (rate = 1000, seconds = 1, speed = 10, seed = 1);
CREATE TABLE hosts (src STRING, owner STRING) FROM csv WITH (path = 'hosts.csv');
CREATE QUERY large AS SELECT src, bytes FROM sent WHERE bytes > 50;
CREATE QUERY small AS SELECT src, round(bytes / 1024.0, 2) AS kb, upper(src) AS name FROM sent WHERE bytes < 9;
CREATE QUERY first AS SELECT src, n FROM made WHERE n > 10 AND n < 20;
CREATE QUERY second AS SELECT src, n FROM made WHERE n > 30 AND n < 50;
CREATE QUERY owned AS SELECT s.src, s.bytes, h.owner FROM sent AS s, hosts AS h WHERE s.src = h.src;
CREATE QUERY pairs AS SELECT a.src, a.bytes, b.code
  FROM sent [RANGE 5 SECONDS] AS a, seen [ROWS 20] AS b WHERE a.src = b.src AND b.code >= 400;
"""


def train(archive: Path) -> None:
    """Run the script on a local Spark that writes its classes to an archive when it ends."""
    with tempfile.TemporaryDirectory(prefix="penstock-") as name:
        folder = Path(name)
        _write_files(folder)
        (folder / "training.sql").write_text(SCRIPT)
        options = f'{SILENT} "-XX:ArchiveClassesAtExit={archive}"'
        script = Script.read(folder / "training.sql")
        run(script, drain=True, out=folder / "results", conf={DEFAULT_OPTIONS: options}, spark_log=True)


def _write_files(folder: Path) -> None:
    times = [f"2024-01-01T00:00:{row * 0.5:09.6f}Z" for row in range(ROWS)]
    sent = [json.dumps({"src": f"src{row % 9}", "bytes": row, "at": at}) for row, at in enumerate(times)]
    seen = [f"src{row % 7},{200 + row * 3},{at}" for row, at in enumerate(times)]
    (folder / "sent.json").write_text("\n".join(sent))
    (folder / "seen.csv").write_text("\n".join(["src,code,at", *seen]))
    (folder / "hosts.csv").write_text("\n".join(["src,owner", *(f"src{each},owner{each}" for each in range(9))]))


if __name__ == "__main__":
    train(Path(sys.argv[1]))
