"""Whether this process runs the calls of a worker."""

from __future__ import annotations

__all__ = ["enter_executor", "in_executor"]

_in_executor = False


def enter_executor() -> None:
    """Remember that this process runs the calls of a worker."""
    from freestone.functions.by_value import own_no_classes
    from freestone.functions.script import become_script

    global _in_executor
    _in_executor = True
    own_no_classes()
    become_script()


def in_executor() -> bool:
    """Tell whether this process runs the calls of a worker."""
    return _in_executor
