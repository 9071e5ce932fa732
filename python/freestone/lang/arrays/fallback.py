"""What arrays don't have lazily: Dask's, and NumPy's own with whole arrays on one worker."""

from __future__ import annotations

import inspect
import math
import operator
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from freestone.client import Client, current, scheduler_of
from freestone.collections import Array
from freestone.collections.blocking import offsets_of
from freestone.collections.dask import cut_by_rows, held_blocks
from freestone.collections.protocols import ArrayMethods
from freestone.config import Config
from freestone.lang.arrays.differing import Call
from freestone.lang.arrays.nodes import NotLazyError
from freestone.units import is_unknown

__all__ = ["computed_elsewhere"]

_WRITING = frozenset(
    {
        *("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"),
        *("save", "savetxt", "savez", "savez_compressed"),
    }
)
"""Functions that write into what they are given, or into files: a call elsewhere would not."""

_KEEPING_TYPES = frozenset(
    {"delete", "diag", "fftshift", "ifftshift", "insert", "pad", "repeat", "roll", "tile"}
)
"""Functions that give elements of the first array, with their byte order."""

_BELOW = ("freestone.", "numpy.")
_warned: set[str] = set()


def computed_elsewhere(
    refused: NotLazyError,
    function: Callable[..., Any],
    args: Sequence[Any],
    options: dict[str, Any],
) -> Any:
    """Compute at once what is not computed lazily, or raise the error that says so.

    Parameters
    ----------
    refused
        The error.
    function
        NumPy's function, or ``operator.getitem``.
    args, options
        What it was called with, arrays in blocks among them.

    Returns
    -------
    object
        What NumPy returns, arrays as `Array`, whose blocks are on the workers.

    Raises
    ------
    TypeError
        `refused`, when the setting `numpy_fallback` is ``"error"``, Dask is not installed, blocks
        are sparse, or the function writes into what it is given.
    Exception
        NumPy's own for bad arguments.

    Notes
    -----
    Blocks are handed to Dask where they are. What Dask does not have either is called by one
    worker with whole arrays, to which all blocks are sent.
    """
    name = _name_of(function)
    given = list(_arrays([*args, *options.values()]))
    client = next((one.client for one in given if one.client is not None), current())
    config = Config.load() if client is None else client.config
    if (
        config.numpy_fallback == "error"
        or name in _WRITING
        or name.endswith(".at")
        or options.get("out") is not None
    ):
        raise refused
    if any(one._first().sparse for one in given if one.blocks):
        if name == "ravel" and len(given) == 1 and 1 in given[0].shape:
            # So SciPy's matrices take a column that they are multiplied with.
            return np.ravel(np.asarray(given[0]), *args[1:], **options)
        raise refused
    if not _has_dask():
        raise refused
    placed, named = _replaced([*args], _to_dask), _replaced(options, _to_dask)
    if name == "insert" and len(placed) > 2:
        placed[2] = _of_type(placed[2], np.dtype(placed[0].dtype))
    arrays = [one for one in _flat([*placed, *named.values()]) if hasattr(one, "dask")]
    made = None
    if not Call(name, placed, named, arrays).differs():
        if name in ("cumsum", "cumprod"):
            placed, named = _of_cumulative(function, placed, named)
        if name == "tensordot":
            placed, named = _of_tensordot(placed, named)
        if name == "svd":
            # Dask has no such option: its matrices are the reduced ones.
            placed, named = placed[:1], {}
        made = _by_dask(function, placed, named)
    _warn_once(name, by_dask=made is not None)
    if made is None:
        return _on_one_worker(client, function, placed, named)
    if name in ("delete", "insert"):
        _check_positions(function, placed, named)
    return _as_arrays(_as_numpys_type(name, [*placed, *named.values()], made[0]), client)


def _of_type(values: Any, dtype: np.dtype[Any]) -> Any:
    """Return values that are inserted as of the array's type, as NumPy does; its warning, too."""
    if not hasattr(values, "astype"):
        return np.array(values, dtype)
    if hasattr(values, "dask") and values.dtype.kind == "c" and dtype.kind not in "cO":
        # Workers would warn, whom nobody hears.
        text = "Casting complex values to real discards the imaginary part"
        warnings.warn(text, np.exceptions.ComplexWarning, stacklevel=_depth_of_user())
        values = values.real
    return values.astype(dtype)


