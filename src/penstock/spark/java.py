"""Which Java is installed, and whether Spark can run on it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from penstock.errors import RunError

LEAST_JAVA = 17
_JAVA_HELP = (
    "To install it: apt install openjdk-17-jre-headless (Debian, Ubuntu), "
    "dnf install java-17-openjdk-headless (Fedora), brew install openjdk@17 (macOS); or set JAVA_HOME"
)


def java_path() -> str | None:
    """Return the path of the Java that Spark starts."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


def java_version() -> tuple[str | None, int | None]:
    """Return the path of Java and its major version; None if there is none, or if it does not say its version."""
    path = java_path()
    if path is None:
        return None, None
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return path, None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', answer)
    if found is None:
        return path, None
    first, second = int(found[1]), int(found[2] or 0)
    return path, second if first == 1 else first


def check_java() -> None:
    """Raise an error unless Java is installed in a version that Spark supports."""
    path, version = java_version()
    if path is None:
        found = "JAVA_HOME is set, but has no Java" if os.environ.get("JAVA_HOME") else "no Java was found"
    elif version is None:
        found = f"the version of {path} is unknown"
    elif version < LEAST_JAVA:
        found = f"{path} is version {version}"
    else:
        return
    raise RunError(f"Spark needs Java {LEAST_JAVA} or newer; {found}. {_JAVA_HELP}")
