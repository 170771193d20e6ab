"""`POLICIES`: all policies by name, and the parser of policy names with combinators."""

import ast
from collections.abc import Mapping

from penstock.errors import PolicyError, nearest
from penstock.policies.aurora import AURORA
from penstock.policies.brt import BRT
from penstock.policies.bsd import BSD
from penstock.policies.chain import CHAIN
from penstock.policies.fifo import FIFO
from penstock.policies.greedy import GREEDY
from penstock.policies.hnr import HNR
from penstock.policies.hnr_oracle import HNR_ORACLE
from penstock.policies.hr import HR
from penstock.policies.hr_oracle import HR_ORACLE
from penstock.policies.lsf import LSF
from penstock.policies.mtiq import MTIQ
from penstock.policies.path_capacity import PATH_CAPACITY
from penstock.policies.policy import Policy
from penstock.policies.round_robin import ROUND_ROBIN
from penstock.policies.segment import SEGMENT
from penstock.policies.simplified_segment import SIMPLIFIED_SEGMENT
from penstock.policies.srpt import SRPT
from penstock.policies.threshold import THRESHOLD

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        FIFO,
        ROUND_ROBIN,
        AURORA,
        GREEDY,
        MTIQ,
        CHAIN,
        PATH_CAPACITY,
        SEGMENT,
        SIMPLIFIED_SEGMENT,
        THRESHOLD,
        SRPT,
        HR,
        HNR,
        LSF,
        BRT,
        BSD,
        HR_ORACLE,
        HNR_ORACLE,
    )
}

COMBINATORS = ("every", "by_age_and_length", "threshold", "clustered", "shared", "level", "oracle", "plain")
LONGEST_NAME = 200


def policy_named(policy: str | Policy) -> Policy:
    """Return the policy of that name, with combinators in Python's syntax; a `Policy` is returned as it is.

    >>> policy_named("bsd.level('operator').every(20)") == POLICIES["bsd"].level("operator").every(20)
    True
    >>> policy_named("hrr")
    Traceback (most recent call last):
    penstock.errors.PolicyError: there is no policy 'hrr'. Did you mean 'hr'? `penstock policies` lists them
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str) and len(policy) > LONGEST_NAME:
        raise PolicyError(f"the name of a policy can have at most {LONGEST_NAME} characters, not {len(policy)}")
    if isinstance(policy, str) and ".py:" in policy:
        raise PolicyError(
            f"{policy!r} is a policy in a file, and only --policy executes files: `penstock run FILE --policy "
            "mypolicy.py:NAME`. In Python, import the policy and pass the object"
        )
    if isinstance(policy, str) and "." in policy:
        return read_policy(policy, POLICIES)
    if not isinstance(policy, str) or policy not in POLICIES:
        raise PolicyError(
            f"there is no policy {policy!r}.{nearest(policy, POLICIES)} `penstock policies` lists them"
        )
    return POLICIES[policy]


def read_policy(text: str, known: Mapping[str, Policy]) -> Policy:
    """Return the policy that a text describes, with the policies of these names."""
    return _read(_parsed(text), known)


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise PolicyError(f"policy {text!r} cannot be read: {error}") from error


def _read(node: ast.expr, known: Mapping[str, Policy]) -> Policy:
    """Build the policy from the tree of names and calls; nothing in it is evaluated."""
    match node:
        case ast.Name(id=name):
            return known[name] if name in known else policy_named(name)
        case ast.Call(func=ast.Attribute(value=inner, attr=combinator)) if combinator in COMBINATORS:
            arguments = [_argument(value, known) for value in node.args]
            named = {str(keyword.arg): _argument(keyword.value, known) for keyword in node.keywords}
            try:
                changed = getattr(_read(inner, known), combinator)(*arguments, **named)
            except TypeError as error:
                raise PolicyError(f"{ast.unparse(node)!r} cannot be read: {error}") from error
            assert isinstance(changed, Policy)
            return changed
        case ast.Attribute(attr=name) if name in COMBINATORS:
            raise PolicyError(f"{ast.unparse(node)!r} lacks the parentheses after {name!r}")
        case ast.Attribute(attr=name) | ast.Call(func=ast.Attribute(attr=name)):
            raise PolicyError(f"a policy has no combinator {name!r}.{nearest(name, COMBINATORS)}")
    raise PolicyError(f"{ast.unparse(node)!r} is not a policy")


def _argument(node: ast.expr, known: Mapping[str, Policy]) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return ast.literal_eval(node)
    if isinstance(node, ast.Name | ast.Call):
        return _read(node, known)
    raise PolicyError(f"{ast.unparse(node)!r} is not a number, a string or a policy")
