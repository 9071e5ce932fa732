"""Arguments of a wrong type are named, with their value and what to give instead."""

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freestone import events as ev
from freestone.errors import ConfigurationError, NotSerializableError

Call = Callable[[ev.Rank], Any]

IDENTIFIER = "an event's identifier is a str"
PAIRS = re.escape("(source, id) pairs, as in on=[(ANY, 'field')]")


def raised(call: Call) -> BaseException:
    """Return what a call in a program raises; the run itself ends well."""

    def main(rank: ev.Rank) -> BaseException | None:
        try:
            call(rank)
        except Exception as error:
            return error
        return None

    (error,) = ev.run(main, ranks=1, threads=True)
    assert isinstance(error, BaseException)
    return error


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rank: rank.fire(ev.SELF, 3), rf"id=3 is of type int: {IDENTIFIER}"),
        (lambda rank: rank.fire(ev.SELF, b"x"), rf"id=b'x' is of type bytes: {IDENTIFIER}"),
        (lambda rank: rank.after(0, 3), rf"id=3 is of type int: {IDENTIFIER}"),
        (lambda rank: rank.stop(3), rf"id=3 is of type int: {IDENTIFIER}"),
        (lambda rank: rank.submit(print, then=3), rf"then=3 is of type int: {IDENTIFIER}"),
        (lambda rank: rank.fire("2", "x"), r"target='2' is of type str: give a rank's number"),
        (lambda rank: rank.fire(None, "x"), r"target=None is of type NoneType: give a rank"),
        (lambda rank: rank.fire(["a"], "x"), r"target=\['a'\] is of type list: give a rank"),
        (lambda rank: rank.submit(print, on=3), rf"on=3 is of type int: .* {PAIRS}"),
        (lambda rank: rank.submit(print, on="x"), rf"on='x' is of type str: .* {PAIRS}"),
        (lambda rank: rank.wait(None), rf"on=None is of type NoneType: .* {PAIRS}"),
        (
            lambda rank: rank.retrieve_any((ev.SELF, "x")),
            rf"on\[0\]=-1001 is of type int: .* {PAIRS}",
        ),
        (lambda rank: rank.wait([(0, "x", 1)]), rf"on\[0\]=\(0, 'x', 1\) is of type .* {PAIRS}"),
        (lambda rank: rank.wait([(0, 2)]), rf"on\[0\]=\(0, 2\) is of type tuple: .* {PAIRS}"),
        (lambda rank: rank.wait([("x", 0)]), r"the source comes first; give \(0, 'x'\)"),
        (lambda rank: rank.wait([(1.5, "x")]), r"source=1\.5 is of type float: give a rank"),
        (lambda rank: rank.wait([(0, "x")], "1"), r"time='1' is of type str: a time is a number"),
        (lambda rank: rank.every([], "x"), r"time=\[\] is of type list: a time is a number"),
        (lambda rank: rank.lock(3), r"name=3 is of type int: a name is a str"),
        (lambda rank: rank.submit(print, name=3), r"name=3 is of type int: a name is a str"),
        (lambda rank: rank.submit(3), r"function=3 is of type int: .* submit\(f\), not submit"),
        (lambda rank: rank.when_readable("f", "x"), r"file='f' is of type str: give a descriptor"),
        (
            lambda rank: rank.when_load_above("a", "x"),
            r"load='a' is of type str: a load is a number",
        ),
        (lambda rank: rank.fire(b"\x00", "x"), r"target=b'\\x00' is of type bytes: give a rank"),
        (lambda rank: rank.fire(iter([0]), "x"), r"target=<list_.*: give a rank"),
        (lambda rank: rank.fire(np.float64(0), "x"), r"target=np.float64\(0.0\) .*: give a rank"),
        (
            lambda rank: rank.fire(ev.SELF, "x", persistent="yes"),
            r"persistent='yes' is of type str: give True or False",
        ),
        (
            lambda rank: rank.submit(print, [(ev.SELF, "x")], greedy=1),
            r"greedy=1 is of type int: give True or False",
        ),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(call: Call, message: str) -> None:
    error = raised(call)
    assert isinstance(error, TypeError)
    assert re.match(rf".*{message}", str(error)), error


