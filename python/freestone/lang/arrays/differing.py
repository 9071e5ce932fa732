"""Calls of which Dask would make something else than NumPy does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Call"]

_DIFFERENT = frozenset(
    {
        *("nanpercentile", "nanquantile", "percentile", "quantile"),
        *("cholesky", "gradient", "inv", "lstsq", "nanstd", "nanvar", "qr", "solve"),
    }
)
"""Dask's percentiles are approximate, and its others give something else than NumPy's.

Infinities, less their mean, are not always NaN in its variances, and its solver refuses them. Its
QR of wide matrices in several blocks never ends.
"""

_STACKS = ("vstack", "hstack", "dstack")
"""Functions that join along the first, second and third axis."""

_OF_NUMBERS = frozenset(
    {
        *("argmax", "argmin", "diag", "histogram", "mean", "nanargmax", "nanargmin", "nansum"),
        *("prod", "std", "sum", "tensordot", "trace", "var", "vdot"),
    }
)
"""Dask takes these of numbers alone: of times and texts it fails, or gives something else."""


@dataclass(frozen=True)
class Call:
    """A call of a function of NumPy's, which Dask could compute.

    Attributes
    ----------
    name : str
        The function's name.
    args, options
        What it is called with.
    arrays
        Dask's arrays among them.
    """

    name: str
    args: Sequence[Any]
    options: Mapping[str, Any]
    arrays: Sequence[Any]

    def differs(self) -> bool:
        """Tell whether Dask would give something else than NumPy."""
        if self.name in _DIFFERENT:
            return True
        if self.arrays and all(0 in one.shape for one in self.arrays):
            # Of no elements, shapes of Dask's are others; one worker has nothing to fetch.
            return True
        if self.name in _OF_NUMBERS and not self.has_only("biufc"):
            return True
        rule = _RULES.get(self.name)
        return rule is not None and rule(self)

    def has_only(self, kinds: str) -> bool:
        """Tell whether all arrays are of some kinds of types."""
        return all(one.dtype.kind in kinds for one in self.arrays)

    def has(self, kinds: str) -> bool:
        """Tell whether an array is of one of some kinds of types."""
        return any(one.dtype.kind in kinds for one in self.arrays)


def _sums_otherwise(call: Call) -> bool:
    # Of narrow integers Dask sums up wide ones; dates it would take for numbers.
    given = call.args[2] if len(call.args) > 2 else call.options.get("dtype")
    dtype = np.dtype(given or "f8")
    if given is not None and not call.has_only("biufc"):
        return True
    return dtype.kind in "biu" and dtype.itemsize < np.dtype("l").itemsize


def _takes_diagonals(call: Call) -> bool:
    # Dask takes the diagonal of each block, and leaves axes out of which only "..." speaks.
    first = call.args[0] if call.args else ""
    terms = first.split("->")[0].split(",") if isinstance(first, str) else call.args[1::2]
    axes = [[one for one in term if one not in (" ", ".", Ellipsis)] for term in terms]
    has_others = isinstance(first, str) and "." in first and "." not in first.split("->")[-1]
    return has_others or any(len(set(one)) < len(one) for one in axes)


def _has_numbers_and_lists(call: Call) -> bool:
    # Dask takes numbers first, which decide where the axis of lists goes. It fails at new axes in
    # front of lists.
    key = call.args[1]
    if isinstance(key, tuple) and key and key[0] is None:
        return any(isinstance(one, list | np.ndarray) for one in key)
    parts = [one for one in (key if isinstance(key, tuple) else (key,)) if one is not None]
    ndims = {np.ndim(one) for one in parts if not isinstance(one, slice | type(Ellipsis))}
    return 0 in ndims and len(ndims) > 1


def _has_other_inner_sides(call: Call) -> bool:
    # Dask repeats a side of length 1, and NumPy has an error for it.
    one, other = (np.shape(each) for each in call.args[:2])
    return bool(one and other) and one[-1] != other[-2 if len(other) > 1 else 0]


def _finds_first_in_other_order(call: Call) -> bool:
    # Of equal elements Dask finds the first of the first block, which columns in blocks have not.
    given = call.args[1] if len(call.args) > 1 else call.options.get("axis")
    return given is None and any(len(lengths) > 1 for lengths in call.args[0].chunks[1:])


def _is_mirrored(call: Call) -> bool:
    # Dask mirrors or repeats an axis once, however long the pad is.
    mode = call.args[2] if len(call.args) > 2 else call.options.get("mode")
    return mode in ("reflect", "symmetric", "wrap")


def _has_no_order(call: Call) -> bool:
    # Of NaNs, also in records, Dask's inverse and counts are 0; it forgets the byte order.
    return call.has("fcmMV") or not all(one.dtype.isnative for one in call.arrays)


def _is_other_index(call: Call) -> bool:
    return _has_numbers_and_lists(call) or _begins_in_front(call)


def _begins_in_front(call: Call) -> bool:
    # Dask takes all rows from the last one on where a slice to the front begins before the first.
    array, key = call.args[0], call.args[1]
    shortest = min(array.shape, default=0)
    slices = [one for one in (key if isinstance(key, tuple) else (key,)) if isinstance(one, slice)]
    return any((one.step or 1) < 0 and (one.start or 0) < -shortest for one in slices)


def _joins_others_than_numpy(call: Call) -> bool:
    # Dask leaves out arrays without elements, also those that don't go with the others.
    arrays, given = (
        (call.args[:2], call.args[2:])
        if call.name == "append"
        else (call.args[0] if call.args else (), call.args[1:])
    )
    shapes = [np.shape(one) for one in arrays] if isinstance(arrays, list | tuple) else []
    if not any(0 in shape for shape in shapes):
        return False
    if call.name == "vstack":
        shapes = [shape if len(shape) > 1 else (1, *shape) for shape in shapes]
    axis = given[0] if given else call.options.get("axis", 0)
    if call.name in _STACKS:
        axis = _STACKS.index(call.name)
    if type(axis) is not int or not all(0 <= axis < len(shape) for shape in shapes):
        return True
    return len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) > 1


def _is_of_no_matrix(call: Call) -> bool:
    # Dask takes more dimensions than two, and turns what has one row; NumPy does neither.
    return any(one.ndim > 2 or min(one.shape, default=0) < 2 for one in call.arrays)


def _has_empty(call: Call) -> bool:
    # Dask leaves out arrays without elements, also those that don't go with the others.
    return any(0 in one.shape for one in call.arrays)


def _is_in_other_blocks(call: Call) -> bool:
    # Dask pairs blocks by their number, whatever their rows are.
    return len({one.chunks for one in call.arrays}) > 1


def _takes_blocks_beside(call: Call) -> bool:
    # Booleans in blocks are positions 0 and 1 to Dask, and values in blocks too many.
    return len(call.arrays) > 1


def _adds_up_other_sides(call: Call) -> bool:
    # Dask repeats a side of length 1, and NumPy has an error for it.
    axes = call.args[2] if len(call.args) > 2 else call.options.get("axes", 2)
    if len(call.args) < 2 or not np.ndim(axes):
        return False
    left, right = (
        [np.shape(one)[at] for at in np.ravel(along)]
        for one, along in zip(call.args[:2], axes, strict=True)
    )
    return left != right


def _is_of_full_matrices(call: Call) -> bool:
    # Dask has the reduced ones alone.
    given = call.args[1:2] or (call.options.get("full_matrices", True),)
    others = len(call.args) > 2 or set(call.options) - {"full_matrices"}
    rows, columns = (call.arrays[0].shape[-2:]) if call.arrays[0].ndim > 1 else (0, 1)
    return bool(others) or (bool(given[0]) and rows != columns)


_RULES: dict[str, Callable[[Call], bool]] = {
    "an index": _is_other_index,
    **dict.fromkeys(("append", "concatenate", *_STACKS), _joins_others_than_numpy),
    # Products of narrow integers and their weights overflow in Dask.
    "average": lambda call: call.has("biu"),
    "cumprod": _sums_otherwise,
    "cumsum": _sums_otherwise,
    **dict.fromkeys(("argmax", "argmin", "nanargmax", "nanargmin"), _finds_first_in_other_order),
    # Of a number Dask's fails.
    **dict.fromkeys(
        ("argwhere", "searchsorted"), lambda call: any(not a.ndim for a in call.arrays)
    ),
    "block": _has_empty,
    **dict.fromkeys(("corrcoef", "cov"), _is_of_no_matrix),
    **dict.fromkeys(("delete", "insert"), _takes_blocks_beside),
    "diff": _has_empty,
    **dict.fromkeys(("dot", "matmul"), _has_other_inner_sides),
    "einsum": _takes_diagonals,
    "extract": lambda call: _has_empty(call) or _is_in_other_blocks(call),
    # NumPy's error for complex numbers.
    **dict.fromkeys(("isneginf", "isposinf"), lambda call: call.has("c")),
    # Of whole numbers NumPy's norms are real.
    "norm": lambda call: call.has("biumM"),
    "pad": _is_mirrored,
    "select": _is_in_other_blocks,
    "svd": _is_of_full_matrices,
    "tensordot": _adds_up_other_sides,
    # Without an axis Dask takes rows, and NumPy elements.
    "take": lambda call: len(call.args) < 3 and "axis" not in call.options,
    "unique": _has_no_order,
}
