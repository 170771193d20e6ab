"""The archive of Java's loaded classes, which shortens the start of a local Spark (class data sharing).

Java reads Spark's classes from hundreds of jars, checks them and links them: seconds for each start. An archive
holds the result, and Java maps it into memory. `archive_making` makes one; this file finds and checks it.

An archive belongs to one Java and one folder of jars. Java itself rejects an archive of another class path and
continues without it. But it crashes on one that is cut off, so the file is checked here before every use.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from penstock.spark.java import java_path

SWITCH = "PENSTOCK_CLASS_ARCHIVE"
"""Environment variable: `off` uses and makes no archive, `use` makes none after a run."""
DEFAULT_OPTIONS, EXTRA_OPTIONS = "spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"
ARCHIVE, RECORD = "classes.jsa", "about.json"
_OWN = re.compile(r"SharedArchiveFile|ArchiveClassesAtExit|-Xshare")
"""Options of Java by which users share classes in their own way."""
_OTHER_START = re.compile(r"extraClassPath|driver-class-path|properties-file|defaultJavaOptions")
"""Arguments of Spark by which it has other classes, or loses the option for the archive."""
SILENT = "-Xlog:disable -Xlog:all=warning:stderr"
"""Options of Java that keep its warnings from stdout, where results go."""


@dataclass(frozen=True)
class Record:
    """What is written beside an archive, to recognise one that is broken or no longer needed."""

    size: int
    modified_ns: int
    crc32: int
    java: str
    home: str


def mode() -> Literal["auto", "use", "off"]:
    """Return what the environment variable says: make and use archives, only use them, or neither."""
    given = os.environ.get(SWITCH, "").strip().lower()
    if given in ("off", "0", "no", "false"):
        return "off"
    return "use" if given == "use" else "auto"


def archives_folder() -> Path:
    """Return the folder of all archives: in `XDG_CACHE_HOME`, or in `~/.cache`."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(given) if os.path.isabs(given) else Path(os.path.expanduser("~")) / ".cache"
    return cache / "penstock" / "classes"


def spark_home() -> Path | None:
    """Return the folder of Spark, without loading PySpark."""
    given = os.environ.get("SPARK_HOME")
    if given:
        return Path(given)
    found = find_spec("pyspark")
    return Path(found.origin).parent if found and found.origin else None


def archive_folder() -> Path | None:
    """Return the folder of the archive for this Java, Spark and Penstock; None if one of them is missing."""
    java, home = java_path(), spark_home()
    if java is None or home is None or not (home / "jars").is_dir():
        return None
    program = Path(java).resolve()
    release = _text(program.parent.parent / "release")
    found = re.search(r'^JAVA_VERSION="([\w.+-]+)"', release, re.MULTILINE)
    jars = sorted((each.name, _stamp(each)) for each in (home / "jars").iterdir())
    all_of_it = repr((str(program), _stamp(program), release, str(home), jars))
    key = hashlib.sha256(all_of_it.encode()).hexdigest()[:12]
    versions = {
        "java": found[1] if found else "unknown",
        "spark": version("pyspark"),
        "penstock": version("penstock"),
    }
    return archives_folder() / "-".join([*(f"{name}-{each}" for name, each in versions.items()), key])


def ready_archive(folder: Path | None) -> Path | None:
    """Return the archive in a folder; a broken one is removed, and None is returned."""
    if folder is None or not folder.is_dir():
        return None
    path = folder / ARCHIVE
    try:
        record = Record(**json.loads((folder / RECORD).read_text()))
        found = path.stat()
        intact = found.st_size == record.size and (
            found.st_mtime_ns == record.modified_ns or checksum(path) == record.crc32
        )
        if intact and os.access(path, os.R_OK):
            if found.st_mtime_ns != record.modified_ns:  # it was copied: no checksum next time
                write_record(folder, record.java, record.home)
            return path
    except (OSError, ValueError, TypeError):
        pass
    remove_archive(folder)
    return None


def remove_archive(folder: Path) -> None:
    """Remove an archive. It is moved away first, so that nobody finds half of it."""
    aside = folder.with_name(f"{folder.name}.removed-{os.getpid()}")
    with contextlib.suppress(OSError):
        folder.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def reason_against(conf: Mapping[str, str], master: str) -> str | None:
    """Return why a session with these settings uses no archive; None if it may use one."""
    if mode() == "off":
        return f"{SWITCH} is off"
    if not master.startswith("local") or os.environ.get("PYSPARK_GATEWAY_PORT"):
        return "Penstock does not start Java itself"
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    places = (*(os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")), arguments)
    if any(map(_OWN.search, (*places, conf.get(DEFAULT_OPTIONS, ""), conf.get(EXTRA_OPTIONS, "")))):
        return "the options of Java share classes in another way"
    if _OTHER_START.search(arguments) or "spark.driver.extraClassPath" in conf:
        return "Spark is started with other classes or options"
    home = spark_home()
    own = os.environ.get("SPARK_CONF_DIR") or (home and home / "conf")
    if own and os.path.isdir(own) and os.listdir(own):
        # Java makes no archive of a class path with such a folder, and options that are set there would be lost
        return f"{own} has settings of Spark"
    return None


def options_with(archive: Path, given: str = "") -> str | None:
    """Return options of Java that use an archive, and those that are given; None if its path cannot be an option.

    >>> options_with(Path("/my cache/classes.jsa"), "-Dx=1").replace(SILENT, "...")
    '... -Xshare:auto "-XX:SharedArchiveFile=/my cache/classes.jsa" -Dx=1'
    """
    if re.search(r'[":\\\n]', str(archive)):  # Java takes a colon for the end of a first path
        return None
    return f'{SILENT} -Xshare:auto "-XX:SharedArchiveFile={archive}" {given}'.rstrip()


def archive_options(conf: Mapping[str, str], master: str) -> dict[str, str]:
    """Return the settings by which a session uses the archive; none if it has none or must not use one."""
    if reason_against(conf, master) is not None:
        return {}
    with contextlib.suppress(OSError):
        archive = ready_archive(archive_folder())
        options = options_with(archive, conf.get(DEFAULT_OPTIONS, "")) if archive else None
        return {DEFAULT_OPTIONS: options} if options else {}
    return {}


def write_record(folder: Path, java: str, home: str) -> Record:
    """Write what is to be known about the archive in a folder."""
    path = folder / ARCHIVE
    found = path.stat()
    record = Record(found.st_size, found.st_mtime_ns, checksum(path), java, home)
    (folder / RECORD).write_text(json.dumps(asdict(record)))
    return record


def checksum(path: Path) -> int:
    """Return the CRC-32 of a file."""
    found = 0
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            found = zlib.crc32(part, found)
    return found


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
