"""The graph of an array expression, in NumPy's terms: shapes, dtypes, and which rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.collections import Array
from freestone.collections.protocols import ArrayMethods
from freestone.units import is_unknown, numpys_shape

Dtype = np.dtype[Any]
Function = Callable[..., Any]
Shape = tuple[int | None, ...]
TRUTH = np.dtype(np.bool_)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that are cut into blocks in one way.

    Attributes
    ----------
    key : object
        Equal for rows that go together: the offsets' bytes, or the mask that chose them.
    offsets : ndarray of shape (blocks + 1,)
        Where the blocks begin that they are, or are chosen from.
    """

    key: Any
    offsets: NDArray[np.int64] = field(compare=False)

    @property
    def count(self) -> int | None:
        """How many there are; None where a mask decides."""
        return int(self.offsets[-1]) if isinstance(self.key, bytes) else None

    @classmethod
    def of(cls, offsets: NDArray[np.int64]) -> Rows:
        """Make it from where the blocks begin."""
        return cls(np.asarray(offsets, np.int64).tobytes(), offsets)


@dataclass(eq=False, slots=True)
class Node:
    """A value that is computed later.

    Attributes
    ----------
    kind : str
        ``source`` and ``value`` hold data; ``cells`` and ``rows`` work row by row; ``filter``
        takes the rows that a mask chooses; ``total`` and ``product`` combine all rows;
        ``transposed`` is a transpose; ``small`` works on what is whole, here.
    args : tuple of Node
        What it needs.
    shape : tuple
        Its shape; None stands for rows that a mask chooses, where users see NaN.
    dtype : dtype
        NumPy's type of its cells.
    rows : Rows or None
        How its rows are cut; None if it is whole, here.
    attrs : dict
        What there is to know beside: ``function``, ``name``, ``data``.
    """

    kind: str
    args: tuple[Node, ...]
    shape: Shape
    dtype: Dtype
    rows: Rows | None = None
    attrs: dict[str, Any] = field(default_factory=dict)

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)


def source(array: Array) -> Node:
    """Make the node of an array that is cut into blocks."""
    rows = Rows.of(array.offsets)
    return Node("source", (), array.shape, array.dtype, rows, {"data": array})


def cut_up(data: NDArray[Any], rows: Rows) -> Node:
    """Make the node of an array that is here and goes with the rows of another."""
    blocks = (
        Array.from_numpy(data, rows.offsets)
        if len(rows.offsets) > 1
        else Array(
            [unwritten(data)], rows.offsets, name="array", columns=data.shape[1:], dtype=data.dtype
        )
    )
    return Node("source", (), data.shape, data.dtype, rows, {"data": blocks})


def value(data: Any) -> Node:
    """Make the node of an array or a number that is here.

    Python's own numbers have no type of their own, as in NumPy. What the program writes into the
    array later is not seen: it is copied.
    """
    # NumPy's float64 and complex128 are subclasses of Python's numbers, and do have a type.
    if isinstance(data, bool | int | float | complex) and not isinstance(data, np.generic):
        kinds: tuple[Any, ...] = (bool, int, float, complex)
        kind = next(kind for kind in kinds if isinstance(data, kind))
        attrs = {"data": kind(data), "weak": True}
        return Node("value", (), (), np.dtype(kind), None, attrs)
    refuse_masked(data)
    array = np.asarray(_known(data))
    if array.dtype.hasobject:
        array = _times(array, data)
    kept = data if isinstance(data, np.generic) else unwritten(array)
    return Node("value", (), array.shape, array.dtype, None, {"data": kept})


def _known(data: Any) -> Any:
    """Return a list with lazy numbers in it with the numbers, which NumPy does not ask for."""
    if isinstance(data, list | tuple):
        return [_known(one) for one in data]
    return np.asarray(data) if isinstance(data, ArrayMethods) else data


