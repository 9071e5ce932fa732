"""Random expressions of lazy matrices of unknown rows or columns: the same as NumPy's, or refused.

Masks keep no row, one, some or all; what comes of them is sliced, reduced, repeated beside others,
reshaped, and written into arrays of NumPy's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from freestone.lang.daphnelib import DaphneContext
from freestone.lang.daphnelib.lazy import FUSED
from freestone.lang.settings import Settings

CONTEXT = DaphneContext()
Random = np.random.Generator
Cells = np.ndarray[Any, Any]


class Step(NamedTuple):
    """What happens to a lazy matrix, and to NumPy's; `name` says it when they differ."""

    name: str
    lazily: Callable[[Any], Any]
    of_numpy: Callable[[Cells], Cells]


def same(name: str, function: Callable[[Any], Any]) -> Step:
    """Return a step that is written in the same way for both."""
    return Step(name, function, function)


def masked(rng: Random, x: Cells) -> Step:
    """Keep the rows or columns whose element in one column or row is large."""
    by_row = rng.random() < 0.7
    lines = x if by_row else x.T
    if not lines.shape[1]:
        return same("as it is", lambda y: y)
    at = int(rng.integers(lines.shape[1]))
    # Not at a value, whose last digit may be another one in a sum of another order.
    values = np.sort(lines[:, at].astype(float)) - 0.01
    bounds = [-np.inf, np.inf, *values[-2:], *values[:1]]
    least = float(bounds[rng.integers(len(bounds))])
    if by_row:
        return same(f"x[x[:, [{at}]] > {least}]", lambda y: y[_flat(y[:, [at]] > least)])
    return same(f"x[:, x[[{at}]] > {least}]", lambda y: y[:, _flat(y[[at]] > least)])


def _flat(mask: Any) -> Any:
    return mask.ravel() if isinstance(mask, np.ndarray) else mask


def _slice(rng: Random) -> slice:
    begin, end = (None if rng.random() < 0.3 else int(rng.integers(-7, 8)) for _ in range(2))
    return slice(begin, end, [None, None, 1, 2, -1, -3][rng.integers(6)])


def sliced(rng: Random, x: Cells) -> Step:
    rows, columns = _slice(rng), _slice(rng)
    way = rng.integers(5)
    if way == 0:
        return same(f"x[{rows}]", lambda y: y[rows])
    if way == 1:
        return same(f"x[:, {columns}]", lambda y: y[:, columns])
    if way == 2:
        at = int(rng.integers(-4, 4))
        return Step(f"x[{at}]", lambda y: y[at], lambda y: y[at][None, :])
    if way == 3:
        places = rng.integers(-3, 3, int(rng.integers(1, 4))).tolist()
        return same(f"x[{places}]", lambda y: y[places])
    return same(f"x[{rows}, {columns}]", lambda y: y[rows, columns])


REDUCTIONS: list[Callable[..., Any]] = [
    np.sum,
    np.mean,
    np.var,
    np.std,
    np.min,
    np.max,
    np.any,
    np.all,
]


def reduced(rng: Random, x: Cells) -> Step:
    """Reduce, alone or beside what is reduced."""
    reduce = REDUCTIONS[rng.integers(len(REDUCTIONS))]
    axis = (None, 0, 1, -1)[rng.integers(4)]
    name = f"{reduce.__name__}(x, axis={axis})"

    def of(y: Any) -> Any:
        return reduce(y * 1.0, axis=axis, keepdims=True)

    way = rng.integers(4)
    if way == 0:
        return same(name, of)
    if way == 1:
        return same(f"x - {name}", lambda y: y - of(y) * 1.0)
    if way == 2:
        return same(f"{name} + x", lambda y: of(y) * 1.0 + y)
    return same(
        f"where(x > {name} + 0.01, x, -1)", lambda y: np.where(y > of(y) * 1.0 + 0.01, y, -1.0)
    )


OPERATIONS = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.less]


def repeated(rng: Random, x: Cells) -> Step:
    """Put a row, a column, an element or all elements beside a matrix, on either side."""
    rows, columns = x.shape
    shapes = [(rows, columns), (1, columns), (rows, 1), (1, 1), (columns,), (rows + 1, 1)]
    other = rng.integers(-3, 4, shapes[rng.integers(len(shapes))]).astype("f8")
    if other.ndim == 1 and columns == 1:
        other = other[None, :]
    function = OPERATIONS[rng.integers(len(OPERATIONS))]
    swapped, is_lazy = rng.random() < 0.5, rng.random() < 0.5 and other.ndim == 2
    lazy = CONTEXT.from_numpy(other) if is_lazy else other

    def applied(y: Any, partner: Any) -> Any:
        made = function(partner, y) if swapped else function(y, partner)
        return made * 1.0

    name = f"{function.__name__}, swapped={swapped}, lazy={is_lazy}, {other!r}"
    return Step(name, lambda y: applied(y, lazy), lambda y: applied(y, other))


def reshaped(rng: Random, x: Cells) -> Step:
    sides = [(-1, 1), (1, -1), (-1, 2), (2, -1), x.shape[::-1], (x.size, 1), (0, -1)]
    shape = sides[rng.integers(len(sides))]
    return same(f"x.reshape{shape}", lambda y: y.reshape(shape))


