"""Random expressions of arrays, computed by NumPy and in blocks: values, shapes and dtypes agree.

A finding is printed as a program that shows it by itself. Where NumPy raises, so do blocks; what an
Array refuses with the advice to call compute() is no finding.
"""

from __future__ import annotations

import contextlib
import os
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

import freestone as fs
from tests.collections.expressions import Grammar
from tests.fuzz.fuzzers import Check

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f8", "c8", "c16"]
DTYPES += ["M8[D]", "M8[h]", "m8[s]", "m8[h]", ">f8", ">i4"]
REALS = [0.0, -0.0, 1.0, 1.5, -2.0, 3.25, 0.1, 7.0, float("inf"), float("nan")]
REFUSALS = ["of an Array", "of arrays that are cut", "how many rows a mask chooses"]
REFUSALS += ["there is no min of no cells"]
# What ufuncs say of types, such as a date and a duration, that operators call unequal.
UNCOMPARED = ["did not contain a loop", "cannot use operands with types"]
RTOL = {"f2": 2e-2, "f4": 2e-4, "f8": 1e-9, "c8": 2e-4, "c16": 1e-9}


@dataclass
class Case:
    """An expression and the arrays in it.

    Attributes
    ----------
    seed : str
        Of which it is made.
    arrays : dict
        Arrays by name, which are cut into blocks.
    offsets : list of int
        Where the blocks begin.
    text : str
        The expression; ``w`` in it is a whole row.
    """

    seed: str
    arrays: dict[str, Any] = field(default_factory=dict)
    offsets: list[int] = field(default_factory=list)
    text: str = ""

    @classmethod
    def drawn(cls, seed: str) -> Case:
        """Draw a case; equal seeds draw equal cases."""
        rng = random.Random(seed)
        case = cls(seed, offsets=_offsets(rng))
        rows = case.offsets[-1]
        row: tuple[int, ...] = rng.choice([(), (), (1,), (3,), (3,), (2,), (0,), (2, 2), (3, 1)])
        for name in ("x", "y"):
            case.arrays[name] = _array(rng, (rows, *row), rng.choice(DTYPES))
        case.arrays["w"] = _array(rng, row, rng.choice(DTYPES))
        case.text = Grammar(rng, row, rows).drawn()
        if any(word in case.text for word in ("mean", "var", "std", "average")):
            # What is left when a mean is taken away from huge numbers depends on the order.
            is_finite = "nan_to_num" in case.text
            case.arrays = {name: _calmed(array, is_finite) for name, array in case.arrays.items()}
        return case

    def expected(self) -> Any:
        """Return what NumPy makes of it."""
        return eval(self.text, {"np": np, **self.arrays})

    def found(self) -> Any:
        """Return what is made of it in blocks."""
        cut = {
            name: array if name == "w" else fs.Array.from_numpy(array, self.offsets)
            for name, array in self.arrays.items()
        }
        made = eval(self.text, {"np": np, **cut})
        return tuple(map(_value, made)) if isinstance(made, tuple) else _value(made)

    def tolerance(self) -> float:
        """Return how exact the least exact type in it is."""
        words = {"f4": "f4", "f2": "f2", "float16": "f2", "float32": "f4", "complex64": "f4"}
        found = {code for word, code in words.items() if word in self.text}
        found |= {array.dtype.str[1:] for array in self.arrays.values()}
        return max(RTOL.get(code, 0) for code in found | {"f8"})

    def program(self) -> str:
        """Return a program that shows the case."""
        lines = [f"# seed {self.seed}", "import numpy as np, freestone as fs", "nan = np.nan"]
        lines += ["inf = np.inf", "def made(f):", "    try: return repr(f())"]
        lines += ["    except Exception as error: return repr(error)"]
        for name, array in self.arrays.items():
            values = f"np.array({array.tolist()!r}, object)" if array.dtype.kind not in "mM" else ""
            values = values or f"np.array({array.astype('i8').tolist()!r}, 'i8')"
            lines.append(f"{name} = {values}.reshape({array.shape}).astype('{array.dtype.str}')")
        lines.append(f"print(made(lambda: {self.text}))")
        lines += [f"{n} = fs.Array.from_numpy({n}, {self.offsets})" for n in ("x", "y")]
        lines.append(f"print(made(lambda: ({self.text}).compute()))")
        return "\n".join(lines)


def _calmed(array: Any, is_finite: bool) -> Any:
    """Return the array without huge numbers; infinities are some if they are made finite."""
    if is_finite and array.dtype.kind in "fc":
        array = array.copy(order="K")
        array[np.isinf(array)] = 7
    large = array.dtype.kind in "iu" and array.dtype.itemsize == 8
    return array % 1000 if large else array


