"""Pages of Spark's daemons and drivers on this machine."""

import json
import urllib.request
from typing import Any

# A proxy of the environment must not be asked for pages on loopback
_open_page = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


def json_page(address: str, timeout_s: float = 30.0) -> Any:  # noqa: ANN401 (a page has any shape)
    """Return what a page on loopback says."""
    with _open_page(address, timeout=timeout_s) as page:
        return json.load(page)
