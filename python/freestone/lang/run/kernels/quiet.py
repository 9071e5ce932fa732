"""Functions of NumPy's without its warnings."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib import NumpyVersion

__all__ = ["quietly"]

# Before NumPy 2, warnings are a matter of threads.
_IN_CONTEXTS = NumpyVersion(np.__version__) >= "2.0.0"
_free: list[contextvars.Context] = []
"""Contexts in which NumPy warns of nothing; those that a thread is in are not among them."""


def quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function; NumPy warns of no overflow and of no number that is none.

    It costs less than ``np.errstate``.
    """
    try:
        context = _free.pop()
    except IndexError:
        # Another thread is in it, or a finaliser or a handler of signals came between.
        context = _quiet()
    try:
        return context.run(function, *args)
    finally:
        _free.append(context)


def _quiet() -> contextvars.Context:
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    return context


def _in_thread(function: Callable[..., Any], *args: Any) -> Any:
    with np.errstate(all="ignore"):
        return function(*args)


if not _IN_CONTEXTS:
    quietly = _in_thread