def _of_cumulative(
    function: Callable[..., Any], args: Any, options: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments with which Dask sums in NumPy's type, and as fast without an axis."""
    given = inspect.signature(function).bind(*args, **options).arguments
    array, axis, dtype = given["a"], given.get("axis"), given.get("dtype")
    if axis is None:
        # Dask would cut all elements into a block for each row.
        array, axis = array.reshape(-1), 0
    if dtype is None:
        return [array], {"axis": axis}
    # Dask only says that sums are of this type.
    return [array.astype(dtype)], {"axis": axis, "dtype": dtype}


def _of_tensordot(args: Any, options: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments with axes from the front; Dask adds blocks up along others."""
    given = inspect.signature(np.tensordot).bind(*args, **options).arguments
    sides, axes = (given["a"], given["b"]), given.get("axes", 2)
    if np.ndim(axes):
        axes = tuple(
            np.lib.array_utils.normalize_axis_tuple(each, np.ndim(side))
            for each, side in zip(axes, sides, strict=True)
        )
    return [*sides], {"axes": axes}


def _as_numpys_type(name: str, given: Sequence[Any], made: Any) -> Any:
    """Return what Dask made with NumPy's type, where Dask widens it or changes its byte order."""
    types = [one.dtype for one in _flat(given) if hasattr(one, "dtype")]
    if name in ("dot", "einsum", "matmul", "tensordot", "vdot") and types:
        # Sums of wider integers, cut off, are those of narrow ones that overflow.
        return made.astype(np.result_type(*types))
    return made.astype(types[0]) if name in _KEEPING_TYPES and types else made


def _flat(given: Any) -> Iterator[Any]:
    if isinstance(given, list | tuple):
        for one in given:
            yield from _flat(one)
    else:
        yield given


def _check_positions(function: Callable[..., Any], args: Any, options: Any) -> None:
    """Raise NumPy's error for positions out of bounds, to which Dask does something."""
    given = inspect.signature(function).bind(*args, **options).arguments
    shape, axis = given["arr"].shape, given.get("axis")
    sides = [math.prod(shape)] if axis is None else [*shape]
    at = np.lib.array_utils.normalize_axis_index(axis or 0, len(sides))
    # NumPy looks at the positions of an array without elements, too, which takes no memory.
    empty = np.empty([side if place == at else 0 for place, side in enumerate([*sides, 0])])
    values = {"values": 0} if "values" in given else {}
    function(empty, obj=given["obj"], axis=at, **values)


def _name_of(function: Callable[..., Any]) -> str:
    if function is operator.getitem:
        return "an index"
    ufunc = getattr(function, "__self__", None)
    if not isinstance(ufunc, np.ufunc):
        return str(getattr(function, "__name__", function))
    return f"{ufunc.__name__}.{function.__name__}".removesuffix(".__call__")


def _has_dask() -> bool:
    try:
        import dask.array  # noqa: F401
    except ImportError:
        return False
    return True


def _arrays(given: Any) -> Iterator[Array]:
    """Yield the arrays in blocks among arguments, also those that expressions are made of."""
    if isinstance(given, dict):
        given = [*given.values()]
    if isinstance(given, list | tuple):
        for one in given:
            yield from _arrays(one)
    elif isinstance(given, ArrayMethods):
        yield from given._sources()


def _replaced(given: Any, change: Callable[[Any], Any]) -> Any:
    """Return arguments with each array changed, in lists, tuples and dicts of any nesting."""
    if type(given) in (list, tuple):
        return type(given)(_replaced(one, change) for one in given)
    if type(given) is dict:
        return {key: _replaced(one, change) for key, one in given.items()}
    return change(given)


def _to_dask(given: Any) -> Any:
    return _without_empty(given.to_dask()) if isinstance(given, ArrayMethods) else given


def _without_empty(array: Any) -> Any:
    """Leave out blocks of no rows, at which many of Dask's functions fail; one stays of none.

    A transpose has them along its last axis.
    """
    for axis, lengths in enumerate(array.chunks):
        kept = [place for place, length in enumerate(lengths) if length != 0] or [0]
        if len(kept) < len(lengths):
            array = array.blocks[(*[slice(None)] * axis, kept)]
    return array


def _by_dask(function: Callable[..., Any], args: Any, options: Any) -> tuple[Any] | None:
    """Return what Dask makes of a call; None when it has no such function, or takes it otherwise.

    Whatever Dask finds wrong is left to NumPy, which says it in its own words, or computes it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Dask would fetch the arrays into this program.
        warnings.filterwarnings("error", "The `.*` function is not implemented", FutureWarning)
        try:
            made = function(*args, **options)
        except Exception:
            return None
    return (made,) if all(map(_is_of_rows, _flat(made))) else None


def _is_of_rows(made: Any) -> bool:
    """Tell whether rows can be cut of what Dask made: at most their number is unknown."""
    return not is_unknown(*getattr(made, "shape", ())[1:])


def _warn_once(name: str, *, by_dask: bool) -> None:
    if name in _warned:
        return
    _warned.add(name)
    how = (
        "Dask computes it now, on the workers"
        if by_dask
        else "one worker computes it now, with whole arrays"
    )
    warnings.warn(
        f"{name} of an Array is not computed lazily: {how}; numpy_fallback='error' refuses it",
        stacklevel=_depth_of_user(),
    )


def _depth_of_user() -> int:
    """Return how many frames the caller is below what called NumPy."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_BELOW):
        frame, depth = frame.f_back, depth + 1
    return depth


def _run(client: Client | None, *collections: Any) -> tuple[Any, ...]:
    """Compute Dask collections, whose blocks stay where they are made."""
    import dask

    return tuple(dask.persist(*collections, **_scheduler(client)))


def _scheduler(client: Client | None) -> dict[str, Any]:
    """Return the options of Dask by which a cluster computes; none without one."""
    return {} if client is None else {"scheduler": scheduler_of(client)}


# -- by Dask ----------------------------------------------------------------------------------


def _as_arrays(made: Any, client: Client | None) -> Any:
    """Return what Dask made, computed: its arrays as arrays in blocks, its numbers as numbers."""
    import dask.array as da

    lazy: list[Any] = []
    _replaced(made, lambda one: lazy.append(one) if isinstance(one, da.Array) else None)
    done = iter(_run(client, *map(cut_by_rows, lazy)))

    def finished(one: Any) -> Any:
        if not isinstance(one, da.Array):
            return one
        found = next(done)
        return Array.from_dask(found) if found.ndim else _number(found, client)

    return _replaced(made, finished)


def _number(array: Any, client: Client | None) -> Any:
    return np.asarray(array.compute(**_scheduler(client)))[()]


# -- on one worker ----------------------------------------------------------------------------


def _on_one_worker(
    client: Client | None, function: Callable[..., Any], args: Any, options: Any
) -> Any:
    """Call a function of NumPy's with whole arrays; arrays that it returns stay there."""
    import dask
    import dask.array as da

    def whole(given: Any) -> Any:
        if not isinstance(given, da.Array):
            return given
        (block,) = np.ravel(np.asarray(given.rechunk(-1).to_delayed(), dtype=object))
        return block

    args, options = _replaced(args, whole), _replaced(options, whole)
    call = dask.delayed(_called, pure=False)(function, args, options)
    if client is None:
        return _kept(call.compute())
    (made,) = _run(client, call)
    (future,) = held_blocks(made) or []
    return _taken(client, future, client.submit(_form, (future,)).result())


def _called(function: Callable[..., Any], args: Any, options: Any) -> Any:
    return function(*args, **options)


def _kept(found: Any) -> Any:
    """Return what a call gave here, its arrays as arrays of one block."""
    return _replaced(_plain(found), lambda one: Array.from_blocks([one]) if _is_array(one) else one)


def _is_array(value: Any) -> bool:
    return type(value) is np.ndarray and bool(value.ndim) and not value.dtype.hasobject


def _plain(found: Any) -> Any:
    """Return named tuples, as those of `numpy.linalg`, as tuples."""
    return tuple(map(_plain, found)) if isinstance(found, tuple) else found


def _form(found: Any) -> Any:
    """Return a value as it is, an array as its shape and type, and tuples of them."""
    if isinstance(found, tuple | list):
        return [isinstance(found, tuple), [_form(one) for one in found]]
    return (found.shape, found.dtype) if _is_array(found) else _Here(found)


class _Here:
    """A value that comes back to the program."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _taken(client: Client, future: Any, form: Any) -> Any:
    """Return what a future stands for: its arrays stay where they are."""
    if isinstance(form, _Here):
        return form.value
    if isinstance(form, tuple):
        shape, dtype = form
        offsets = offsets_of(shape[:1])
        return Array([future], offsets, name="array", columns=shape[1:], dtype=dtype)
    is_tuple, forms = form
    parts = [
        _taken(client, client.submit(operator.getitem, (future, at)), one)
        for at, one in enumerate(forms)
    ]
    return tuple(parts) if is_tuple else parts
