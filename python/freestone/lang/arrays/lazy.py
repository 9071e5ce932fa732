"""Array expressions as a user sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from freestone.collections import Array
from freestone.collections.protocols import ArrayMethods
from freestone.collections.rows import is_sparse
from freestone.lang.arrays import totals
from freestone.lang.arrays.cells import ufunc as cells_of
from freestone.lang.arrays.functions import FUNCTIONS
from freestone.lang.arrays.indexing import indexed
from freestone.lang.arrays.nodes import Node, refusal, source, value

__all__ = ["LazyArray", "lazy_of"]

_REDUCING = {
    "add": "sum",
    "multiply": "prod",
    "minimum": "min",
    "maximum": "max",
    "logical_or": "any",
    "logical_and": "all",
}


def lazy_of(array: Array) -> LazyArray:
    """Return the expression that stands for an array."""
    return LazyArray(source(array))


class LazyArray(ArrayMethods):
    """An array, or a number, that is computed when it is asked for.

    Made by operators and NumPy's functions of an `Array`. Shapes and dtypes are NumPy's, and are
    checked at once.

    Attributes
    ----------
    shape : tuple
        None stands for as many rows as a mask will choose.
    dtype : dtype
        Of the cells.
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Its shape; None stands for as many rows as a mask will choose."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self._node.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its cells."""
        return self._node.dtype

    def __repr__(self) -> str:
        shape = str(self.shape).replace("None", "?")
        return f"<LazyArray of shape {shape} and dtype {self.dtype}, not computed>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a lazy number has no length")
        if self.shape[0] is None:
            raise TypeError("how many rows a mask chooses is known when it is computed")
        return self.shape[0]

    def __iter__(self) -> Any:
        raise TypeError("a lazy array has no items yet; call compute() first")

    # -- what it is computed to -----------------------------------------------------------

    def compute(self) -> Any:
        """Return its value as a NumPy array or number, here.

        Notes
        -----
        One pass over the blocks for what needs no sum of all rows, and one more for each sum
        that needs another. Without a cluster it runs on all cores of this machine.
        """
        from freestone.lang.arrays.computing import computed

        found = computed(self._node)
        return found if self.ndim else np.asarray(found, self.dtype)[()]

    def to_array(self) -> Array:
        """Return an `Array` whose blocks are computed where those are that they come from.

        Raises
        ------
        TypeError
            If it has no rows in blocks: sums of all rows, and transposes.
        """
        from freestone.lang.arrays.computing import as_array

        return as_array(self._node)

    def explain(self) -> str:
        """Return what runs on each block, stage by stage, a line for each operation."""
        from freestone.lang.arrays.explaining import explained

        return explained(self._node)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Compute it as a NumPy array."""
        found = self.compute()
        return np.asarray(found.toarray() if is_sparse(found) else found, dtype=dtype)

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def _number(self) -> Any:
        if any(side != 1 for side in self.shape):
            raise TypeError(f"an array of shape {self.shape} is no number")
        return np.asarray(self).reshape(())[()]

    # -- NumPy's protocols ----------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        """Compute a ufunc of NumPy's lazily."""
        name = ufunc.__name__
        if options.pop("out", None) is not None:
            raise refusal(f"np.{name}", "writes into no other array: out= can't be given")
        if method == "reduce" and name in _REDUCING:
            options.setdefault("axis", 0)
            return LazyArray(FUNCTIONS[_REDUCING[name]](*map(_node, args), **options))
        if method != "__call__":
            raise refusal(f"np.{name}.{method}", "is not computed lazily")
        nodes = [_node(arg) for arg in args]
        if name == "matmul":
            return LazyArray(totals.matmul(*nodes))
        return LazyArray(cells_of(ufunc, nodes, options))

    def __array_function__(
        self, function: Any, types: Any, args: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        """Compute a function of NumPy's lazily."""
        name = function.__name__
        if name in ("shape", "ndim", "size"):
            return _figure(name, _node(args[0]))
        made = FUNCTIONS.get(name)
        if made is None:
            raise refusal(f"np.{name}", "is not computed lazily")
        placed = [_nodes(arg) for arg in args]
        named = {word: _nodes(arg) for word, arg in options.items() if arg is not np._NoValue}
        return _lazily(made(*placed, **named))

    def astype(self, dtype: DTypeLike) -> LazyArray:
        """Convert every cell."""
        return LazyArray(totals.cast(self._node, dtype))

    def __getitem__(self, key: Any) -> LazyArray:
        """Take a part: rows by a slice, a number or a mask, columns by anything of NumPy's."""
        keys = key if isinstance(key, tuple) else (key,)
        return LazyArray(indexed(self._node, tuple(_nodes(one) for one in keys)))


def _node(operand: Any) -> Node:
    if isinstance(operand, LazyArray):
        return operand._node
    if isinstance(operand, Array):
        return source(operand)
    return value(operand)


def _lazily(made: Any) -> Any:
    """Return what stands for nodes; what is known already stays as it is."""
    if isinstance(made, tuple):
        return tuple(_lazily(one) for one in made)
    return LazyArray(made) if isinstance(made, Node) else made


def _nodes(operand: Any) -> Any:
    """Replace lazy arrays, also in a list, by their nodes; all else stays as it is."""
    if isinstance(operand, LazyArray | Array):
        return _node(operand)
    if isinstance(operand, list | tuple) and any(
        isinstance(one, LazyArray | Array) for one in operand
    ):
        return [_node(one) for one in operand]
    return operand


def _figure(name: str, node: Node) -> Any:
    if name == "shape":
        return node.shape
    if name == "ndim":
        return node.ndim
    if None in node.shape:
        raise TypeError("how many rows a mask chooses is known when it is computed")
    return int(np.prod([side or 0 for side in node.shape]))
