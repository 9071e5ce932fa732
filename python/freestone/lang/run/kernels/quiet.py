"""Functions of NumPy's without its warnings."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib import NumpyVersion

__all__ = ["quietly"]


class _Quiet(threading.local):
    """A context in which NumPy warns of nothing; it costs less to enter than ``np.errstate``."""

    def __init__(self) -> None:
        self._context = contextvars.Context()
        # Before NumPy 2, warnings are a matter of threads.
        self._is_free = NumpyVersion(np.__version__) >= "2.0.0"
        if self._is_free:
            self._context.run(np.seterr, all="ignore")

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function."""
        if not self._is_free:
            # A finaliser, or a handler of signals, may come between.
            with np.errstate(all="ignore"):
                return function(*args)
        self._is_free = False
        try:
            return self._context.run(function, *args)
        finally:
            self._is_free = True


_quiet = _Quiet()


def quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function; NumPy warns of no overflow and of no number that is none."""
    return _quiet.run(function, *args)
