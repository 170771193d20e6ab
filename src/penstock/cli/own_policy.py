"""Policies from a user's file: `--policy mypolicy.py:LEAST_SLACK`, with combinators after the name.

This executes the file. So only an option can name one, never a script or SET.
"""

import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

from penstock.errors import PolicyError, nearest
from penstock.policies import POLICIES, Features, Policy, policy_named
from penstock.policies.policy_table import LONGEST_NAME, read_policy

_WRITTEN = re.compile(r"(?P<path>.+\.py):(?P<policy>.*)", re.DOTALL)


def policy_given(text: str) -> Policy:
    """Return the policy that an option names: a built-in one, or one in a file."""
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        return policy_named(text)
    if len(written["policy"]) > LONGEST_NAME:
        raise PolicyError(f"the name of a policy has {LONGEST_NAME} characters at most")
    path = Path(written["path"]).expanduser()
    values = vars(_module(path))
    own = {name: value for name, value in values.items() if isinstance(value, Policy)}
    name = re.split(r"[.(]", written["policy"], maxsplit=1)[0].strip()
    if name not in own:
        raise PolicyError(_missing(path, name, values, own))
    _try(path, name, own[name])
    return read_policy(written["policy"], {**POLICIES, **own})


def is_own(policy: Policy) -> bool:
    """Return whether a policy is not the built-in one of its name, so that no engine can look it up."""
    try:
        return policy_named(policy.name) != policy
    except PolicyError:
        return True


def _module(path: Path) -> ModuleType:
    """Execute the file, and return it as a module."""
    try:
        source = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PolicyError(f"there is no file {str(path)!r}") from None
    except (OSError, UnicodeError) as error:
        raise PolicyError(f"{path} cannot be read: {error}") from error
    module = ModuleType(f"_own_policy_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        exec(compile(source, str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise PolicyError(f"{_place(path, error)}{_said(error)}") from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _missing(path: Path, name: str, values: dict[str, object], own: dict[str, Policy]) -> str:
    if name in values:
        kind = type(values[name]).__name__
        return f"{name} in {path} is of type {kind}, not a Policy: write {name} = Policy(name=…, unit=…, gain=…)"
    if not name:
        return f"name the policy in {path}: {path}:NAME.{_listed(own)}"
    return f"{path} has no policy {name!r}.{nearest(name, own)}{_listed(own)}"


def _listed(own: dict[str, Policy]) -> str:
    return f" It has {', '.join(own)}" if own else " It has none"


def _try(path: Path, name: str, policy: Policy) -> None:
    """Compute a priority, so that an error in a term is found before anything runs."""
    ones = Features(query="q", S=1.0, C=1.0, T=1.0, ideal=1.0, released=1.0, time=1.0, drop=1.0, span=1.0)
    try:
        found = float(policy.priority(ones))
    except Exception as error:
        place = _place(path, error) or f"{path}, "
        raise PolicyError(f"{place}{name} has no priority: {_said(error)}") from error
    if found != found:
        raise PolicyError(f"{path}, {name} has no priority: it is not a number where all features are 1")


def _place(path: Path, error: BaseException) -> str:
    """Return the file and the line in it that raised an error."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    return f"{path}, line {lines[-1]}: " if lines else ""


def _said(error: BaseException) -> str:
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
