"""Decorators that compile functions, once; the code is cached on disk beside the sources."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

_njit = cast(Any, njit)


def compiled(function: Function) -> Function:
    """Compile a function that may make arrays, whoever calls it."""
    return cast(Function, _njit(cache=True, _nrt=True)(function))


def lean(function: Function) -> Function:
    """Compile a function that makes none, and so needs no reference counts."""
    return cast(Function, _njit(cache=True, _nrt=False)(function))


def inlined(function: Function) -> Function:
    """Compile such a function so that it becomes part of its callers.

    It should have one return: with two in the innermost function, a loop took a third longer.
    """
    return cast(Function, _njit(cache=True, _nrt=False, forceinline=True)(function))
