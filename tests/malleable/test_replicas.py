"""Values that all ranks have alike: what differs is named, and what only looks other is not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freestone.malleable.replicas import difference
from tests.malleable.jobs import run


@dataclass
class Point:
    """A value with an equality of its own."""

    x: float


class Plain:
    """A value without one."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


NAN = float("nan")


@pytest.mark.parametrize(
    ("own", "theirs"),
    [
        (1, 1),
        (NAN, NAN),
        ([1, {"a": (2.0, NAN)}], [1, {"a": (2.0, NAN)}]),
        ({"a", "b", "c"}, {"c", "b", "a"}),
        (np.array([1.0, NAN]), np.array([1.0, NAN])),
        (np.array([], "i4"), np.array([], "i4")),
        (Point(1.0), Point(1.0)),
        (Plain(a=[1], b={"x"}), Plain(a=[1], b={"x"})),
        (np.random.default_rng(5), np.random.default_rng(5)),
        (None, None),
        (len, len),
    ],
)
def test_equal_values_are_the_same(own: Any, theirs: Any) -> None:
    assert difference(own, theirs) == ""


@pytest.mark.parametrize(
    ("own", "theirs", "text"),
    [
        (1, 2, "is 1, and 2 on rank 0"),
        (1, 1.0, "is 'int', and 'float' on rank 0"),
        ([0, [1, 3]], [0, [1, 2]], "[1][1] is 3, and 2 on rank 0"),
        ([1], [1, 2], "length is 1, and 2 on rank 0"),
        ({"a": 1}, {"b": 1}, ".keys() is ['a'], and ['b'] on rank 0"),
        ({"a": {"b": 1.5}}, {"a": {"b": 2.5}}, "['a']['b'] is 1.5, and 2.5 on rank 0"),
        (np.zeros((2, 3)), np.array([[0, 0, 0], [0, 7, 0.0]]), "[1, 1] is 0.0, and 7.0 on rank 0"),
        (np.array(3), np.array(4), "is 3, and 4 on rank 0"),
        (np.zeros(2), np.zeros(3), "is shape (2,) (float64), and (3,) (float64) on rank 0"),
        (np.array([NAN]), np.array([1.0]), "[0] is nan, and 1.0 on rank 0"),
        (Point(1.0), Point(2.0), "is Point(x=1.0), and Point(x=2.0) on rank 0"),
        (Plain(a=[1, 2]), Plain(a=[1, 5]), "['a'][1] is 2, and 5 on rank 0"),
        ("x" * 200, "y", "is '" + "x" * 79 + "..., and 'y' on rank 0"),
    ],
)
def test_what_differs_is_named(own: Any, theirs: Any, text: str) -> None:
    assert difference(own, theirs) == text


def test_generators_that_were_seeded_otherwise_differ() -> None:
    assert difference(np.random.default_rng(5), np.random.default_rng(6)) != ""


def test_a_value_that_differs_between_ranks_is_an_error_of_all_of_them() -> None:
    outcome = run("replicas_job.py", ranks=3)
    assert outcome.status == 0, outcome.err
    found = outcome.data
    hint = "; give the same value on all ranks, such as that of rank 0 by world.once"
    assert found["list"] == [f"rank 1: 'list' [1] is 1, and 0 on rank 0{hint}"] * 3
    assert found["array"] == [f"rank 2: 'array' [2] is 1.0, and 0.0 on rank 0{hint}"] * 3
    (text,) = set(found["function"])
    assert text.startswith("rank 0: 'function' can't be pickled (")
    assert found["set"] == [""] * 3


def test_joining_ranks_get_all_arguments() -> None:
    words = ["", "two\nlines", "it's", '\u00e9 "$HOME" 100%5C', r"C:\a\\b", ""]
    outcome = run("replicas_job.py", *words, ranks=1)
    assert outcome.status == 0, outcome.err
    assert outcome.data["words"] == [words] * 2


def test_arguments_that_are_too_long_are_refused_before_mpi_ends_the_job() -> None:
    outcome = run("replicas_job.py", "x" * 70_000, ranks=1)
    assert outcome.status == 0, outcome.err
    (text,) = outcome.data["errors"]
    assert "bytes, and MPICH's launcher takes 60000 of a process that joins; pass long" in text
    assert json.dumps(outcome.data["words"]) == json.dumps([["x" * 70_000]])


def test_a_value_that_can_not_be_pickled_costs_the_resize_and_not_the_job(tmp_path: Path) -> None:
    outcome = run("unsendable_job.py", str(tmp_path / "state"), ranks=2)
    assert outcome.status == 0, outcome.err
    found = outcome.data
    assert (found["size"], found["total"]) == (2, 45.0 + 8 * 10)
    assert found["errors"]
    assert found["saves"]
    for error in [*found["errors"], *found["saves"]]:
        assert error.startswith("RegistrationError: the value of 'best' on rank 0 can't be pickled")