def _offsets(rng: random.Random) -> list[int]:
    """Cut up to a dozen rows into blocks, of which some are empty."""
    rows = rng.choice([0, 1, 1, 2, 3, 4, 5, 7, 12])
    cuts = sorted(rng.randint(0, rows) for _ in range(rng.randint(0, 4)))
    return [0, *cuts, rows]


def _array(rng: random.Random, shape: tuple[int, ...], code: str) -> Any:
    dtype = np.dtype(code)
    count = int(np.prod(shape))
    if dtype.kind in "fc":
        values: list[Any] = [rng.choice(REALS[: rng.choice([8, 10])]) for _ in range(count)]
        if dtype.kind == "c":
            values = [complex(value, rng.choice(REALS[:8])) for value in values]
    elif dtype.kind in "mM":
        values = [rng.choice([0, 1, 5, -3, 100, 24]) for _ in range(count)]
        values = [rng.choice([value, value, np.iinfo("i8").min]) for value in values]
        return np.array(values, "i8").astype(code).reshape(shape)
    else:
        limits = np.iinfo(dtype) if dtype.kind != "b" else None
        ends = [0, 1] if limits is None else [0, 1, 2, 3, 7, 100, int(limits.max), int(limits.min)]
        values = [rng.choice(ends[: rng.choice([6, 8])]) for _ in range(count)]
    array = np.array(values, object).astype(dtype).reshape(shape)
    return _laid_out(rng, array)


def _laid_out(rng: random.Random, array: Any) -> Any:
    """Return the same array, in another order in memory now and then."""
    way = rng.randint(0, 7)
    if way == 0:
        return np.asfortranarray(array)
    if way == 1 and array.ndim:
        return np.ascontiguousarray(array[::-1])[::-1]
    if way == 2 and array.ndim:
        return np.repeat(array, 2, axis=0)[::2]
    return array


def problem_of(case: Case) -> str | None:
    """Return what is wrong with a case; None if nothing is; a refusal as ``refused``."""
    # What Dask computes is compared with NumPy's by `test_numpy_calls`.
    lazily = mock.patch.dict(os.environ, FREESTONE_NUMPY_FALLBACK="error")
    with warnings.catch_warnings(), np.errstate(all="ignore"), lazily:
        warnings.simplefilter("ignore")
        try:
            expected, failure = case.expected(), None
        except Exception as error:
            expected, failure = None, error
        try:
            found = case.found()
        except Exception as error:
            if failure is not None:
                return None
            if any(words in str(error) for words in REFUSALS):
                return "refused"
            if any(words in str(error) for words in UNCOMPARED) and _compares(case.text):
                return "refused"
            return f"raises {type(error).__name__}: {error}, and NumPy gives {expected!r}"
        if failure is not None and "negative integer powers" in str(failure):
            # Of the rows that a slice takes none has to be one that fails.
            return "refused"
        if failure is not None:
            return f"gives {found!r}, and NumPy raises {type(failure).__name__}: {failure}"
        return _difference(found, expected, case.tolerance())


def _compares(text: str) -> bool:
    """Tell whether values of any types may be compared, which NumPy's operators alone allow."""
    return "==" in text or "!=" in text


def _difference(found: Any, expected: Any, tolerance: float) -> str | None:
    if isinstance(expected, tuple):
        pairs = zip(found, expected, strict=True)
        both = (_difference(one, other, tolerance) for one, other in pairs)
        return next((one for one in both if one), None)
    ours, theirs = np.asarray(found), np.asarray(expected)
    # What goes through a cluster may come back in the machine's own byte order.
    theirs, ours = (one.astype(one.dtype.newbyteorder("=")) for one in (theirs, ours))
    if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
        return f"is of {ours.dtype} and shape {ours.shape}, not {theirs.dtype} and {theirs.shape}"
    if theirs.dtype.kind not in "fc":
        equal = np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind in "mM")
    else:
        rtol = max(tolerance, RTOL[theirs.dtype.str[1:]])
        equal = np.allclose(ours, theirs, rtol=rtol, atol=rtol, equal_nan=True)
    return None if equal else f"gives {ours!r}, not {theirs!r}"


def _value(one: Any) -> Any:
    return one.compute() if hasattr(one, "compute") else one


def _cluster() -> fs.Cluster:
    return fs.Cluster(executors=2, memory="256MiB", numpy_fallback="error")


@contextlib.contextmanager
def checking(where: str = "") -> Iterator[Check]:
    """Open the check: here, or on a "cluster"."""

    def check(seed: int) -> str | None:
        case = Case.drawn(str(seed))
        problem = problem_of(case)
        if problem in (None, "refused"):
            return None
        return f"{case.text} {problem}".replace("\n", " ") + f"\n{case.program()}"

    with _cluster() if where else contextlib.nullcontext():
        yield check
