"""Where lazy values come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from freestone.lang.daphnelib import control, graph
from freestone.lang.daphnelib.exchange import (
    cells_of,
    exported,
    frame_of_arrow,
    frame_of_pandas,
)
from freestone.lang.daphnelib.lazy import (
    MissingError,
    called,
    framed,
    of_cells,
    of_rows,
    operated,
    wrapped,
)
from freestone.lang.daphnelib.tensors import dense_of, stored_by
from freestone.lang.daphnelib.values import VIEWS, Frame, Matrix, Scalar
from freestone.lang.front.builtins import find, relational
from freestone.lang.front.parse.source import Source
from freestone.lang.run.kernels.lending import shared_now, sharing
from freestone.lang.run.local import Run
from freestone.lang.script import compile_source
from freestone.lang.settings import Settings

__all__ = ["DaphneContext"]


class DaphneContext:
    """Makes lazy values: of what Python has, and by the built-in functions of the language."""

    cond = staticmethod(control.cond)
    for_loop = staticmethod(control.for_loop)
    while_loop = staticmethod(control.while_loop)
    do_while_loop = staticmethod(control.do_while_loop)
    function = staticmethod(control.function)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or find(name) is None:
            raise MissingError(DaphneContext, name)
        return lambda *args, **keywords: called(name, args, keywords)

    # -- what Python has -----------------------------------------------------------------

    def from_numpy(
        self,
        mat: Any,
        shared_memory: bool = True,
        verbose: bool = False,
        return_shape: bool = False,
    ) -> Any:
        """Take an array of one or two dimensions, with any strides; one becomes a column.

        Parameters
        ----------
        mat : array_like
            The array. It is never written to.
        shared_memory : bool
            Whether to take it in place, so that later changes of it are seen; else a copy.
        verbose : bool
            Whether to tell on standard error what was taken.
        return_shape : bool
            Whether to return the array's shape as well; then it may have more dimensions, which
            are laid side by side.

        Raises
        ------
        ValueError
            If it has more dimensions, or cells of a type that no matrix holds.
        """
        return _taken(mat, return_shape, shared_memory, verbose, return_shape)

    def from_dlpack(self, tensor: Any) -> Matrix:
        """Take what any library hands out by DLPack, in place if it is in this machine's memory."""
        made: Matrix = self.from_numpy(dense_of(tensor))
        return made

    def from_pytorch(
        self,
        tensor: Any,
        shared_memory: bool = True,
        verbose: bool = False,
        return_shape: bool = False,
    ) -> Any:
        """Take a tensor of PyTorch's by DLPack; see `from_numpy`.

        Dimensions after the second are laid side by side. A sparse tensor becomes CSR;
        its cells come in place, if it holds them so.
        """
        tensor = tensor.detach() if hasattr(tensor, "detach") else tensor
        stored = stored_by(tensor)
        if stored is not None:
            return _taken_rows(stored, shared_memory, verbose, return_shape)
        return _taken(dense_of(tensor), True, shared_memory, verbose, return_shape)

    def from_tensorflow(
        self,
        tensor: Any,
        shared_memory: bool = True,
        verbose: bool = False,
        return_shape: bool = False,
    ) -> Any:
        """Take a tensor of TensorFlow's, by DLPack where it has that; see `from_pytorch`."""
        stored = stored_by(tensor)
        if stored is not None:
            return _taken_rows(stored, shared_memory, verbose, return_shape)
        return _taken(dense_of(tensor), True, shared_memory, verbose, return_shape)

    def from_scipy(self, array: Any) -> Matrix:
        """Take CSR of SciPy's, without making them dense."""
        made: Matrix = of_rows(array)
        return made

    def from_pandas(
        self,
        df: Any,
        shared_memory: bool = True,
        verbose: bool = False,
        keepIndex: bool = False,  # noqa: N803 - DaphneLib's name
    ) -> Frame:
        """Take a frame of pandas', its columns in place.

        Parameters
        ----------
        df : pandas.DataFrame
            The frame.
        shared_memory, verbose : bool
            As for `from_numpy`.
        keepIndex : bool
            Whether the index becomes the first column.
        """
        data = frame_of_pandas(df, keep_index=keepIndex, copy=not shared_memory)
        made: Frame = framed(data)
        _tell(made, verbose)
        return made

    def from_arrow(self, table: Any) -> Frame:
        """Take a table or record batch of Arrow's, its columns in place."""
        made: Frame = framed(frame_of_arrow(table))
        return made

    def from_python(
        self,
        mat: Sequence[Any],
        shared_memory: bool = True,
        verbose: bool = False,
        return_shape: bool = False,
    ) -> Any:
        """Take a list, or a list of rows; see `from_numpy`."""
        return self.from_numpy(np.array(mat), shared_memory, verbose, return_shape)

    # -- scripts -------------------------------------------------------------------------

    def lend(self, array: Any) -> AbstractContextManager[tuple[int, int, int, int]]:
        """Let scripts take an array by ``receiveFromNumpy``, in place.

        Returns
        -------
        context manager
            Yields address, rows, columns and code of the value type, in that order.
        """
        return sharing(cells_of(array))

    def run(
        self, text: str, settings: Settings | None = None, /, **arguments: float | str
    ) -> list[Any]:
        """Run a script, and return what it gave to ``saveDaphneLibResult``, in order.

        Parameters
        ----------
        text : str
            The script.
        settings : Settings, optional
            How; fused by default.
        **arguments
            Numbers, NumPy's too, truth values and strings for ``$name``.

        Raises
        ------
        ScriptError
            With the place in the script.
        """
        numbers = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in arguments.items()
        }
        given = {name: (value, _cell_word(value)) for name, value in numbers.items()}
        settings = settings or Settings(vec=True)
        program = compile_source(Source(text, "script"), given, settings)
        run = Run(settings)
        run.program(program)
        return [exported(value, shared_now()) for value in run.saved]

    # -- what is made --------------------------------------------------------------------

    def rand(
        self,
        rows: Any,
        cols: Any,
        min: Any = 0.0,
        max: Any = 1.0,
        sparsity: Any = 1.0,
        seed: Any = 0,
    ) -> Matrix:
        """Draw a matrix of random numbers."""
        made: Matrix = called("rand", (rows, cols, min, max, sparsity, seed), {})
        return made

    def sample(self, range: Any, size: Any, withReplacement: Any, seed: Any = -1) -> Matrix:  # noqa: N803
        """Draw from the numbers below `range`."""
        made: Matrix = called("sample", (range, size, withReplacement, seed), {})
        return made

    def createFrame(  # noqa: N802 - DaphneLib's name
        self, columns: Any, *more: Any, labels: Iterable[str] = ()
    ) -> Frame:
        """Make a frame of columns, and labels for all of them or none."""
        made: Frame = called("createFrame", (columns, *more, *labels), {})
        return made

    def sql(self, query: str) -> Frame:
        """Ask a query in SQL of the frames that ``Frame.registerView`` made known."""
        emitter = graph.emitter()
        emitter.views = {name: value.type for name, value in VIEWS.items()}
        value = relational.sql(emitter, emitter.constant(query, "str"))
        assert value.op is not None
        # What a script registers as it runs is there from the beginning.
        value.op.operands = list(VIEWS.values())
        value.op.attrs["given"] = tuple(VIEWS)
        made: Frame = wrapped(value)
        return made

    def registerView(self, name: str, frame: Frame) -> Frame:  # noqa: N802 - DaphneLib's name
        """Make a frame known to `sql`."""
        return frame.registerView(name)

    def logical_and(self, left_operand: Any, right_operand: Any) -> Scalar:
        """Tell whether both are true."""
        made: Scalar = operated("and", left_operand, right_operand)
        return made

    def logical_or(self, left_operand: Any, right_operand: Any) -> Scalar:
        """Tell whether one of both is true."""
        made: Scalar = operated("or", left_operand, right_operand)
        return made


def _cell_word(value: float | str) -> str:
    cells = {bool: "bool", int: "si64", float: "f64", str: "str"}
    if type(value) not in cells:
        raise TypeError(f"an argument of a script is a number or a string, not {value!r}")
    return cells[type(value)]


def _taken(array: Any, flatten: bool, shared: bool, verbose: bool, return_shape: bool) -> Any:
    made = of_cells(cells_of(array, flatten=flatten, copy=not shared))
    _tell(made, verbose)
    return (made, tuple(np.shape(array))) if return_shape else made


def _taken_rows(array: Any, shared: bool, verbose: bool, return_shape: bool) -> Any:
    made = of_rows(array if shared else array.copy())
    _tell(made, verbose)
    return (made, array.shape) if return_shape else made


def _tell(made: Any, verbose: bool) -> None:
    if verbose:
        import sys

        print(f"taken: {made._value.type}", file=sys.stderr)
