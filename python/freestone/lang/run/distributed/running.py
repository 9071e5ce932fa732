"""Runs a program with its large matrices in the blocks of a cluster."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, TextIO

from freestone.client import Client
from freestone.client.future import Future
from freestone.errors import FreestoneError
from freestone.errors.lang import ScriptError, ScriptRunError
from freestone.lang.compile.placing import SOURCES
from freestone.lang.compile.roles import ROWS
from freestone.lang.front.graph.graph import EFFECTS, Op, Value
from freestone.lang.front.parse.source import failure
from freestone.lang.front.types.types import Type
from freestone.lang.run.distributed.combining import added, combined
from freestone.lang.run.distributed.files import read_blocks
from freestone.lang.run.distributed.fragment import Fragment, fragment_of, join_rows, run_fragment
from freestone.lang.run.distributed.sending import Sent
from freestone.lang.run.distributed.special import SPECIAL
from freestone.lang.run.distributed.split import Split, Transposed, even_offsets
from freestone.lang.run.distributed.tables import STEPS, SplitFrame
from freestone.lang.run.distributed.transposed import on_transposed
from freestone.lang.run.local import Environment, Run
from freestone.lang.settings import Settings

__all__ = ["DistributedRun"]

_CONTROL = frozenset({"if", "while", "for", "call"})


class DistributedRun(Run):
    """Runs a program with its large matrices in the blocks of a cluster.

    What works row by row, or sums over rows, is called on each block, where the block is. All else
    is computed here, from rows that are fetched once.

    Parameters
    ----------
    settings : Settings
        How.
    cluster : Cluster
        Where the blocks are.
    out : file, optional
        Where ``print`` writes; standard output by default.
    """

    def __init__(self, settings: Settings, client: Client, out: TextIO | None = None) -> None:
        super().__init__(settings, out)
        # Operations that are made of others while the script runs, by what they are made of.
        self.client = client
        self.sent: Sent = Sent(client)
        self.derived: dict[Any, Op] = {}
        self._fragments: dict[Any, tuple[Fragment, bytes] | None] = {}
        # By when they were begun: of several that fail, the first is reported, as in one process.
        self._pending: weakref.WeakValueDictionary[int, Split] = weakref.WeakValueDictionary()
        self._begun = count()

    def checked(self, op: Op, operands: list[Any]) -> tuple[Any, ...]:
        """Run an operation; if it fails, what blocks failed at before it is reported instead."""
        try:
            return super().checked(op, operands)
        except ScriptError:
            self._release_at(op)
            raise

    def kernel(self, op: Op, operands: list[Any]) -> tuple[Any, ...]:
        """Run an operation on blocks, or else here."""
        try:
            if op.kind == "read":
                split = read_blocks(self, op, operands[0])
                if split is not None:
                    return (split,)
            elif op.kind in EFFECTS and op.kind not in _CONTROL:
                self.release()
            in_blocks = any(map(_is_split, operands)) or self._asks_frames(op)
            found = self._on_blocks(op, operands) if in_blocks else None
            if found is not None:
                return found
            operands[:] = [v.fetched() if _is_split(v) else v for v in operands]
        except ScriptError:
            raise
        except FreestoneError as error:
            raise failure(ScriptRunError, str(error), op.place) from error
        if op.kind == "insert":
            # It may write in place what was sent before.
            self.sent.forget(operands[0])
        results = super().kernel(op, operands)
        if op.kind in SOURCES:
            return tuple(self.cut(value, op) for value in results)
        return results

    def _forget(self, op: Op, values: Environment, dying: Sequence[Value]) -> None:
        # An operation whose result nobody reads runs because it may fail.
        if op.kind not in _CONTROL and any(value in dying for value in op.results):
            self._release_at(op)
        super()._forget(op, values, dying)

    def _release_at(self, op: Op) -> None:
        try:
            self.release()
        except ScriptError:
            raise
        except FreestoneError as error:
            raise failure(ScriptRunError, str(error), op.place) from error

    def release(self) -> None:
        """Wait for all blocks, so that what went wrong is told before anything else happens."""
        for split in list(self._pending.values()):
            for block in split.blocks:
                error = block.exception()
                if error is not None:
                    raise error
        self._pending.clear()

    def cut(self, value: Any, op: Op) -> Any:
        """Cut a large matrix into blocks; what is small, or no matrix, stays as it is."""
        type = op.results[0].type
        if type.data != "matrix" or type.cell == "str" or type.coo or value.shape[0] < 2:
            return value
        csr = hasattr(value, "indptr")
        nbytes = value.cells.nbytes if csr else value.nbytes
        if nbytes < self.settings.distributed_bytes or not nbytes:
            return value
        offsets = self.offsets(value.shape[0], nbytes)
        blocks = self.sent.blocks(value, offsets)
        return Split(blocks, offsets, value.shape[1], type.cell, csr=csr)

    def offsets(self, rows: int, nbytes: int) -> tuple[int, ...]:
        """Return where to cut: a block for each executor, none larger than the settings allow."""
        least = -(-nbytes // self.settings.block_bytes)
        return even_offsets(rows, max(self.client.slots, least))

    def _asks_frames(self, op: Op) -> bool:
        return op.kind == "sql" and any(map(_is_split, self.views.values()))

    def _on_blocks(self, op: Op, operands: list[Any]) -> tuple[Any, ...] | None:
        if any(isinstance(v, SplitFrame) for v in operands) or self._asks_frames(op):
            step = STEPS.get(op.kind)
            made = None if step is None else step(self, op, operands)
            return None if made is None else tuple(made)
        # A kernel of others' is called on blocks, and not put together of other operations.
        special = None if op.kernel in self.kernels else SPECIAL.get(op.kind)
        if special is not None:
            found = special(self, op, operands)
            if found is not None:
                return tuple(found)
        if op.kernel not in self.kernels and any(isinstance(v, Transposed) for v in operands):
            found = on_transposed(self, op, operands)
            if found is not None:
                return tuple(found)
        for at, split in enumerate(operands):
            if isinstance(split, Split) and self._cuts(op, operands, at):
                results = self.apply(op, operands, split.offsets)
                if results is not None:
                    return results
        if op.kind == "pipeline":
            return self._one_by_one(op, operands)
        return None

    def _cuts(self, op: Op, operands: list[Any], at: int) -> bool:
        """Tell whether an operation takes an operand by rows, and not as positions into others."""
        made = self._fragment(op, [_shape(value) for value in operands], operands[at].shape[0])
        return made is not None and (at, ROWS) in made[0].inputs

    def _one_by_one(self, op: Op, operands: list[Any]) -> tuple[Any, ...]:
        values = dict(zip(op.attrs["reads"], operands, strict=True))
        for inner in op.regions[0].ops:
            operands = self.operands(inner.operands, values)
            (values[inner.results[0]],) = self.checked(inner, operands)
        return tuple(values[value] for value in op.regions[0].outs)

    def apply(
        self,
        op: Op,
        operands: Sequence[Any],
        offsets: tuple[int, ...],
        *,
        columns: int | None = None,
        made_offsets: tuple[int, ...] | None = None,
    ) -> tuple[Any, ...] | None:
        """Run an operation on blocks of certain rows, or return None where that can't be done.

        Parameters
        ----------
        op, operands
            What to run.
        offsets
            Where its rows are cut.
        columns
            The columns of the result, where they do not follow from shapes.
        made_offsets
            Where the rows of the result are cut; as its operands by default.
        """
        shapes = [_shape(value) for value in operands]
        made = self._fragment(op, shapes, offsets[-1])
        if made is None:
            return None
        fragment, encoded = made
        inputs = [self._inputs(operands[at], role, offsets) for at, role in fragment.inputs]
        number = self.client.define(run_fragment, self._label(op))
        calls = [
            self.client.call(number, (encoded, *each), {}, len(fragment.roles))
            for each in zip(*inputs, strict=True)
        ]
        rows = [call if isinstance(call, tuple) else (call,) for call in calls]
        results = []
        for at, (role, value) in enumerate(zip(fragment.roles, fragment.block.outs, strict=True)):
            width = role.columns if columns is None else columns
            futures = [row[at] for row in rows]
            if role.result == ROWS:
                ends, type = made_offsets or offsets, value.type
                results.append(self.split(futures, ends, width, type.cell, csr=bool(type.form)))
            else:
                results.append(self._combined(role.result, value.type, futures))
        return tuple(results)

    def split(
        self,
        futures: list[Future],
        offsets: tuple[int, ...],
        columns: int | None,
        cell: str,
        *,
        csr: bool = False,
    ) -> Split:
        """Make a matrix of blocks that are being made."""
        assert columns is not None
        found = Split(futures, offsets, columns, cell, csr=csr)
        self._pending[next(self._begun)] = found
        return found

    def _combined(self, name: str, type: Type, futures: list[Future]) -> Any:
        if type.data == "scalar":
            return combined(name, type.cell, [future.result() for future in futures])
        return added(self.client, name, futures)

    def _fragment(
        self, op: Op, shapes: list[tuple[int, ...]], rows: int
    ) -> tuple[Fragment, bytes] | None:
        key = op, tuple(shapes), rows
        if key not in self._fragments:
            made = fragment_of(op, shapes, rows)
            encoded = b"" if made is None else made.encoded(self.settings)
            self._fragments[key] = None if made is None else (made, encoded)
        return self._fragments[key]

    def _label(self, op: Op) -> str:
        """Name calls by their operation, and by the kernels of others that may crash in them."""
        inner = [op, *(each for region in op.regions for each in region.ops)]
        kernels = {str(each.kernel) for each in inner if each.kernel in self.kernels}
        return op.name + "".join(f" by {name}" for name in sorted(kernels))

    def _inputs(self, value: Any, role: str, offsets: tuple[int, ...]) -> Iterable[Any]:
        if role == ROWS:
            return self.rows(value, offsets)
        return [self.whole(value)] * (len(offsets) - 1)

    def rows(self, value: Any, offsets: tuple[int, ...]) -> list[Future]:
        """Return the blocks of a matrix, cut at certain rows."""
        if isinstance(value, Split) and value.offsets == offsets:
            return value.blocks
        if _is_split(value):
            value = value.fetched()
        return self.sent.blocks(value, offsets)

    def whole(self, value: Any) -> Any:
        """Return what stands for a whole matrix, or a scalar, in a call."""
        if not _is_split(value):
            return self.sent.whole(value)
        if value.whole is None:
            transposed = isinstance(value, Transposed)
            split = value.split if transposed else value
            number = self.client.define(join_rows, "join")
            value.whole = self.client.call(number, (transposed, *split.blocks), {}, 1)
        return value.whole


def _is_split(value: Any) -> bool:
    return isinstance(value, Split | Transposed | SplitFrame)


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))
