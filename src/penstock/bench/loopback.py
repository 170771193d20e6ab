"""Spark on this machine only: settings of its drivers, and pages of its daemons and drivers."""

import json
import urllib.request
from typing import Any

HOST = "127.0.0.1"
LOOPBACK = {"spark.driver.host": HOST, "spark.driver.bindAddress": HOST}
"""Settings with which executors on this machine find the driver."""

# A proxy of the environment must not be asked for pages on loopback
_open_page = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


def json_page(address: str, timeout_s: float = 30.0) -> Any:  # noqa: ANN401 (a page has any shape)
    """Return what a page on loopback says."""
    with _open_page(address, timeout=timeout_s) as page:
        return json.load(page)