_OF_SPARSE = (
    "; with a sparse matrix m, x.map_blocks(lambda block: block @ m) multiplies the rows of each "
    "block by it, and m.toarray() is an array of NumPy's"
)


def _times(array: NDArray[Any], data: Any) -> NDArray[Any]:
    """Return an array of times and durations of Python's, or of pandas', as one of NumPy's.

    Raises
    ------
    TypeError
        For other objects, and for times of a zone, of which NumPy has none.
    """
    kind = type(data).__name__
    found = array.ravel().tolist()
    if any(getattr(one, "tzinfo", None) is not None for one in found):
        raise TypeError(
            f"{kind} has a time of a zone, which NumPy's times have not; write "
            "time.astimezone(datetime.UTC).replace(tzinfo=None), if the array has UTC"
        )
    for known, code in ((date, "M8"), (timedelta, "m8")):
        if found and all(isinstance(one, known) for one in found):
            # Those of pandas have nanoseconds.
            times = [one.to_numpy() if hasattr(one, "to_numpy") else one for one in found]
            return np.array(times, code).reshape(array.shape)
    hint = _OF_SPARSE if hasattr(data, "tocsr") else ""
    raise TypeError(
        f"{kind} can't be part of an array expression: arrays have numbers, truth values, texts "
        f"and times{hint}"
    )


def unwritten(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy into which nobody can write, or the array if nobody could."""
    if array.flags.writeable or array.base is not None:
        array = array.copy()
        array.flags.writeable = False
    return array


def ordered(roots: Iterable[Node], *, of_rows: bool = False) -> Iterator[Node]:
    """Yield nodes, each after those that it needs; graphs may be deeper than the stack.

    With `of_rows`, values without rows are yielded, and not what they are made of: that may have
    rows, but others than the roots have.
    """
    seen: set[Node] = set()
    stack = [(root, False) for root in roots]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            if node.rows is not None or not of_rows:
                stack += [(arg, False) for arg in reversed(node.args)]


def broadcast(shapes: Iterable[Shape]) -> Shape:
    """Return the shape of what cells of several shapes make, as NumPy does.

    Raises
    ------
    ValueError
        If they do not go together.
    """
    known = [shape for shape in shapes if shape]
    if known and known.count(known[0]) == len(known):
        return known[0]
    out: list[int | None] = []
    for at in range(1, max(map(len, known), default=0) + 1):
        sides = {shape[-at] for shape in known if len(shape) >= at} - {1}
        if len(sides) > 1:
            shown = " ".join(str(numpys_shape(shape)) for shape in known)
            if is_unknown(*sides):
                raise unknown_rows("a part by a mask", f"goes with no other rows: {shown}")
            raise ValueError(f"shapes that do not go together: {shown}")
        out.append(sides.pop() if sides else 1)
    return tuple(reversed(out))


def refuse_masked(data: Any) -> None:
    """Raise the error for a masked array, whose mask would be lost."""
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError(
            "a masked array can't be part of an array expression, which has no masks; call "
            "filled() on it first, or use NaN for what is masked"
        )


class NotLazyError(TypeError):
    """The error of what is not computed lazily; it may be computed elsewhere."""


class IndexNotLazyError(NotLazyError, IndexError):
    """The same of an index."""


def unknown_rows(name: str, reason: str) -> NotLazyError:
    """Make the error of what takes a number of rows that only a mask says."""
    return NotLazyError(
        f"{name} {reason}: how many rows a mask chooses is not known yet; "
        "x.compute_chunk_sizes() computes them, and keeps them in blocks, and x.compute() makes a "
        "NumPy array"
    )


def refusal(name: str, reason: str, kind: type[NotLazyError] = NotLazyError) -> NotLazyError:
    """Make the error of what is not computed lazily."""
    return kind(
        f"{name} of an Array {reason}; call compute() on it first to have it as a NumPy array, or "
        "call a function with each block by map_blocks"
    )
