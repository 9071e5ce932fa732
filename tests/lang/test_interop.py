"""Exchange with other libraries: in place both ways, inputs never changed, results that last."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from typing import Any

import numpy as np
import pytest

from freestone.lang.daphnelib import DaphneContext

CONTEXT = DaphneContext()
Array = np.ndarray[Any, Any]


def base() -> Array:
    return np.arange(1.0, 41.0).reshape(5, 8)


VIEWS = {
    "rows": lambda a: a,
    "columns": np.asfortranarray,
    "transposed": lambda a: a.T,
    "every other row": lambda a: a[::2],
    "every other column": lambda a: a[:, ::2],
    "backwards": lambda a: a[::-1, ::-1],
    "one row many times": lambda a: np.broadcast_to(a[0], (5, 8)),
    "a column": lambda a: a[:, 3],
    "read only": lambda a: np.frombuffer(a.tobytes()).reshape(5, 8),
    "odd address": lambda a: odd(a),
    "other order of bytes": lambda a: a.astype(">f8"),
    "halves": lambda a: a.astype("f2"),
    "short": lambda a: a.astype("i2"),
    "truth": lambda a: a > 20,
    "no cells": lambda a: a[:0],
}


def odd(array: Array) -> Array:
    """Return a copy that begins at an odd address."""
    memory = np.empty(array.nbytes + 1, "u1")
    out = memory[1:].view(array.dtype).reshape(array.shape)
    out[...] = array
    assert not out.flags.aligned
    return out


@pytest.mark.parametrize("name", VIEWS)
def test_arrays_arrive_as_they_are_and_never_change(name: str) -> None:
    array = VIEWS[name](base())
    before = array.copy()
    x = CONTEXT.from_numpy(array)
    column = before.reshape(-1, 1) if before.ndim == 1 else before
    one = column.dtype.type(1) if column.dtype != bool else np.int64(1)
    for lazy, expected in [
        (x, column),
        (x + one, column + one),
        (-(x.asType("f64")) * 0.5, -column.astype("f8") * 0.5),
        (x.t(), column.T),
        (x.asType("f64").sum(1), column.astype("f8").sum(0, keepdims=True)),
        (x.asType("f64").t() @ x.asType("f64"), column.T.astype("f8") @ column.astype("f8")),
    ]:
        np.testing.assert_allclose(lazy.compute(), expected)
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("name", ["rows", "columns", "transposed", "every other row", "a column"])
def test_arrays_come_in_place(name: str) -> None:
    array = VIEWS[name](base())
    x = CONTEXT.from_numpy(array)
    total = x.sum()
    assert total.compute() == array.sum()
    array[0] += 1000.0
    # What is computed later sees what is there then: nothing was copied.
    assert total.compute() == array.sum()
    kept = CONTEXT.from_numpy(array, shared_memory=False).sum()
    before = array.sum()
    array[0] += 1000.0
    assert kept.compute() == before


def test_results_that_are_still_the_input_can_only_be_read() -> None:
    array = base()
    x = CONTEXT.from_numpy(array)
    for same in (x.compute(), x.t().compute(), x[1:3, :].compute(), x.reshape(8, 5).compute()):
        assert np.shares_memory(same, array)
        with pytest.raises(ValueError, match="read-only"):
            same[0, 0] = 5.0
    made = (x * 2.0).compute()
    made[0, 0] = -1.0
    assert array[0, 0] == 1.0


def test_results_last_as_long_as_somebody_looks_at_them() -> None:
    array = base()
    watch = weakref.ref(array)
    x = CONTEXT.from_numpy(array)
    turned = x.t().compute()
    del array, x
    gc.collect()
    assert turned[3, 0] == 4.0
    del turned
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (np.zeros((2, 2, 2)), "two dimensions, not 3"),
        (np.float64(3.0), "two dimensions, not 0"),
        (np.zeros((2, 2), "c16"), "complex128 are not supported"),
        (np.array([[1, None]], object), "numbers of one type, or strings"),
        (np.ma.masked_array([1.0, 2.0], [0, 1]), "no masked cells"),
        (np.zeros(3, "M8[s]"), "not supported"),
    ],
)
def test_what_no_matrix_holds_is_refused(wrong: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        CONTEXT.from_numpy(wrong)


def test_strings_go_in_and_out() -> None:
    words = np.array([["a", "bc"]])
    for array in (words, words.astype(object), words.astype(bytes)):
        found = CONTEXT.from_numpy(array).upper().compute()
        assert found.tolist() == [["A", "BC"]]


def test_numpy_takes_lazy_values() -> None:
    x = CONTEXT.from_numpy(base())
    np.testing.assert_array_equal(np.asarray(x * 2.0), base() * 2)
    np.testing.assert_array_equal(np.from_dlpack(x * 2.0), base() * 2)
    changed = np.from_dlpack(x)
    assert not np.shares_memory(changed, x.compute())


class Tensor:
    """What hands out memory by DLPack, as tensors of other libraries do."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.asked = 0

    def __dlpack__(self, **options: Any) -> Any:
        self.asked += 1
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class Held:
    """What a library that is given a capsule of DLPack's holds."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class GpuTensor(Tensor):
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("this tensor is on a device; copy it first")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


@pytest.mark.parametrize("take", ["from_dlpack", "from_pytorch", "from_tensorflow"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1"])
def test_tensors_come_in_place(take: str, dtype: str) -> None:
    for view in (lambda a: a, lambda a: a[::2, 1:]):
        tensor = Tensor(view(base().astype(dtype)))
        x = getattr(CONTEXT, take)(tensor)
        assert tensor.asked == 1
        np.testing.assert_array_equal((x + x).compute(), tensor.array * np.array(2, dtype))
        total = x.asType("f64").sum()
        tensor.array[0, 0] += 50
        assert total.compute() == tensor.array.sum()
    tensor = Tensor(np.zeros((2, 3, 4), dtype))
    if take != "from_dlpack":
        matrix, shape = getattr(CONTEXT, take)(tensor, return_shape=True)
        assert (matrix.shape, shape) == ((2, 12), (2, 3, 4))


def test_a_tensor_keeps_its_memory_while_it_is_used() -> None:
    tensor = Tensor(base())
    watch = weakref.ref(tensor.array)
    total = CONTEXT.from_pytorch(tensor).sum()
    del tensor
    gc.collect()
    assert total.compute() == base().sum()
    del total
    gc.collect()
    assert watch() is None


def test_a_tensor_on_a_device_is_reported() -> None:
    with pytest.raises((BufferError, RuntimeError), match="device"):
        CONTEXT.from_pytorch(GpuTensor(base()))


def test_results_become_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def taken(array: Array) -> Tensor:
        made.append(array)
        return Tensor(array)

    torch, tensorflow = types.ModuleType("torch"), types.ModuleType("tensorflow")
    torch.from_numpy = taken  # type: ignore[attr-defined]
    tensorflow.convert_to_tensor = taken  # type: ignore[attr-defined]
    dlpack = types.SimpleNamespace(from_dlpack=lambda capsule: taken(np.from_dlpack(Held(capsule))))
    tensorflow.experimental = types.SimpleNamespace(dlpack=dlpack)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    large = CONTEXT.from_numpy(np.ones((1000, 900))) * 2.0
    assert large.compute(asTensorFlow=True).array.sum() == 1_800_000
    assert made[-1].ctypes.data % 64 == 0
    x = CONTEXT.from_numpy(base()) * 2.0
    tensor = x.compute(asPyTorch=True, shape=[5, 2, 4])
    assert tensor.array.shape == (5, 2, 4)
    np.testing.assert_array_equal(x.compute(asTensorFlow=True).array, base() * 2)
    # What is still the input's is copied: a tensor can't be kept from being written to.
    given = base()
    same = CONTEXT.from_numpy(given).compute(asPyTorch=True)
    assert not np.shares_memory(same.array, given)
    with pytest.raises(ValueError, match="made of a matrix, not of a float"):
        x.sum().compute(asPyTorch=True)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install torch"):
        x.compute(asPyTorch=True)


class Stored:
    """A sparse tensor: its layout, its shape, and what it stores."""

    def __init__(self, layout: str, shape: tuple[int, ...], **parts: Array) -> None:
        self.layout, self.shape = f"torch.{layout}", shape
        for name, array in parts.items():
            setattr(self, name, lambda array=array: Tensor(array))

    def coalesce(self) -> Any:
        return self


def layouts(matrix: Any) -> dict[str, Any]:
    """Return a matrix of SciPy's as sparse tensors of both libraries."""
    rows, columns, cells = matrix.tocsr(), matrix.tocsc(), matrix.tocsr().tocoo()
    places = np.stack([cells.row, cells.col]).astype("i8")
    by_rows = {"crow_indices": rows.indptr.astype("i8"), "col_indices": rows.indices.astype("i8")}
    by_columns = {"ccol_indices": columns.indptr, "row_indices": columns.indices}
    flow = types.SimpleNamespace(indices=places.T, values=cells.data, shape=matrix.shape)
    flow.dense_shape = np.array(matrix.shape)
    return {
        "csr": Stored("sparse_csr", matrix.shape, values=rows.data, **by_rows),
        "csc": Stored("sparse_csc", matrix.shape, values=columns.data, **by_columns),
        "coo": Stored("sparse_coo", matrix.shape, values=cells.data, indices=places),
        "tensorflow": flow,
    }


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "tensorflow"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
def test_sparse_tensors_come_in_without_becoming_dense(layout: str, dtype: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    given = sparse.random_array((90, 40), density=0.05, rng=3).tocsr() * 100
    given = sparse.csr_array(given.astype(dtype))
    before = given.toarray()
    tensor = layouts(given)[layout]
    take = CONTEXT.from_tensorflow if layout == "tensorflow" else CONTEXT.from_pytorch
    x, shape = take(tensor, return_shape=True)
    assert shape == (90, 40)
    assert x._value.type.csr
    found = (x * 2).compute()
    assert found.nnz <= given.nnz
    np.testing.assert_array_equal(found.toarray(), before * np.array(2, "i8"))
    np.testing.assert_array_equal(given.toarray(), before)
    if layout == "csr":
        assert np.shares_memory(x.compute().data, given.data)
        assert not np.shares_memory(take(tensor, shared_memory=False).compute().data, given.data)


def test_sparse_tensors_that_no_matrix_holds_are_refused() -> None:
    with pytest.raises(ValueError, match="layout is sparse_bsr: use sparse_csr"):
        CONTEXT.from_pytorch(Stored("sparse_bsr", (4, 4)))
    with pytest.raises(ValueError, match="has two dimensions, not 3"):
        CONTEXT.from_pytorch(Stored("sparse_coo", (4, 4, 2)))


def test_sparse_results_become_sparse_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    torch, tensorflow = types.ModuleType("torch"), types.ModuleType("tensorflow")
    # A tensor that shares what can only be read would let it be written to.
    torch.from_numpy = lambda array: array if array.flags.writeable else 1 / 0  # type: ignore[attr-defined]
    torch.sparse_csr_tensor = lambda *parts: ("csr", *parts)  # type: ignore[attr-defined]
    torch.sparse_coo_tensor = lambda *parts: ("coo", *parts)  # type: ignore[attr-defined]
    tensorflow.sparse = types.SimpleNamespace(SparseTensor=lambda *parts: parts)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    given = sparse.random_array((9, 7), density=0.2, rng=3).tocsr()
    x = CONTEXT.from_scipy(given) * 2.0
    form, offsets, columns, cells, shape = x.compute(asPyTorch=True)
    assert (form, shape, offsets.dtype) == ("csr", (9, 7), columns.dtype)
    made = sparse.csr_array((cells, columns, offsets), shape)
    np.testing.assert_array_equal(made.toarray(), given.toarray() * 2)
    places, cells, shape = x.compute(asTensorFlow=True)
    made = sparse.coo_array((cells, tuple(places.T)), shape)
    np.testing.assert_array_equal(made.toarray(), given.toarray() * 2)
    with pytest.raises(ValueError, match="has the shape of its matrix"):
        x.compute(asPyTorch=True, shape=[7, 9])


def test_csr_matrices_go_in_and_out_without_becoming_dense() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    side = 300_000
    places = np.arange(0, side, 7, dtype="i4")
    given = sparse.csr_array((np.ones(len(places)), (places, places)), shape=(side, side))
    before = given.copy()
    g = CONTEXT.from_scipy(given)
    doubled = (g * 2.0).compute()
    assert doubled.nnz == given.nnz
    assert (doubled != given * 2.0).nnz == 0
    same = g.compute()
    assert np.shares_memory(same.data, given.data)
    assert np.shares_memory(same.indices, given.indices)
    # The places are shared, so that nothing may be written to them.
    with pytest.raises(ValueError, match="read-only"):
        doubled.indices[0] = 5
    doubled.data[:] = 0
    assert (given != before).nnz == 0
    assert (g.t() @ g).compute().nnz == given.nnz
    for form in ("csc_array", "coo_array"):
        x = CONTEXT.from_scipy(getattr(sparse, form)(before))
        assert (x.compute() != before).nnz == 0
    assert (CONTEXT.from_scipy(given) + given).shape == (side, side)


def test_frames_of_pandas_go_in_place() -> None:
    pd = pytest.importorskip("pandas")
    columns = {"a": np.arange(5), "b": np.linspace(0, 1, 5), "c": np.arange(5) % 2 == 0}
    frame = pd.DataFrame(columns, copy=False)
    before = frame.copy()
    lazy = CONTEXT.from_pandas(frame)
    out = lazy.compute()
    pd.testing.assert_frame_equal(out, before)
    assert np.shares_memory(out["b"].to_numpy(), frame["b"].to_numpy())
    assert not out["b"].to_numpy().flags.writeable
    pd.testing.assert_frame_equal(frame, before)
    words = pd.DataFrame({"w": ["x", "yz"], "n": np.array([1, 2], "i2")})
    back = CONTEXT.from_pandas(words).compute()
    assert back["w"].tolist() == ["x", "yz"]
    assert back["n"].dtype == np.int32
    with pytest.raises(ValueError, match="twice"):
        CONTEXT.from_pandas(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="objects"):
        CONTEXT.from_pandas(pd.DataFrame({"a": [1, "x"]}))


def test_tables_of_arrow_go_in_place() -> None:
    pa = pytest.importorskip("pyarrow")
    array = np.arange(6.0)
    numbers = pa.array([1, 2, 3, 4, 5, 6], pa.int16())
    table = pa.table({"a": array, "b": numbers, "c": list("uvwxyz")})
    lazy = CONTEXT.from_arrow(table)
    out = lazy.to_arrow()
    assert out.column("a").to_pylist() == array.tolist()
    assert out.column("c").to_pylist() == list("uvwxyz")
    assert address(out.column("a")) == address(table.column("a"))
    assert pa.table(lazy).column_names == ["a", "b", "c"]
    for batch in table.to_batches():
        assert CONTEXT.from_arrow(batch)["b"].toMatrix().sum().compute() == 21
    parts = pa.chunked_array([[1.0, None], [3.0]])
    filled = CONTEXT.from_arrow(pa.table({"a": parts})).toMatrix().compute()
    np.testing.assert_array_equal(filled[:, 0], [1, np.nan, 3])
    with pytest.raises(ValueError, match="'a' has 1 nulls"):
        CONTEXT.from_arrow(pa.table({"a": pa.array([1, None])}))
    empty = CONTEXT.from_arrow(table.slice(0, 0))
    assert empty.shape == (0, 3)


def test_polars_takes_lazy_frames_and_gives_frames() -> None:
    polars = pytest.importorskip("polars")
    pd = pytest.importorskip("pandas")
    lazy = CONTEXT.from_pandas(pd.DataFrame({"a": np.arange(3), "w": ["x", "y", "z"]}))
    frame = polars.DataFrame(lazy)
    assert frame.to_dict(as_series=False) == {"a": [0, 1, 2], "w": ["x", "y", "z"]}
    back = CONTEXT.from_arrow(frame.to_arrow())
    assert back.compute()["w"].tolist() == ["x", "y", "z"]


def address(column: Any) -> int:
    """Return where a column's numbers are."""
    return int(column.chunk(0).buffers()[1].address)
