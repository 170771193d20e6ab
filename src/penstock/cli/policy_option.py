"""The policy of a command: from its option, the script, or the default."""

from typing import TYPE_CHECKING

import typer

from penstock.cli.own_policy import policy_given
from penstock.errors import PolicyError, ScriptError
from penstock.policies import Policy, policy_named

if TYPE_CHECKING:
    from penstock.language.script import Script

DEFAULT = "bsd"
"""The policy where neither the call nor the script names one; that of `penstock.runtime.loop`."""


def chosen_policy(given: str | None, script: "Script") -> Policy:
    """Return the policy; raise `BadParameter` for a wrong option, `ScriptError` for a wrong SET."""
    if given is not None:
        try:
            return on_spark(policy_given(given))
        except PolicyError as error:
            raise typer.BadParameter(str(error), param_hint="--policy") from error
    try:
        return on_spark(script.settings.get("policy", DEFAULT))
    except PolicyError as error:
        raise ScriptError(f"{script.name}: SET policy: {error}") from error


def on_spark(name: str | Policy) -> Policy:
    """Return the policy of that name; raise for one that knows the future, which only the simulator can run."""
    policy = policy_named(name)
    if policy.clairvoyant:
        raise PolicyError(f"policy {policy.name!r} knows the future: only the simulator can run it")
    return policy
