"""Files that stay open while several things are asked of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["kept_open", "opened_once"]

_open: ContextVar[tuple[ExitStack, dict[Hashable, Any]] | None] = ContextVar("open", default=None)


@contextmanager
def kept_open() -> Iterator[None]:
    """Let what `opened_once` opens stay open until this block ends, so that it is opened once.

    Other threads open it themselves. Of two such blocks, one in the other, the outer one counts.
    """
    if _open.get() is not None:
        yield
        return
    with ExitStack() as stack:
        token = _open.set((stack, {}))
        try:
            yield
        finally:
            _open.reset(token)


@contextmanager
def opened_once(key: Hashable, opening: Callable[[], AbstractContextManager[Any]]) -> Iterator[Any]:
    """Give what `opening` gives; outside of `kept_open` for the length of this block only.

    Parameters
    ----------
    key
        What is opened, with its version.
    opening
        Opens it.
    """
    kept = _open.get()
    if kept is None:
        with opening() as found:
            yield found
        return
    stack, known = kept
    if key not in known:
        known[key] = stack.enter_context(opening())
    yield known[key]
