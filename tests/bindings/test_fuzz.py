"""All of the native module is called by the fuzzer; `tests.fuzz` has the seeds that must pass."""

from __future__ import annotations

from freestone import _native
from tests.bindings.fuzz import CALLS, PROCESSES, TOGETHER, finding, targets


def test_no_call_ends_the_interpreter() -> None:
    assert finding(1, CALLS) == ""


def test_all_of_the_module_is_called() -> None:
    public = {name for name in vars(_native) if not name.startswith("__")}
    called = {name for name, _, _ in targets()}
    assert public <= called
    assert called >= PROCESSES | set(TOGETHER)
    # Each run begins with one call of each.
    assert len(called) < CALLS