HALF = "\ud800"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rank: rank.fire(2**70, "x"), f"there is no rank {2**70}; the run has 1"),
        (lambda rank: rank.wait([([0, -(2**70)], "x")]), f"there is no rank -{2**70}; the run"),
        (lambda rank: rank.when_load_above(float("nan"), "x"), "load=NaN: a load is a number"),
        (lambda rank: rank.when_readable(2**40, "x"), f"file={2**40}: give a descriptor"),
        (lambda rank: rank.fire(ev.SELF, HALF), r"id='\ud800' can't be written in UTF-8"),
        (lambda rank: rank.wait([(0, HALF)]), r"id='\ud800' can't be written in UTF-8"),
        (lambda rank: rank.lock(HALF), r"name='\ud800' can't be written in UTF-8"),
        (lambda rank: rank.submit(print, then=HALF), r"then='\ud800' can't be written in UTF-8"),
    ],
)
def test_a_value_of_no_use_is_named(call: Call, message: str) -> None:
    error = raised(call)
    assert isinstance(error, ValueError)
    assert str(error).startswith(message), error


def test_text_without_utf8_arrives_as_it_is() -> None:
    def main(rank: ev.Rank) -> Any:
        rank.fire(ev.SELF, "x", HALF)
        return rank.wait([(ev.SELF, "x")])[0].data

    assert ev.run(main, ranks=1, threads=True) == [HALF]


@pytest.mark.parametrize("rank_of", [np.int64, np.uint8, np.array], ids=["int64", "uint8", "array"])
@pytest.mark.parametrize("trace", [None, "trace.json"])
def test_integers_of_numpy_are_ranks(
    rank_of: Callable[[int], Any], trace: str | None, tmp_path: Path
) -> None:
    def main(rank: ev.Rank) -> list[int]:
        other, both = rank_of(1 - rank.id), np.arange(2)
        rank.fire(other, "one", rank.id)
        if rank.id == 1:
            rank.fire([rank_of(0), rank_of(1)], "several", rank.id)
        rank.fire(both, "both", rank.id)
        on = [(other, "one"), (both, "both"), (rank_of(1), "several")]
        return [event.data for event in rank.wait(on)]

    written = trace and str(tmp_path / trace)
    assert ev.run(main, ranks=2, threads=True, trace=written) == [[1, 0, 1, 1], [0, 0, 1, 1]]


@pytest.mark.parametrize(("at_least", "within_s"), [("3", 1), (3, "1"), (0, 1), (3, None)])
def test_a_batch_that_makes_no_sense_is_named(at_least: Any, within_s: Any) -> None:
    def batch(rank: ev.Rank) -> None:
        on = [(ev.SELF, "x")]
        rank.submit(print, on, greedy=True, at_least=at_least, within_s=within_s)

    start = f"at_least={at_least!r}, within_s={within_s!r}: a batch has a number of events"
    assert str(raised(batch)).startswith(start)


def test_a_long_value_is_cut() -> None:
    message = str(raised(lambda rank: rank.fire(ev.SELF, list(range(1000)))))  # type: ignore[arg-type]
    assert "..." in message
    assert len(message) < 200


