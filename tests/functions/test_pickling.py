"""Exceptions travel as their classes say, whatever other packages register."""

from __future__ import annotations

import copyreg
import functools
import pickle
import socket
import threading
from typing import Any

import pytest

from freestone.events import failing
from freestone.functions import dumps_failure
from freestone.functions.pickling import dumps
from freestone.functions.serializing import not_serializable


class AxisProblem(Exception):  # noqa: N818
    """Has an attribute that only `__init__` sets, as that of NumPy's AxisError."""

    def __init__(self, axis: int) -> None:
        super().__init__(axis)
        self.axis = axis

    def __reduce__(self) -> Any:
        return AxisProblem, (self.axis,)

    def __str__(self) -> str:
        return f"axis {self.axis} is out of bounds"


def without_init(error: AxisProblem) -> Any:
    return AxisProblem.__new__, (AxisProblem,)


@pytest.fixture
def reducer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(copyreg.dispatch_table, AxisProblem, without_init)
    with pytest.raises(AttributeError):
        str(pickle.loads(pickle.dumps(AxisProblem(7))))


@pytest.mark.usefixtures("reducer")
def test_a_reducer_of_others_leaves_failures_alone() -> None:
    found = pickle.loads(dumps_failure(AxisProblem(7)))
    assert (type(found), found.axis, str(found)) == (AxisProblem, 7, "axis 7 is out of bounds")
    inner = pickle.loads(dumps_failure(ExceptionGroup("two", [AxisProblem(7), ValueError("x")])))
    assert str(inner.exceptions[0]) == "axis 7 is out of bounds"
    assert str(failing.decode(1, failing.encode(AxisProblem(7), "step"))) == str(found)


@pytest.mark.usefixtures("reducer")
def test_it_leaves_failures_of_classes_in_functions_alone() -> None:
    class Local(Exception):  # noqa: N818
        pass

    found = pickle.loads(dumps_failure(Local(AxisProblem(7))))
    assert type(found) is Local
    assert str(found.args[0]) == "axis 7 is out of bounds"


def test_what_could_not_be_shown_is_not_sent() -> None:
    class Odd(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise AttributeError("axis")

    with pytest.raises(AttributeError, match="axis"):
        dumps_failure(Odd())


class Model:
    """Keeps a connection, and leaves out a lock when it is pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "lock"}

    @functools.cached_property
    def session(self) -> Slotted:
        return Slotted()


class Slotted:
    __slots__ = ("socket",)

    def __init__(self) -> None:
        self.socket = socket.socket()


def test_the_attribute_that_cannot_be_pickled_is_named() -> None:
    model = Model()
    pickle.dumps(model)
    with model.session.socket:
        error = not_serializable("argument", ((1, [model]), {}), "f", TypeError("no"))
    sentence = "the argument of 'f' can't be sent: args[1][0].session.socket is of type "
    assert str(error).startswith(sentence + "socket.socket: no; pass what it is made from")


SIZES = [1]


def count():
    class Count:
        number: int = len(SIZES)

        class Inner:
            sizes = (*SIZES, 2)

    return Count.number, Count.Inner.sizes


def test_globals_in_the_bodies_of_classes_travel(monkeypatch):
    monkeypatch.setattr(count, "__module__", "__main__")
    copied = pickle.loads(dumps(count))
    assert copied.__globals__ is not count.__globals__
    assert copied() == (1, (1, 2))
