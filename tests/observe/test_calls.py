"""Calls as people read them."""

from __future__ import annotations

import collections
import datetime
import os
import pickle
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.observe.calls import call_text
from tests import waiting

Point = collections.namedtuple("Point", "x y")


class Armed:
    """Raises when it is unpickled, or written."""

    def __reduce__(self) -> Any:
        return exploded, ("armed",)


def exploded(*_: Any) -> Any:
    raise AssertionError("an argument was loaded to be shown")


def mass(*args: Any, **kwargs: Any) -> int:
    return 1


def wait_for_file(path: str) -> bool:
    return waiting.until(lambda: os.path.exists(path))


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[fs.Cluster]:
    """A cluster whose only executor waits, so that other calls wait for it."""
    gate = tmp_path_factory.mktemp("gate") / "open"
    options = {"executors": 1, "memory": "64MiB", "disk": "1GiB", "dashboard": False}
    with fs.Cluster(**options) as cluster:
        first = cluster.submit(wait_for_file, str(gate), pure=False)
        yield cluster
        gate.touch()
        first.result()


def pickled(*args: Any, **kwargs: Any) -> bytes:
    """Encode arguments as a client does those that are not plain."""
    form, given = (1, (args, kwargs)) if kwargs else (0, args)
    return bytes([form]) + pickle.dumps(given, protocol=5)


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {}, "mass()"),
        (("file 17",), {}, "mass('file 17')"),
        ((1, 2.5, None, True), {"scale": b"x"}, "mass(1, 2.5, None, True, scale=b'x')"),
        (([1, 2, 3, 4, 5],), {}, "mass([1, 2, 3, 4, ...])"),
        (({"a": (1, [2, [3]])},), {}, "mass({'a': (1, [2, [...]])})"),
        ((np.zeros((3, 4)), np.int64(3)), {}, "mass(float64[3, 4], np.int64(3))"),
        (("x" * 1000,), {}, "mass('xxxxxxxxxxxxx...xxxxxxxxxxxxxx')"),
        ((Point(1, 2),), {}, "mass((1, 2))"),
    ],
)
def test_a_call_is_written_with_its_arguments(
    busy: fs.Cluster, args: Any, kwargs: Any, text: str
) -> None:
    future = busy.submit(mass, *args, **kwargs)
    explained = busy.explain(future)
    assert explained.call == text
    assert str(explained).startswith(f"{text} is ")


class Settings:
    def __init__(self, depth: int) -> None:
        self.depth = depth


def test_objects_are_written_and_not_loaded() -> None:
    assert call_text("f", (pickled(Armed(), 3), ())) == "f(exploded('armed'), 3)"
    assert "date(" in call_text("f", (pickled(datetime.date(2026, 1, 2)), ()))
    assert call_text("f", (pickled(PurePosixPath("a/b")), ())).startswith("f(PurePosixPath(")
    assert call_text("f", (pickled(collections.OrderedDict(a=1)), ())) == "f(OrderedDict({'a': 1}))"
    assert call_text("f", (pickled(collections.OrderedDict()), ())) == "f(OrderedDict())"
    assert call_text("f", (pickled(collections.deque([1, 2])), ())) == "f(deque([1, 2]))"
    assert call_text("f", (pickled(collections.Counter("aab")), ())).startswith("f(Counter({'a': 2")
    assert call_text("f", (pickled(Settings(3)), ())) == "f(Settings(...))"
    assert call_text("f", (pickled([Armed()], key=mass), ())) == "f([exploded('armed')], key=mass)"


def test_what_is_long_is_cut() -> None:
    text = call_text("f", (pickled(*range(100)), ()))
    assert text.startswith("f(0, 1, 2, ")
    assert text.endswith("...)")
    assert len(text) <= 43


def test_what_cannot_be_read_is_left_out() -> None:
    for bad in (b"", b"\x09", b"\x00", b"\x00\x80\x05", b"\x02", pickled(1)[:-3]):
        assert call_text("f", (bad, ())) == "f(...)"
    assert call_text("f", None) == "f(...)"


def test_a_value_that_holds_itself_many_times_is_written_at_once() -> None:
    value: Any = [1]
    for _ in range(200):
        value = (value, value)
    nested: Any = Armed()
    for _ in range(200):
        nested = [nested, nested]
    assert call_text("f", (pickled(value), ())).startswith("f(((((...), (...)), ((...), ")
    assert call_text("f", (pickled(nested), ())).startswith("f([[[[...], [...]], [[...], ")


def test_calls_that_have_ended_are_written_too(cluster: fs.Cluster) -> None:
    done, failed = cluster.submit(mass, "file 17"), cluster.submit(exploded, [1], retries=0)
    assert done.result() == 1
    assert isinstance(failed.exception(), AssertionError)
    assert str(cluster.explain(done)).startswith("mass('file 17') is done")
    assert str(cluster.explain(failed)).startswith("exploded([1]) failed after 1 attempt")
    assert cluster.explain(cluster.put(3)).call == ""


def test_inputs_are_written_by_what_makes_them(busy: fs.Cluster) -> None:
    first = busy.submit(mass, 1, name="load")
    both = busy.submit(mass, first, [first], 2)
    text = str(busy.explain(both))
    assert text.startswith("mass(load, [load], 2) waits for load(1), which has been ready for ")
