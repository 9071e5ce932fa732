"""What programs for NumPy do with arrays in blocks: times, fields of records, methods, errors."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import freestone as fs
from freestone.errors import ScriptRunError

pytestmark = pytest.mark.filterwarnings("ignore:.* is not computed lazily")

DAYS = np.arange("2024-01-01", "2024-01-12", dtype="M8[D]")
NUMBERS = np.arange(44).reshape(11, 4)
RECORDS = np.array(
    [(n, n / 2, f"x{n}", (n, -n)) for n in range(11)],
    [("i", "i4"), ("f", "f8"), ("s", "U3"), ("v", "i2", (2,))],
)


def both(use: Callable[[Any], Any], array: np.ndarray[Any, Any], rows: int = 3) -> None:
    """Compare what is made of an array in blocks with what is made of NumPy's."""
    found, expected = np.asarray(use(fs.Array.from_numpy(array, rows))), np.asarray(use(array))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rows", [1, 3, 11])
@pytest.mark.parametrize(
    "use",
    [
        lambda d: np.array([d.min(), d.max()]),
        lambda d: np.array([[d.min()], [np.datetime64("2024-02-01T03")]]),
        lambda d: np.asarray([d[0], d[1]], "M8[s]"),
        lambda d: d == [d.min()] * 11,
        lambda d: [d.min()] < d,
        lambda d: d - [d.min()] * 11,
        lambda d: np.minimum(d, [d.max() - 3] * 11),
        lambda d: d + [d[1] - d[0]] * 11,
        lambda d: np.isin(np.arange(11), [d.argmax(), 3]),
        lambda d: np.concatenate([d, [d.max()]]),
        lambda d: np.searchsorted(d, [d.min(), d.max()]),
        lambda d: d > dt.date(2024, 1, 5),
        lambda d: dt.date(2024, 1, 5) <= d,
        lambda d: d.astype("M8[s]") > dt.datetime(2024, 1, 5, 12),
        lambda d: (d - d[0]) > dt.timedelta(days=2),
        lambda d: d.astype("M8[ns]") > pd.Timestamp("2024-01-05").to_datetime64(),
    ],
)
def test_times(use: Callable[[Any], Any], rows: int) -> None:
    both(use, DAYS, rows)


def test_times_of_python_and_pandas_are_those_of_numpy() -> None:
    days = fs.Array.from_numpy(DAYS, 4)
    late = np.array([days.min(), days.max()], "M8[ns]")
    assert (days + dt.timedelta(days=1)).compute()[0] == np.datetime64("2024-01-02")
    assert (days - dt.date(2024, 1, 1)).compute()[1] == np.timedelta64(1, "D")
    exact = days.astype("M8[ns]") > pd.Timestamp("2024-01-05 00:00:00.000000001")
    assert exact.sum().compute() == 6
    with pytest.raises(TypeError, match=r"a time of a zone.*replace\(tzinfo=None\)"):
        days > dt.datetime(2024, 1, 1, tzinfo=dt.UTC)  # noqa: B015
    with pytest.raises(TypeError, match=r"times and texts.*np\.datetime64"):
        days > "2024-01-05"  # noqa: B015
    assert late.dtype == "M8[ns]"
    # What Python's times can't hold is not cut off.
    fine = fs.Array.from_numpy(late + np.timedelta64(1, "ns"), 1)
    with pytest.raises(ValueError, match="Could not convert object"):
        np.array([fine.min(), fine.max()])
    assert not hasattr(fs.Array.from_numpy(NUMBERS, 3).sum(), "year")


@pytest.mark.parametrize("rows", [1, 4, 11])
@pytest.mark.parametrize(
    "use",
    [
        lambda r: r["i"],
        lambda r: r["f"].mean(),
        lambda r: r["v"] * 2,
        lambda r: r["v"][:, 1],
        lambda r: r[["i", "s"]],
        lambda r: r[r["i"] > 5],
        lambda r: r[r["i"] > 5]["f"].sum(),
        lambda r: r["s"] == "x3",
        lambda r: r[3]["f"],
        lambda r: r[2:7]["i"],
    ],
)
def test_fields_of_records(use: Callable[[Any], Any], rows: int) -> None:
    both(use, RECORDS, rows)


def test_a_field_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="no field of name 'z'; there are 'i', 'f', 's', 'v'"):
        fs.Array.from_numpy(RECORDS, 4)["z"]
    with pytest.raises(IndexError, match="only integers, slices"):
        fs.Array.from_numpy(NUMBERS, 4)["z"]


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.clip(min=3),
        lambda x: x.clip(2, max=9),
        lambda x: x.item(5),
        lambda x: x.item(-1),
        lambda x: x.item(2, 1),
        lambda x: x.item((2, 1)),
        lambda x: x[0].item(3),
        lambda x: x[:, 0].item(3),
        lambda x: x.compress([True, False, True], axis=0),
        lambda x: (x + 1).compress(np.arange(4) > 1, axis=1),
    ],
)
def test_methods(use: Callable[[Any], Any]) -> None:
    both(use, NUMBERS)


def test_errors_of_values_are_those_of_numpy() -> None:
    numbers = fs.Array.from_numpy(NUMBERS, 3)
    with pytest.raises(ValueError, match="Integers to negative integer powers") as caught:
        (numbers**-1).compute()
    assert isinstance(caught.value, ScriptRunError)
    with pytest.raises(ValueError, match="can only convert an array of size 1"):
        numbers.item()


def test_errors_of_values_are_those_of_numpy_on_a_cluster(cluster: fs.Cluster) -> None:
    with pytest.raises(ValueError, match="Integers to negative integer powers"):
        (2 ** -fs.Array.from_numpy(NUMBERS, 3)).compute()


def test_ufuncs_of_two_results_write_into_two_arrays() -> None:
    array = np.arange(6.0) / 4
    mask = array > 0.5
    found, wanted = np.full((2, 2, 6), -99.0)
    both = np.modf(fs.Array.from_numpy(array, 2), out=tuple(found), where=mask)
    np.testing.assert_array_equal(both, np.modf(array, out=tuple(wanted), where=mask))
    np.testing.assert_array_equal(found, wanted)
