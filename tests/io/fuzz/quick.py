"""Without what libraries do beside reading: threads and event loops took most of the time."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["quicken"]


def quicken(library: str | None) -> None:
    """Make a library do all in this thread, for the rest of this process."""
    gc.disable()
    warnings.simplefilter("ignore")
    logging.disable()
    if library == "uproot":
        import uproot

        uproot.open.defaults["use_threads"] = False
    if library == "zarr":
        import zarr.core.sync

        _replace(zarr.core.sync.sync, _here)
        asyncio.to_thread = _called


def _replace(old: Callable[..., Any], new: Callable[..., Any]) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("zarr") and getattr(module, old.__name__, None) is old:
            setattr(module, old.__name__, new)


_loop = asyncio.new_event_loop()


def _here(coroutine: Any, loop: Any = None, timeout: float | None = None) -> Any:
    return _loop.run_until_complete(coroutine)


async def _called(function: Callable[..., Any], /, *words: Any, **options: Any) -> Any:
    return function(*words, **options)
