"""Checks of a script before Spark is started."""

from collections.abc import Mapping

from penstock.errors import QosError, RunError, ScriptError
from penstock.language.paths import found_path
from penstock.language.script import Script
from penstock.language.statements import StreamDef
from penstock.policies import Policy, policy_named
from penstock.qos import Goals
from penstock.qos.settings import PolicySettings
from penstock.runtime.defaults import CHUNK_ROWS, CHUNK_US
from penstock.runtime.memory_sizes import check_memory


def check_script(script: Script, policy: str | Policy | None, *, drain: bool, seconds: float | None) -> None:
    """Raise if a script cannot run: a wrong setting, a run that would never end, a missing file."""
    if policy is not None:
        policy_named(policy)
    if not script.streams:
        raise RunError(f"{script.name}: a script that runs needs a stream: CREATE STREAM …")
    check_settings(script)
    if seconds is not None and seconds <= 0:
        raise RunError(f"a run takes a positive number of seconds, not {seconds:g}")
    for stream in script.streams.values():
        if drain and seconds is None and _endless(stream):
            raise RunError(
                f"stream {stream.name} never ends, so the run would not: give it rows = … or seconds = …, "
                "or say --seconds"
            )
    for relation in (*script.streams.values(), *script.tables.values()):
        if "path" in relation.options and relation.source != "structured":
            what = "stream" if isinstance(relation, StreamDef) else "table"
            found_path(script.folder, relation.options["path"], f"{what} {relation.name}")


def check_settings(script: Script) -> None:
    """Raise if a setting is wrong, however the script is run. `penstock explain` and a run both call this."""
    settings = script.settings
    policy_named(settings.get("policy", "fifo"))
    policy_settings(script)
    if "memory" in settings:
        chunk_rows, chunk_us = settings.get("chunk_rows", CHUNK_ROWS), settings.get("chunk_time", CHUNK_US)
        check_memory(settings["memory"], script.streams.values(), chunk_rows, chunk_us)


def policy_settings(
    script: Script, qos: Goals | str | Mapping[str, float] | None = None, selector: str | None = None
) -> PolicySettings:
    """Return how the policy of a script is chosen. `qos` and `selector` override its own."""
    given = {name: value for name, value in (("qos", qos), ("selector", selector)) if value is not None}
    try:
        said = PolicySettings.of(
            {name: value for name, value in script.settings.items() if name not in given}, script.queries
        )
    except QosError as error:
        raise ScriptError(f"{script.name}: {error}") from error
    for name, value in given.items():
        said = said.with_setting(name, value, script.queries)
    return said


def _endless(stream: StreamDef) -> bool:
    goes_on = stream.source in ("bursty", "poisson") or bool(stream.options.get("repeat"))
    return goes_on and not {"rows", "seconds"} & stream.options.keys()
