"""What Dask's graphs are made of, for functions that run once for each task or argument."""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["task_spec"]


@functools.cache
def task_spec() -> Any:
    """Import Dask's kinds of tasks when the first graph is there.

    An import statement of a module that is loaded takes some microseconds, this call a tenth of it.
    """
    from dask import _task_spec

    return _task_spec
