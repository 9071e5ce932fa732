"""Tensors of the real PyTorch and TensorFlow, where they are installed: in and out, in place."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from freestone.lang.daphnelib import DaphneContext
from freestone.lang.daphnelib.tensors import as_tensor

pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
CONTEXT = DaphneContext()
CELLS = {"float64": "f8", "float32": "f4", "int64": "i8", "int32": "i4", "int8": "i1"}
CELLS |= {"uint8": "u1", "bool": "?"}
WIDER = {"int16": "i4", "float16": "f4"}


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip(
        "torch", reason="PyTorch is not installed; stand-ins are tested in test_interop.py"
    )


@pytest.fixture(scope="module")
def tensorflow() -> Any:
    return pytest.importorskip(
        "tensorflow", reason="TensorFlow is not installed; stand-ins are tested in test_interop.py"
    )


# -- PyTorch -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CELLS)
def test_tensors_of_every_type_are_taken_in_place(torch: Any, name: str) -> None:
    tensor = (torch.arange(40).reshape(5, 8) % 3).to(getattr(torch, name))
    x = CONTEXT.from_pytorch(tensor)
    same = x.compute()
    assert same.ctypes.data == tensor.data_ptr()
    assert same.dtype == CELLS[name]
    assert not same.flags.writeable
    np.testing.assert_array_equal((x.asType("f64") * 2.0).compute(), tensor.numpy() * 2.0)
    back = x.compute(asPyTorch=True)
    assert (back.dtype, back.data_ptr() == tensor.data_ptr()) == (tensor.dtype, False)
    assert torch.equal(back, tensor)


@pytest.mark.parametrize("name", WIDER)
def test_tensors_of_types_that_no_matrix_holds_are_widened(torch: Any, name: str) -> None:
    tensor = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
    found = CONTEXT.from_pytorch(tensor).compute()
    assert found.dtype == WIDER[name]
    np.testing.assert_array_equal(found, np.arange(6).reshape(2, 3))


@pytest.mark.parametrize("name", ["bfloat16", "complex64"])
def test_tensors_of_other_types_are_refused(torch: Any, name: str) -> None:
    tensor = torch.ones(2, 2, dtype=getattr(torch, name))
    with pytest.raises(ValueError, match=f"{name}.*not supported; convert"):
        CONTEXT.from_pytorch(tensor)


def test_tensors_with_strides_are_taken_in_place(torch: Any) -> None:
    base = torch.arange(120, dtype=torch.float64).reshape(10, 12)
    views = {
        "every other": base[::2, 1::3],
        "transposed": base.t(),
        "a row": base[3],
        "a column": base[:, 2],
        "expanded": base[:1].expand(4, 12),
        "narrowed": base.narrow(1, 2, 5),
        "empty": base[:0],
    }
    for tensor in views.values():
        x = CONTEXT.from_pytorch(tensor)
        found = x.compute()
        np.testing.assert_array_equal(found.reshape(tensor.shape), tensor.numpy())
        assert found.ctypes.data == tensor.data_ptr() or not found.size
        np.testing.assert_array_equal((x + 1.0).compute().reshape(tensor.shape), tensor.numpy() + 1)
    total = CONTEXT.from_pytorch(views["every other"]).sum()
    base += 1.0
    # What is computed later sees what is there then.
    assert total.compute() == float(views["every other"].sum())
    kept = CONTEXT.from_pytorch(base, shared_memory=False).sum()
    before = float(base.sum())
    base += 1.0
    assert kept.compute() == before


def test_tensors_of_more_dimensions_are_laid_side_by_side(torch: Any) -> None:
    tensor = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    x, shape = CONTEXT.from_pytorch(tensor, return_shape=True)
    assert (x.shape, shape) == ((2, 12), (2, 3, 4))
    assert x.compute().ctypes.data == tensor.data_ptr()
    back = (x * 2.0).compute(asPyTorch=True, shape=shape)
    assert torch.equal(back, tensor * 2)
    with pytest.raises(ValueError, match="two dimensions, not 0"):
        CONTEXT.from_pytorch(torch.tensor(3.0))


def test_tensors_that_learn_are_taken_without_their_history(torch: Any) -> None:
    weights = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    learned = weights * 3.0
    assert CONTEXT.from_pytorch(learned).sum().compute() == 18
    assert CONTEXT.from_pytorch(weights).compute().ctypes.data == weights.data_ptr()
    learned.sum().backward()
    assert float(weights.grad.sum()) == 18


def test_a_tensor_elsewhere_is_reported(torch: Any) -> None:
    with pytest.raises((ValueError, BufferError, RuntimeError), match=r"meta|device"):
        CONTEXT.from_pytorch(torch.ones(2, 2, device="meta"))


def test_memory_of_a_tensor_lives_as_long_as_it_is_needed(torch: Any) -> None:
    tensor = torch.arange(6, dtype=torch.float64).reshape(2, 3)
    turned = CONTEXT.from_pytorch(tensor).t().compute()
    address = tensor.data_ptr()
    del tensor
    gc.collect()
    assert turned.ctypes.data == address
    np.testing.assert_array_equal(turned, np.arange(6.0).reshape(2, 3).T)
    made = CONTEXT.from_numpy(np.ones((300, 300))) * 2.0
    result = made.compute(asPyTorch=True)
    del made
    gc.collect()
    assert float(result.sum()) == 180_000


def test_results_become_tensors_in_place(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    taken = torch.from_numpy

    def watched(array: Any) -> Any:
        given.append(array.ctypes.data)
        return taken(array)

    array = np.arange(12.0).reshape(3, 4)
    x = CONTEXT.from_numpy(array)
    monkeypatch.setattr(torch, "from_numpy", watched)
    tensor = (x * 2.0).compute(asPyTorch=True)
    assert [tensor.data_ptr()] == given
    monkeypatch.undo()
    by_dlpack = torch.from_dlpack(x * 2.0)
    assert torch.equal(by_dlpack, tensor)
    # What is still the input can't be kept from being written to through a tensor, so it is copied.
    for same in (x.compute(asPyTorch=True), torch.from_dlpack(x)):
        same[0, 0] = 99.0
        assert array[0, 0] == 0.0
    assert torch.from_dlpack(x.t() * 1.0).shape == (4, 3)
    with pytest.raises(ValueError, match="made of a matrix, not of a float"):
        x.sum().compute(asPyTorch=True)


@pytest.mark.parametrize("places", ["int64", "int32"])
@pytest.mark.parametrize("name", ["float64", "float32", "int64"])
def test_sparse_tensors_stay_sparse(torch: Any, name: str, places: str) -> None:
    pytest.importorskip("scipy.sparse")
    dense = torch.tensor([[0, 2, 0], [1, 0, 3], [0, 0, 0]], dtype=getattr(torch, name))
    rows = dense.to_sparse_csr()
    kind = getattr(torch, places)
    rows = torch.sparse_csr_tensor(
        rows.crow_indices().to(kind), rows.col_indices().to(kind), rows.values(), dense.shape
    )
    x = CONTEXT.from_pytorch(rows)
    assert x._value.type.csr
    assert x.compute().data.ctypes.data == rows.values().data_ptr()
    for tensor in (rows, dense.to_sparse_csc(), dense.to_sparse_coo()):
        x, shape = CONTEXT.from_pytorch(tensor, return_shape=True)
        assert (shape, x._value.type.csr) == ((3, 3), True)
        doubled = (x * 2).compute(asPyTorch=True)
        assert (doubled.layout, doubled.dtype) == (torch.sparse_csr, (dense * 2).dtype)
        assert torch.equal(doubled.to_dense(), dense * 2)
        assert torch.equal(tensor.to_dense(), dense)
        same = x.compute(asPyTorch=True)
        same.values()[0] = 77
        assert torch.equal(tensor.to_dense(), dense)
    product = (CONTEXT.from_pytorch(rows) @ CONTEXT.from_pytorch(dense)).compute(asPyTorch=True)
    assert torch.equal(product, dense @ dense)


def test_sparse_tensors_with_double_places_are_summed(torch: Any) -> None:
    pytest.importorskip("scipy.sparse")
    places = torch.tensor([[0, 0, 1], [1, 1, 0]])
    tensor = torch.sparse_coo_tensor(places, torch.tensor([1.0, 2.0, 5.0]), (2, 3))
    assert not tensor.is_coalesced()
    found = CONTEXT.from_pytorch(tensor).compute()
    np.testing.assert_array_equal(found.toarray(), [[0, 3, 0], [5, 0, 0]])
    learned = torch.sparse_coo_tensor(places, torch.ones(3, requires_grad=True), (2, 3))
    assert CONTEXT.from_pytorch(learned).sum().compute() == 3


def test_sparse_tensors_of_other_types_are_widened(torch: Any) -> None:
    pytest.importorskip("scipy.sparse")
    for name, wider in WIDER.items():
        tensor = torch.eye(3, dtype=getattr(torch, name)).to_sparse_csr()
        found = CONTEXT.from_pytorch(tensor).compute()
        assert found.dtype == wider
        np.testing.assert_array_equal(found.toarray(), np.eye(3))
    with pytest.raises(ValueError, match="no tensors of strings"):
        CONTEXT.from_numpy(np.array([["a"]])).compute(asPyTorch=True)


def test_sparse_tensors_of_other_layouts_are_refused(torch: Any) -> None:
    blocks = torch.eye(4).to_sparse_bsr((2, 2))
    with pytest.raises(ValueError, match="layout is sparse_bsr: use sparse_csr"):
        CONTEXT.from_pytorch(blocks)
    with pytest.raises(ValueError, match="two dimensions, not 3"):
        CONTEXT.from_pytorch(torch.ones(2, 2, 2).to_sparse_coo())


def test_a_layer_of_a_network_and_a_lazy_product_give_the_same(torch: Any) -> None:
    layer = torch.nn.Linear(8, 3, dtype=torch.float64)
    batch = torch.randn(100, 8, dtype=torch.float64)
    x, weights = CONTEXT.from_pytorch(batch), CONTEXT.from_pytorch(layer.weight)
    bias = CONTEXT.from_pytorch(layer.bias)
    found = (x @ weights.t() + bias.t()).compute(asPyTorch=True)
    assert torch.allclose(found, layer(batch))


# -- TensorFlow ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", CELLS)
def test_tensorflow_tensors_of_every_type_are_taken_in_place(tensorflow: Any, name: str) -> None:
    cells = (np.arange(40).reshape(5, 8) % 3).astype(CELLS[name])
    tensor = tensorflow.constant(cells)
    x = CONTEXT.from_tensorflow(tensor)
    same = x.compute()
    assert same.ctypes.data == address(tensor)
    assert same.dtype == CELLS[name]
    assert not same.flags.writeable
    np.testing.assert_array_equal((x.asType("f64") * 2.0).compute(), cells * 2.0)
    back = x.compute(asTensorFlow=True)
    assert back.dtype == tensor.dtype
    np.testing.assert_array_equal(back.numpy(), cells)


def address(tensor: Any) -> int:
    """Return where the cells of an eager tensor are, by the buffer that it hands out."""
    return int(np.frombuffer(memoryview(tensor).cast("B"), "u1").ctypes.data)


@pytest.mark.parametrize("name", WIDER)
def test_tensorflow_tensors_of_other_types_are_widened(tensorflow: Any, name: str) -> None:
    tensor = tensorflow.cast(tensorflow.constant([[1, 2], [3, 4]]), name)
    found = CONTEXT.from_tensorflow(tensor).compute()
    assert found.dtype == WIDER[name]
    np.testing.assert_array_equal(found, [[1, 2], [3, 4]])


@pytest.mark.parametrize("name", ["bfloat16", "complex64"])
def test_tensorflow_tensors_of_other_types_are_refused(tensorflow: Any, name: str) -> None:
    tensor = tensorflow.cast(tensorflow.constant([[1.0]]), name)
    with pytest.raises(ValueError, match=f"{name}.*not supported; convert"):
        CONTEXT.from_tensorflow(tensor)


def test_tensorflow_variables_and_more_dimensions(tensorflow: Any) -> None:
    cells = np.arange(24, dtype="f4").reshape(2, 3, 4)
    variable = tensorflow.Variable(cells)
    x, shape = CONTEXT.from_tensorflow(variable, return_shape=True)
    assert (x.shape, tuple(shape)) == ((2, 12), (2, 3, 4))
    doubled = (x * 2.0).compute(asTensorFlow=True, shape=shape)
    np.testing.assert_array_equal(doubled.numpy(), cells * 2)
    variable.assign_add(tensorflow.ones_like(variable))
    np.testing.assert_array_equal(doubled.numpy(), cells * 2)


def test_memory_of_a_tensorflow_tensor_lives_as_long_as_it_is_needed(tensorflow: Any) -> None:
    turned = CONTEXT.from_tensorflow(tensorflow.constant(np.arange(6.0).reshape(2, 3))).t()
    gc.collect()
    found = turned.compute()
    del turned
    gc.collect()
    np.testing.assert_array_equal(found, np.arange(6.0).reshape(2, 3).T)
    made = CONTEXT.from_numpy(np.ones((1000, 900))) * 2.0
    array = made.compute()
    del made
    watch, place = weakref.ref(array), array.ctypes.data
    tensor = as_tensor(array, torch=False, shape=None)
    assert address(tensor) == place
    del array
    gc.collect()
    assert float(tensorflow.reduce_sum(tensor)) == 1_800_000
    assert watch() is not None
    del tensor
    gc.collect()
    assert watch() is None


def test_small_results_are_tensors_that_tensorflow_can_work_on(tensorflow: Any) -> None:
    for count in range(1, 9):
        for start in range(4):
            x = CONTEXT.from_numpy(np.ones((count, count)))[start % count :, :] * 2.0
            tensor = x.compute(asTensorFlow=True)
            assert float(tensorflow.reduce_sum(tensor + tensor)) == 4 * np.prod(tensor.shape)


def test_a_tensorflow_tensor_is_not_changed_by_what_happens_to_the_input(tensorflow: Any) -> None:
    array = np.arange(12.0).reshape(3, 4)
    x = CONTEXT.from_numpy(array)
    tensors = [x.compute(asTensorFlow=True), x.t().compute(asTensorFlow=True)]
    assert (x.t() * 1.0).compute(asTensorFlow=True).shape == (4, 3)
    array[:] = 99.0
    np.testing.assert_array_equal(tensors[0].numpy(), np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(tensors[1].numpy(), np.arange(12.0).reshape(3, 4).T)


def test_strings_of_tensorflow_go_in_and_out(tensorflow: Any) -> None:
    x = CONTEXT.from_tensorflow(tensorflow.constant([["a", "b\u00e9"]]))
    assert x.upper().compute().tolist() == [["A", "B\u00c9"]]
    back = x.compute(asTensorFlow=True)
    assert back.dtype == tensorflow.string
    assert [word.decode() for word in back.numpy()[0]] == ["a", "b\u00e9"]


def test_sparse_tensors_of_tensorflow_stay_sparse(tensorflow: Any) -> None:
    pytest.importorskip("scipy.sparse")
    dense = np.array([[0, 2.0, 0], [1.0, 0, 3.0]])
    tensor = tensorflow.sparse.from_dense(dense)
    x, shape = CONTEXT.from_tensorflow(tensor, return_shape=True)
    assert (shape, x._value.type.csr) == ((2, 3), True)
    doubled = (x * 2.0).compute(asTensorFlow=True)
    assert isinstance(doubled, tensorflow.sparse.SparseTensor)
    np.testing.assert_array_equal(tensorflow.sparse.to_dense(doubled).numpy(), dense * 2)
    np.testing.assert_array_equal(tensorflow.sparse.to_dense(tensor).numpy(), dense)
