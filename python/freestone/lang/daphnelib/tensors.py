"""Tensors of PyTorch's and TensorFlow's: dense ones by DLPack, sparse ones by what they store."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["as_tensor", "dense_of", "stored_by"]

Array = np.ndarray[Any, Any]
ALIGNMENT = 64
"""The bytes of which TensorFlow wants addresses to be multiples."""
_CPU = 1
"""The memory of the processor, as DLPack numbers devices."""


def dense_of(tensor: Any) -> Array:
    """Return the cells of a dense tensor in place: by DLPack, or else as NumPy takes it.

    Raises
    ------
    ValueError
        If it has cells that NumPy does not know, such as bfloat16.
    """
    if getattr(getattr(tensor, "dtype", None), "name", "") == "string":
        # TensorFlow's own way to hand them out by DLPack ends the process.
        return _words(np.asarray(tensor))
    if not hasattr(tensor, "__dlpack__"):
        return np.asarray(tensor)
    try:
        return np.from_dlpack(tensor)
    except (BufferError, RuntimeError) as error:
        if tensor.__dlpack_device__()[0] != _CPU:
            raise
        problem = f"these tensors of {tensor.dtype} are not supported; convert to float64 first"
        raise ValueError(f"{problem}: {error}") from error


def _words(cells: Array) -> Array:
    words = [word.decode() for word in cells.flat]
    return np.array(words, object).reshape(cells.shape)


def stored_by(tensor: Any) -> Any:
    """Return what a sparse tensor stores, as a matrix of SciPy's; None for a dense tensor.

    Parameters
    ----------
    tensor : torch.Tensor or tensorflow.SparseTensor
        Of any layout. Cells come in place; places too, if the matrix can have them of their type.

    Raises
    ------
    ValueError
        If it is sparse and has not two dimensions, or is stored in another way than by rows, by
        columns, or with the place of each cell.
    """
    layout = str(getattr(tensor, "layout", "")).removeprefix("torch.")
    if layout in ("", "strided"):
        return _of_tensorflow(tensor) if hasattr(tensor, "dense_shape") else None
    shape = _shape(tensor.shape)
    from scipy import sparse

    if layout == "sparse_csr":
        parts = tensor.values(), tensor.col_indices(), tensor.crow_indices()
        return sparse.csr_array(tuple(map(_array, parts)), shape=shape)
    if layout == "sparse_csc":
        parts = tensor.values(), tensor.row_indices(), tensor.ccol_indices()
        return sparse.csc_array(tuple(map(_array, parts)), shape=shape)
    if layout == "sparse_coo":
        whole = tensor.coalesce()
        return sparse.coo_array((_array(whole.values()), tuple(_array(whole.indices()))), shape)
    raise ValueError(f"a tensor whose layout is {layout}: use sparse_csr, sparse_csc or sparse_coo")


def _of_tensorflow(tensor: Any) -> Any:
    from scipy.sparse import coo_array

    places = _array(tensor.indices)
    return coo_array((_array(tensor.values), tuple(places.T)), shape=_shape(tensor.shape))


def _shape(shape: Any) -> tuple[int, int]:
    sides = tuple(int(side) for side in shape)
    if len(sides) != 2:
        raise ValueError(f"a sparse matrix has two dimensions, not {len(sides)}")
    return sides


def _array(tensor: Any) -> Array:
    return dense_of(tensor)


def as_tensor(data: Any, *, torch: bool, shape: tuple[int, ...] | None) -> Any:
    """Make a tensor of PyTorch's, or of TensorFlow's, of a matrix; a sparse one stays so.

    Parameters
    ----------
    data : ndarray or scipy.sparse array
        The matrix.
    torch : bool
        Whether it is to be PyTorch's.
    shape : tuple of int or None
        What a dense one becomes, if that is another shape.
    """
    if hasattr(data, "tocsr"):
        if shape is not None:
            raise ValueError(
                f"a sparse tensor has the shape of its matrix, {data.shape}: no shape="
            )
        return _sparse_torch(data) if torch else _sparse_tensorflow(data.tocoo())
    if not isinstance(data, np.ndarray):
        raise ValueError(f"a tensor is made of a matrix, not of a {type(data).__name__}")
    if torch and data.dtype.hasobject:
        raise ValueError("PyTorch has no tensors of strings")
    cells = data if shape is None else data.reshape(shape)
    return _torch_of(cells) if torch else _tensorflow_of(cells)


def _sparse_torch(data: Any) -> Any:
    library = _library("torch")
    if data.format == "coo":
        places = _torch_of(np.stack([data.row, data.col]).astype("i8"))
        return library.sparse_coo_tensor(places, _torch_of(data.data), data.shape)
    parts = data.indptr, data.indices, data.data
    return library.sparse_csr_tensor(*map(_torch_of, parts), data.shape)


def _sparse_tensorflow(data: Any) -> Any:
    places = np.stack([data.row, data.col], axis=1).astype("i8")
    return _library("tensorflow").sparse.SparseTensor(places, data.data, data.shape)


def _torch_of(cells: Array) -> Any:
    # A tensor can't be kept from being written to.
    return _library("torch").from_numpy(cells if cells.flags.writeable else cells.copy())


def _tensorflow_of(cells: Array) -> Any:
    library = _library("tensorflow")
    # DLPack knows no strings, TensorFlow no rows with gaps; what is an input's is to be copied. Its
    # operations end the process where cells begin at other addresses: large results never do.
    in_place = cells.flags.writeable and cells.flags.c_contiguous and not cells.dtype.hasobject
    if not in_place or cells.ctypes.data % ALIGNMENT:
        return library.convert_to_tensor(cells)
    return library.experimental.dlpack.from_dlpack(cells.__dlpack__())


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is not installed: pip install {name}") from error
