"""NumPy's functions and methods give the same of arrays in blocks; see `numpy_calls`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.client.future import Future
from tests.collections.numpy_calls import ARGUMENTS, CALLS
from tests.fetching import noting

pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")

ON_A_CLUSTER = [
    *(
        "np.sum(x, axis=0)",
        "x.reshape(6, 6)",
        "v[::2]",
        "x[[0, 5]]",
        "np.unique(i, return_counts=True)",
    ),
    *(
        "np.median(x, axis=0)",
        "np.percentile(v, 30)",
        "np.sort(x, axis=0)",
        "np.sort(v)",
        "np.linalg.svd(x)[1]",
    ),
    *("np.where(b)", "np.fft.fft(x, axis=0)", "np.linalg.eigh(q)[0]", "np.add.accumulate(v)"),
    *("x.T + v", "np.cov(x, rowvar=False)", "np.array2string(v)", "np.linalg.slogdet(q)"),
]


def blocks() -> dict[str, Any]:
    return {name: fs.Array.from_numpy(array, 5) for name, array in ARGUMENTS.items()}


def plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return np.asarray(value) if hasattr(value, "__array__") else value


def evaluated(call: str, arguments: dict[str, Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return plain(eval(call, {"np": np, **arguments}))


def check(found: Any, expected: Any) -> None:
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            check(one, other)
    elif not isinstance(expected, np.ndarray):
        assert found == expected
    else:
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        if expected.dtype.kind in "fc":
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(found, expected)


@pytest.fixture(scope="module")
def here() -> dict[str, Any]:
    return blocks()


@pytest.mark.parametrize("call", CALLS)
def test_the_same_as_numpy(here: dict[str, Any], call: str) -> None:
    expected = evaluated(call, ARGUMENTS)
    check(evaluated(call, here), expected)


def test_there_are_as_many_as_people_use() -> None:
    assert len(CALLS) >= 376


def test_on_a_cluster(two_workers: fs.Cluster) -> None:
    there = blocks()
    for call in ON_A_CLUSTER:
        check(evaluated(call, there), evaluated(call, ARGUMENTS))


@pytest.mark.filterwarnings("ignore:.*is not computed lazily")
def test_arrays_come_back_in_blocks_and_nothing_is_fetched(
    cluster: fs.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[int] = []
    x = fs.Array.from_function(400_000, 50_000, lambda a, b: np.arange(a, b, dtype=float) % 1000)
    monkeypatch.setattr(Future, "_value", noting(fetched))
    reverse, ordered = x[::-1], np.sort(x)
    assert isinstance(reverse, fs.Array)
    assert isinstance(ordered, fs.Array)
    assert (reverse.shape, ordered.shape) == ((400_000,), (400_000,))
    assert sum(fetched) < 50_000
    assert np.asarray(ordered[:800]).tolist() == [0.0] * 400 + [1.0] * 400
    assert np.asarray(reverse[:2]).tolist() == [999.0, 998.0]


def test_a_warning_says_who_computes_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from freestone.lang.arrays import fallback

    monkeypatch.setattr(fallback, "_warned", set())
    x = fs.Array.from_numpy(np.arange(12.0), 5)
    with pytest.warns(UserWarning, match=r"roll of an Array .* Dask computes it now") as caught:
        np.roll(x, 1)
    assert caught[0].filename == __file__
    np.roll(x, 2)
    with pytest.warns(UserWarning, match="fft of an Array .* one worker computes it now"):
        np.fft.fft(x)


def test_a_setting_refuses_it() -> None:
    with fs.Cluster(executors=1, memory="64MiB", numpy_fallback="error"):
        x = fs.Array.from_numpy(np.arange(12.0), 5)
        with pytest.raises(TypeError, match=r"np.roll of an Array is not computed lazily"):
            np.roll(x, 1)
        with pytest.raises(TypeError, match="have no numbers yet"):
            x[x > 1][::2]
    with pytest.raises(fs.errors.ConfigurationError, match="'dask' or 'error'"):
        fs.Cluster(numpy_fallback="numpy")


@pytest.mark.filterwarnings("ignore:.*is not computed lazily")
def test_bad_arguments_get_numpys_error() -> None:
    x = fs.Array.from_numpy(np.ones((4, 3)), 3)
    with pytest.raises(np.linalg.LinAlgError, match="must be square"):
        np.linalg.inv(x)
    with pytest.raises(ValueError, match="cannot reshape"):
        x.reshape(5, 5)
    with pytest.raises(IndexError):
        x[[7]]


@pytest.mark.filterwarnings("ignore:.*is not computed lazily")
@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("at", [17, -17, [0, 17], [-17], np.array([17])])
def test_positions_out_of_bounds_get_numpys_error(rows: int, axis: int | None, at: Any) -> None:
    x = np.ones((rows, 2))
    array = fs.Array.from_numpy(x, 3)
    for call in (
        lambda a: np.delete(a, at, axis=axis),
        lambda a: np.insert(a, at, 7.0, axis=axis),
        lambda a: np.insert(arr=a, obj=at, values=7.0, axis=axis),
    ):
        with pytest.raises(IndexError) as expected:
            call(x)
        with pytest.raises(IndexError, match=re.escape(str(expected.value))):
            call(array)


@pytest.mark.filterwarnings("ignore:.*is not computed lazily")
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
def test_an_inverse_keeps_its_type_and_takes_nans(dtype: str) -> None:
    x = (np.eye(3) * 2 + 1).astype(dtype)
    for matrix in (x, np.full_like(x, np.nan)):
        found = np.asarray(np.linalg.inv(fs.Array.from_numpy(matrix, 2)))
        assert found.dtype == dtype
        np.testing.assert_allclose(found, np.linalg.inv(matrix), rtol=1e-5)


TIMES = np.arange(7).astype("m8[s]")
TEXTS = np.array(list("freesto"))
OF_OTHERS: list[tuple[Any, Callable[[Any], Any]]] = [
    (TEXTS, np.argmax),
    (TEXTS, np.argmin),
    (TIMES, np.argmax),
    (TIMES, np.nansum),
    (TIMES, lambda x: np.tensordot(x, x, axes=([0], [0]))),
    (TIMES, lambda x: x.mean(dtype="f4")),
    (TIMES, lambda x: x.mean(axis=0, dtype="f4")),
]


@pytest.mark.filterwarnings("ignore:.*is not computed lazily")
@pytest.mark.parametrize(("x", "call"), OF_OTHERS)
def test_times_and_texts_are_what_numpy_makes_of_them(x: Any, call: Callable[[Any], Any]) -> None:
    check(plain(call(fs.Array.from_numpy(x, 3))), plain(call(x)))


@pytest.mark.filterwarnings("ignore:.*is not computed lazily")
def test_what_numpy_refuses_of_texts_is_refused() -> None:
    with pytest.raises(TypeError):
        np.histogram(TEXTS, bins=5, range=(0, 1))
    with pytest.raises(TypeError):
        np.histogram(fs.Array.from_numpy(TEXTS, 3), bins=5, range=(0, 1))


def test_what_writes_is_refused() -> None:
    x = fs.Array.from_numpy(np.ones(4), 3)
    out = np.zeros(4)
    for call in (
        lambda: np.copyto(x, 0),
        lambda: np.put(x, [0], 5),
        lambda: np.cumsum(x, out=out),
        lambda: np.add(1, 1, out=x),
    ):
        with pytest.raises(TypeError, match="call compute"):
            call()
    assert not out.any()


def test_sparse_blocks_are_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    x = fs.Array.from_numpy(sparse.csr_matrix(np.eye(4)), 2)
    for call in (lambda: np.roll(x, 1), lambda: np.ravel(x)):
        with pytest.raises(TypeError, match="call compute"):
            call()


@pytest.mark.parametrize("make", ["csr_array", "csr_matrix", "coo_array"])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.filterwarnings("ignore:.*is not computed lazily")
def test_matrices_of_scipys_are_multiplied_with_arrays(columns: int, make: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    left = getattr(sparse, make)(np.arange(12.0).reshape(3, 4))
    right = np.arange(4.0 * columns).reshape(4, columns)
    for blocks in (right, sparse.csr_array(right)):
        found = left @ fs.Array.from_numpy(blocks, 3)
        np.testing.assert_array_equal(np.asarray(found), left @ right)


@pytest.mark.parametrize("make", [np.asarray, "csr_array"])
def test_on_the_right_they_are_refused_with_what_to_write(make: Any) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    whole, m = np.arange(12.0).reshape(4, 3), sparse.csr_array(np.eye(3)[:, :2])
    given = make(whole) if callable(make) else getattr(sparse, make)(whole)
    x = fs.Array.from_numpy(given, 2)
    for call in (lambda: x @ m, lambda: x + m, lambda: np.dot(x, m)):
        with pytest.raises(TypeError, match=r"x.map_blocks\(lambda block: block @ m\)"):
            call()
    np.testing.assert_array_equal(np.asarray(x.map_blocks(lambda block: block @ m)), whole @ m)


DIFFERENT_IN_DASK: list[Callable[[Any], Any]] = [
    lambda x: np.take(x, [0, 5]),
    lambda x: x.take(3),
    lambda x: np.take(x, [0, 2], axis=0),
    lambda x: np.concatenate([x, x], axis=None),
    lambda x: np.einsum("ij,kj->ik", x, x),
    lambda x: np.tensordot(x, x, axes=([0], [0])),
    lambda x: np.vdot(x, x),
    lambda x: np.insert(x, 1, 5, axis=0),
    lambda x: np.linalg.norm(x, np.inf),
    lambda x: np.linalg.norm(x, ord=1, axis=0),
    np.argmin,
    np.argmax,
    lambda x: np.imag(x.sum()),
    lambda x: np.einsum("ij->", x),
    lambda x: np.insert(x, 1, 5),
    np.nanmin,
    np.nanmax,
    np.nanargmax,
    lambda x: np.cumsum(x[:, 0]),
    lambda x: np.cumprod(x[:, 1]),
]


@pytest.mark.filterwarnings("ignore:.*is not computed lazily")
@pytest.mark.parametrize("blocks", [3, [0, 0, 1, 7, 7]])
@pytest.mark.parametrize("dtype", ["i1", "i8", "f8"])
def test_the_same_as_numpy_where_dask_is_not(dtype: str, blocks: int | list[int]) -> None:
    x = (np.arange(21).reshape(7, 3) * 11 % 50 - 20).astype(dtype)
    array = fs.Array.from_numpy(x, blocks)
    for call in DIFFERENT_IN_DASK:
        check(plain(call(array)), plain(call(x)))


@pytest.mark.filterwarnings("ignore:.*is not computed lazily")
@pytest.mark.parametrize("call", [np.angle, np.triu, lambda x: np.isin(x, [1])])
def test_no_rows_in_several_blocks(call: Callable[[Any], Any]) -> None:
    x = np.zeros((0, 3))
    check(plain(call(fs.Array.from_numpy(x, [0, 0, 0]))), plain(call(x)))


def test_a_row_of_records_has_their_type(two_workers: fs.Cluster) -> None:
    records = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
    found = fs.Array.from_numpy(records, 2)[1].compute()
    assert (found.dtype, found.tolist()) == (records.dtype, (3, 4.5))


@pytest.mark.parametrize("values", [0, [7], np.int32(3)])
def test_what_is_inserted_does_not_round_integers(values: Any) -> None:
    whole = np.arange(4, dtype=np.uint64) + 2**63
    found = np.insert(fs.Array.from_numpy(whole, 2), 1, values, axis=0).compute()
    np.testing.assert_array_equal(found, np.insert(whole, 1, values, axis=0))


@pytest.mark.filterwarnings("ignore:insert of an Array")
def test_complex_numbers_inserted_into_reals_are_warned_of(two_workers: fs.Cluster) -> None:
    whole, values = np.arange(4.0), np.array([1 + 2j, 3j])
    inserted = (values, fs.Array.from_numpy(values, 1))
    for given in inserted:
        with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
            found = np.insert(fs.Array.from_numpy(whole, 2), 1, given)
        with pytest.warns(np.exceptions.ComplexWarning):
            np.testing.assert_array_equal(np.asarray(found), np.insert(whole, 1, values))
    with pytest.raises(TypeError, match="not 'complex'"):
        np.insert(fs.Array.from_numpy(whole, 2), 1, 1 + 2j)


@pytest.mark.parametrize("ufunc", [np.add, np.negative])
def test_ufuncs_that_write_in_place_are_refused(ufunc: np.ufunc) -> None:
    x = fs.Array.from_numpy(np.arange(4.0), 2)
    with pytest.raises(TypeError, match=rf"np\.{ufunc.__name__}\.at of an Array"):
        ufunc.at(x, [0], *([5.0] if ufunc.nin == 2 else []))