def test_data_that_cannot_be_pickled_names_the_event_and_the_type() -> None:
    error = raised(lambda rank: rank.fire(ev.SELF, "field", [threading.Lock()]))
    assert isinstance(error, NotSerializableError)
    assert (error.what, error.label, error.kind) == ("event", "field", "list")
    start = "the event 'field' can't be sent: its data is of type list: cannot pickle"
    assert str(error).startswith(start)
    assert "by_reference=True" in str(error)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ranks": "2"}, "ranks='2' is of type str: give an int, as in ranks=2"),
        ({"ranks": 2.0}, "ranks=2.0 is of type float: give an int, as in ranks=2"),
        ({"main": 3}, "main=3: must be a function"),
        ({"args": 3}, "args=3: must be a tuple or a list, as in args=(3,)"),
        ({"args": "ab"}, "args='ab': must be a tuple or a list"),
    ],
)
def test_what_a_run_can_not_begin_with_is_named(given: dict[str, Any], message: str) -> None:
    arguments = {"main": lambda rank: rank.size, "ranks": 1, "threads": True, **given}
    with pytest.raises(ConfigurationError) as caught:
        ev.run(**arguments)
    assert str(caught.value).startswith(message)
    assert [caught.value.key] == list(given)


def test_numbers_of_numpy_are_numbers() -> None:
    def main(rank: ev.Rank) -> list[Any]:
        on = [(ev.SELF, "x")]
        task = rank.submit(
            lambda *events: len(events),
            on,
            greedy=True,
            at_least=np.int64(1),
            within_s=np.float64(0.0),
        )
        rank.fire(ev.SELF, "x")
        return task.result()

    assert ev.run(main, ranks=np.int64(1), threads=True) == [1]


@pytest.mark.parametrize("number", [-1, -2, -3])
def test_numbers_that_mean_something_to_mpi_are_no_ranks(number: int) -> None:
    """MPI_PROC_NULL, MPI_ANY_SOURCE and MPI_ROOT, whose values depend on the MPI."""

    def main(rank: ev.Rank) -> None:
        with pytest.raises(ValueError, match=f"there is no rank {number}"):
            rank.fire(number, "halo")
        with pytest.raises(ValueError, match=f"there is no rank {number}"):
            rank.wait([(number, "halo")])

    ev.run(main, ranks=2, threads=True)


def test_any_is_no_target() -> None:
    def main(rank: ev.Rank) -> None:
        with pytest.raises(ValueError, match="ANY is a source of events only"):
            rank.fire(ev.ANY, "x")

    ev.run(main, ranks=1, threads=True)


def two(a: ev.Event, b: ev.Event, scale: int = 1) -> None:
    """Depends on two events."""


@pytest.mark.parametrize(
    ("on", "are"),
    [
        ([(ev.SELF, "x")], "1: 'x'"),
        ([], "0: none"),
        ([([0, ev.SELF, 0], "x"), (ev.ALL, "y")], "4: 'x', 'x', 'x', 'y'"),
        (
            [(ev.SELF, f"e{number}") for number in range(7)],
            "7: 'e0', 'e1', 'e2', 'e3', 'e4' and 2 more",
        ),
    ],
)
def test_a_task_that_can_not_be_called_with_its_events_is_refused_where_it_is_submitted(
    on: list[tuple[int, str]], are: str
) -> None:
    error = raised(lambda rank: rank.submit(two, on))
    place = f"{two.__code__.co_filename}:{two.__code__.co_firstlineno}"
    assert isinstance(error, TypeError)
    assert str(error) == (
        f"the task 'two' ({place}) has 2 to 3 parameters, and the events that it depends on are "
        f"{are}; give it one parameter for each, or *events"
    )


def test_tasks_are_called_with_as_many_events_as_they_have_parameters_for() -> None:
    def main(rank: ev.Rank) -> list[int]:
        pair = [(ev.SELF, "a"), (ev.SELF, "b")]
        functions = [two, lambda *events: None, lambda a, b: None, lambda a, b, c=0, d=0: None]
        for _ in functions:
            rank.fire(ev.SELF, "a")
            rank.fire(ev.SELF, "b")
        for function in functions:
            rank.submit(function, iter(pair) if function is two else pair)
        many = rank.submit(lambda *events: len(events), pair[:1], greedy=True)
        rank.fire(ev.SELF, "a")
        return [many.result(), rank.submit(lambda: 7).result()]

    assert ev.run(main, ranks=1, threads=True) == [[1, 7]]
