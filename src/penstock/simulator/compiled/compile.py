"""How functions are compiled: once, kept on disk beside the sources."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

_njit = cast(Any, njit)


def compiled(function: Function) -> Function:
    """Compile a function that may make arrays, whoever calls it."""
    return cast(Function, _njit(cache=True, _nrt=True)(function))


def lean(function: Function) -> Function:
    """Compile a function that makes none, and so need not count who holds what."""
    return cast(Function, _njit(cache=True, _nrt=False)(function))


def inlined(function: Function) -> Function:
    """Compile a function such that it becomes part of those that call it."""
    return cast(Function, _njit(cache=True, _nrt=False, forceinline=True)(function))