def written(rng: Random, x: Cells) -> Step:
    """Compute into an array of NumPy's, whose shape may not be that of the result."""
    reduce = REDUCTIONS[rng.integers(len(REDUCTIONS))]
    axis, keep = (None, 0, 1)[rng.integers(3)], bool(rng.integers(2))
    rows, columns = x.shape
    fitting = {None: (), 0: (columns,), 1: (rows,)}[axis]
    kept = {None: (1, 1), 0: (1, columns), 1: (rows, 1)}[axis]
    shape = (kept if keep else fitting) if rng.random() < 0.8 else (fitting if keep else kept)
    name = f"{reduce.__name__}(x, axis={axis}, keepdims={keep}, out=zeros({shape}))"

    def of(y: Any) -> Any:
        out = np.zeros(shape, bool if reduce in (np.any, np.all) else "f8")
        assert reduce(y * 1.0, axis=axis, keepdims=keep, out=out) is out
        return out.reshape(kept) * 1.0

    return Step(name, lambda y: CONTEXT.from_numpy(of(y)), of)


def added_into(rng: Random, x: Cells) -> Step:
    shape = x.shape if rng.random() < 0.8 else (x.shape[0] + 1, x.shape[1])

    def of(y: Any) -> Any:
        out = np.ones(shape)
        out += y
        return out if shape == x.shape else _refused()

    def of_numpy(y: Cells) -> Cells:
        return y + 1.0 if shape == x.shape else _refused()

    return Step(f"ones({shape}) += x", lambda y: CONTEXT.from_numpy(of(y)), of_numpy)


def _refused() -> Any:
    raise ValueError("of another shape")


def assigned(rng: Random, x: Cells) -> Step:
    rows, columns = (slice(*sorted(rng.integers(-5, 6, 2).tolist())) for _ in range(2))
    key = (rows, columns) if rng.random() < 0.5 else rows

    def of(y: Any) -> Any:
        made = y * 1.0
        made[key] = 7.0
        return made

    return same(f"x[{key}] = 7.0", of)


SIMPLE: list[tuple[str, Callable[[Any], Any]]] = [
    ("x.T", lambda y: y.T),
    ("-x", lambda y: -(y * 1.0)),
    ("abs(x)", lambda y: np.abs(y * 1.0)),
    ("x.clip(-2, 4)", lambda y: (y * 1.0).clip(-2.0, 4.0)),
    ("where(x > 1, x, 0)", lambda y: np.where(y > 1, y * 1.0, 0.0)),
    ("x @ x.T", lambda y: (y * 1.0) @ (y * 1.0).T),
    ("x.T @ x", lambda y: (y * 1.0).T @ (y * 1.0)),
    ("~(x > 0) ^ (x < 3)", lambda y: (~(y > 0) ^ (y < 3)) * 1.0),
    ("(x > 0) & any(x > 2)", lambda y: ((y > 0) & np.any(y > 2, axis=0, keepdims=True)) * 1.0),
]


def simple(rng: Random, x: Cells) -> Step:
    return same(*SIMPLE[rng.integers(len(SIMPLE))])


STEPS = [sliced, sliced, reduced, reduced, repeated, repeated, reshaped, written, added_into]
STEPS += [assigned, simple, simple, masked]


ONE_ROW = "the right one has to be of the same shape"
"""What is refused that NumPy computes: one row that a mask left is not repeated beside several."""


def attempt(function: Callable[[Any], Any], value: Any) -> Any:
    """Return what a function makes; the error if it fails."""
    try:
        return function(value)
    except Exception as error:
        return error


def computed(lazy: Any, settings: Settings) -> Cells:
    if isinstance(lazy, Exception):
        raise lazy
    return np.asarray(lazy.compute(settings))


def compared(seed: int) -> None:
    """Apply random steps to both, and compare what comes of them."""
    rng = np.random.default_rng(seed)
    kind = ("f8", "f8", "f4", "i8", "i1")[rng.integers(5)]
    x = rng.integers(-6, 7, rng.integers(0 if rng.random() < 0.1 else 1, 6, 2)).astype(kind)
    lazy, names = CONTEXT.from_numpy(x), [f"x = {x!r}"]
    for number in range(int(rng.integers(1, 6))):
        step = masked(rng, x) if number == 0 else STEPS[rng.integers(len(STEPS))](rng, x)
        names.append(step.name)
        lazy, expected = attempt(step.lazily, lazy), attempt(step.of_numpy, x)
        if isinstance(expected, Exception) or isinstance(lazy, Exception):
            break
        x = expected
        if x.size > 2000:
            break
    for settings in (FUSED, Settings()):
        found = attempt(partial(computed, settings=settings), lazy)
        problem = "\n".join([*names, f"found {found!r}", f"expected {expected!r}"])
        failed = isinstance(found, Exception)
        if failed and ONE_ROW in str(found):
            continue
        assert failed == isinstance(expected, Exception), problem
        if not failed:
            assert np.shape(found) == np.shape(expected), problem
            np.testing.assert_allclose(found, expected, 1e-4, 1e-4, err_msg=problem)


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_random_expressions_of_unknown_rows_are_numpys(first: int) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # NumPy warns of means of nothing.
        warnings.simplefilter("ignore", RuntimeWarning)
        for seed in range(first, first + 50):
            compared(seed)
