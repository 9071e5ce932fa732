"""All of the native module is called by the fuzzer; `tests.fuzz` has the seeds that must pass."""

from __future__ import annotations

import importlib
import inspect
import pickle

from freestone import _native
from tests.bindings.arguments import PUBLIC
from tests.bindings.fuzz import CALLS, PROCESSES, TOGETHER, finding, targets


def test_no_call_ends_the_interpreter() -> None:
    assert finding(1, CALLS) == ""


def test_all_of_the_module_is_called() -> None:
    called = {name for name, _, _ in targets()}
    assert set(PUBLIC) <= called
    assert all(map(callable, PUBLIC.values()))
    assert called >= PROCESSES | set(TOGETHER)
    # Each run begins with one call of each.
    assert len(called) < CALLS


def test_each_submodule_is_imported_as_modules_are() -> None:
    submodules = {name: each for name, each in vars(_native).items() if inspect.ismodule(each)}
    offered = [name for each in submodules.values() for name in each.__all__]
    assert sorted([*offered, "enumerations"]) == sorted(PUBLIC)
    for name, each in submodules.items():
        assert importlib.import_module(f"freestone._native.{name}") is each
        places = {getattr(value, "__module__", None) for value in vars(each).values()}
        assert places - {None} == {f"freestone._native.{name}"}, name


def test_classes_and_functions_are_pickled_by_their_submodule() -> None:
    for value in PUBLIC.values():
        assert pickle.loads(pickle.dumps(value)) is value
