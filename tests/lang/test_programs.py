"""Programs that are kept for lazy values: one for each structure, and none for the data."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from freestone.lang.daphnelib import DaphneContext, graph, programs, small
from freestone.lang.settings import Settings

CONTEXT = DaphneContext()
FUSED = Settings(vec=True, num_threads=2)
X = np.arange(12.0).reshape(4, 3)


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> dict[Any, Any]:
    """Begin with no programs, and let small values have some."""
    monkeypatch.setattr(small, "MAX_BYTES", 0)
    kept: dict[Any, Any] = {}
    monkeypatch.setattr(programs, "_programs", kept)
    return kept


def chain(array: Any, factor: Any = 2.0) -> Any:
    """Make a graph of three operations."""
    x = CONTEXT.from_scipy(array) if sparse.issparse(array) else CONTEXT.from_numpy(array)
    return (x * factor).sum() + 1


def test_steps_of_an_iteration_share_a_program(empty: dict[Any, Any]) -> None:
    matrix = sparse.csr_array(np.eye(4) * 3)
    rank = np.ones((4, 1))
    for _ in range(5):
        step = CONTEXT.from_scipy(matrix) @ CONTEXT.from_numpy(rank) + 0.5
        rank = step.compute(FUSED)
    expected = 1.0
    for _ in range(5):
        expected = expected * 3 + 0.5
    np.testing.assert_array_equal(rank, np.full((4, 1), expected))
    assert len(empty) == 1


def test_each_gets_its_own_data_back(empty: dict[Any, Any]) -> None:
    arrays = [np.random.default_rng(seed).random((4, 3)) for seed in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: CONTEXT.from_numpy(x).exp().compute(FUSED), arrays))
    for array, value in zip(arrays, found, strict=True):
        np.testing.assert_allclose(value, np.exp(array), rtol=1e-15)
    assert len(empty) == 1


@pytest.mark.parametrize(
    "others",
    [
        (chain(X, 2.0), chain(X, 3.0)),
        (chain(X, 0.0), chain(X, -0.0)),
        (chain(X, 1), chain(X, True)),
        (chain(X), chain(X[:3])),
        (chain(X), chain(X.astype("f4"))),
        (chain(X), chain(sparse.csr_array(X))),
        (CONTEXT.from_numpy(X).sum(0), CONTEXT.from_numpy(X).sum(1)),
    ],
)
def test_other_structures_have_other_programs(others: Any, empty: dict[Any, Any]) -> None:
    for number, value in enumerate(others):
        value.compute(FUSED)
        assert len(empty) == number + 1


def test_an_operand_twice_is_not_two_operands(empty: dict[Any, Any]) -> None:
    x, y = CONTEXT.from_numpy(X), CONTEXT.from_numpy(X + 1)
    np.testing.assert_array_equal((x - x).compute(FUSED), X * 0)
    np.testing.assert_array_equal((x - y).compute(FUSED), X * 0 - 1)
    np.testing.assert_array_equal((y - x).compute(FUSED), X * 0 + 1)
    assert len(empty) == 2


def test_settings_have_programs_of_their_own(empty: dict[Any, Any]) -> None:
    value = chain(X)
    assert value.compute(FUSED) == value.compute(Settings()) == X.sum() * 2 + 1
    assert value.compute(Settings(vec=True, num_threads=2)) == X.sum() * 2 + 1
    assert len(empty) == 2


def test_data_goes_when_nobody_has_it(empty: dict[Any, Any]) -> None:
    array = X.copy()
    value = chain(array)
    there = weakref.ref(array)
    assert value.compute(FUSED) == X.sum() * 2 + 1
    del array, value
    gc.collect()
    assert there() is None
    assert len(empty) == 1


def test_what_has_bodies_or_effects_is_made_anew(
    empty: dict[Any, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = CONTEXT.for_loop([CONTEXT.from_numpy(X)], lambda a, i: a + i, 1, 3)
    np.testing.assert_array_equal(found.compute(FUSED), X + 6)
    CONTEXT.from_numpy(X).sum().print().compute(FUSED)
    assert capsys.readouterr().out == "66\n"
    assert not empty


def test_those_used_last_stay(empty: dict[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MOST", 3)
    for factor in (1.0, 2.0, 3.0, 1.0, 4.0):
        assert chain(X, factor).compute(FUSED) == X.sum() * factor + 1
    value = chain(X, 1.0)
    key = programs.key_of(list(graph._ordered(value._value)), value._value, FUSED)
    assert len(empty) == 3
    assert list(empty)[1] == key


def test_random_numbers_are_drawn_anew() -> None:
    draw = CONTEXT.rand(5, 4, 0.0, 1.0, 1.0, -1)
    assert not np.array_equal(draw.compute(FUSED), draw.compute(FUSED))
