"""Runs a program: operation by operation, block by block."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from freestone.errors import FreestoneError
from freestone.errors.lang import ScriptError, ScriptRunError, ScriptValueError
from freestone.lang.front.extensions.loading import kernels_of
from freestone.lang.front.graph.graph import (
    Block,
    Function,
    Lifetimes,
    Op,
    Program,
    Value,
    free_values,
    outer_operands,
)
from freestone.lang.front.parse.source import failure, unexpected
from freestone.lang.front.types.scalars import DivisionError
from freestone.lang.front.types.types import Type
from freestone.lang.run.kernels import kernel_of
from freestone.lang.settings import Settings

DEEPEST = 5000
"""How many calls of functions may be inside each other."""
_FRAMES_PER_CALL = 12

COMPRESSED = frozenset(
    ["pipeline", "print", "print_rows", "shape", "type_of", "given", "write", "rows"]
)
"""Operations that take CSR as they are."""

Environment = dict[Value, Any]


class Run:
    """Runs a program.

    Parameters
    ----------
    settings : Settings
        How.
    out : file, optional
        Where ``print`` writes; standard output by default.
    given : sequence, optional
        What Python gave, by the slots of the operations that stand for it.

    Attributes
    ----------
    printed : list or None
        What was printed, as numbers, strings, and lists of rows, if somebody wants that in the
        place of text.
    errors : file or None
        Where ``print`` writes what is for standard error, if that is elsewhere.
    views : dict
        The frames that SQL knows.
    times : dict
        Seconds and counts of operations, if statistics or costs are wanted.
    sizes : dict
        The bytes of what operations were given and made last, if costs are wanted.
    saved : list
        What the script hands to the Python that runs it.
    regions : list
        What the system had counted when each region that is open began.
    own_references : int
        How often an operand is referred to, in a kernel, that nobody else has.
    """

    def __init__(
        self, settings: Settings, out: TextIO | None = None, *, given: Sequence[Any] = ()
    ) -> None:
        self.settings = settings
        self.given = given
        self.out = out or sys.stdout
        self.printed: list[Any] | None = None
        self.errors: TextIO | None = None
        self.views: dict[str, Any] = {}
        self.times: dict[Op, list[float]] = {}
        self.properties: dict[str, float] = {}
        self.kernels = kernels_of(settings) if settings.kernels else {}
        self.saved: list[Any] = []
        self.regions: list[dict[str, float]] = []
        self.own_references = OWN_REFERENCES
        self.sizes: dict[Op, int] = {}
        self._measures = settings.statistics or "cost" in settings.explain
        self._depth = 0

    def measured(self) -> list[tuple[str, str, float, int]]:
        """Return name, place, seconds and count of each operation, if statistics are wanted."""
        return [
            (op.name, str(op.place or ""), seconds, int(count))
            for op, (seconds, count) in self.times.items()
        ]

    def program(self, program: Program) -> None:
        """Run the main block."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, DEEPEST * _FRAMES_PER_CALL))
        try:
            self.block(program.main, {})
        except RecursionError:
            problem = "functions call each other too deep"
            raise failure(ScriptRunError, problem) from None
        finally:
            sys.setrecursionlimit(limit)

    def block(self, block: Block, values: Environment) -> list[Any]:
        """Run a block; its arguments are in `values` already."""
        lives = lifetimes(block)
        for op in block.ops:
            self.step(op, values, lives.last_reads[op] if self.settings.forget else [])
        found = self.operands(block.outs, values)
        if self.settings.forget:
            for value in lives.handed_on:
                values.pop(value, None)
        return found

    def step(self, op: Op, values: Environment, dying: Sequence[Value] = ()) -> None:
        """Run an operation, put its results into `values`, and let go of what is `dying`."""
        control = _CONTROL.get(op.kind)
        begin = time.perf_counter() if self._measures else 0.0
        if control is None:
            results = self._kernel(op, values, dying)
        else:
            results = control(self, op, values, dying)
        if begin and control is None:
            total = self.times.setdefault(op, [0.0, 0])
            total[0] += time.perf_counter() - begin
            total[1] += 1
        if self.settings.record and control is None:
            self._record(op, results)
        values.update(zip(op.results, results, strict=True))
        self._forget(op, values, dying)

    def _forget(self, op: Op, values: Environment, dying: Sequence[Value]) -> None:
        """Let go of what nobody reads after an operation."""
        for value in dying:
            values.pop(value, None)

    def _kernel(self, op: Op, values: Environment, dying: Sequence[Value]) -> Iterable[Any]:
        if op.kind == "given" and not self._measures:
            return (self.given[op.attrs["slot"]],)
        operands = self.operands(op.operands, values)
        for value in dying:
            values.pop(value, None)
        if not self._measures:
            return self.checked(op, operands)
        given = sum(map(_nbytes, operands))
        results = self.checked(op, operands)
        self.sizes[op] = given + sum(map(_nbytes, results))
        return results

    def checked(self, op: Op, operands: list[Any]) -> tuple[Any, ...]:
        """Run an operation; what fails is told with its place in the script."""
        try:
            return self.kernel(op, operands)
        except ScriptError:
            raise
        except DivisionError:
            raise failure(ScriptRunError, "integers are divided by zero", op.place) from None
        except MemoryError:
            raise failure(ScriptRunError, f"no memory for {op.name}", op.place) from None
        except (ValueError, IndexError, OSError, OverflowError, ArithmeticError) as error:
            # Arrays of Python's have no script: their errors are those that NumPy has, too.
            is_value = isinstance(error, ValueError) and op.place is None
            kind = ScriptValueError if is_value else ScriptRunError
            raise failure(kind, _message(error), op.place) from error
        except (FreestoneError, RecursionError):
            raise
        except Exception as error:
            if op.place is None:
                # Arrays of Python's have no script to point at; what calls them sees the error.
                raise
            raise failure(ScriptRunError, unexpected(error), op.place) from error

    def kernel(self, op: Op, operands: list[Any]) -> tuple[Any, ...]:
        """Run an operation; matrices come in, and go out, in the form that the plan says."""
        if op.kernel in self.kernels:
            return self._extended(op, operands)
        if op.kind not in COMPRESSED and any(hasattr(value, "toarray") for value in operands):
            from freestone.lang.run.kernels.stored import stored_kernel

            made, stored = stored_kernel(self, op, operands), True
        else:
            made = kernel_of(op.kind)(self, op, *_emptied(operands))
            # A branch or a round may hand on CSR where the plan says dense.
            stored = op.kind == "pipeline"
        results = made if len(op.results) > 1 else (made,)
        if stored or any(result.type.form for result in op.results):
            pairs = zip(op.results, results, strict=True)
            return tuple(_held(value, result.type) for result, value in pairs)
        return tuple(results)

    def _extended(self, op: Op, operands: list[Any]) -> tuple[Any, ...]:
        """Call a kernel that others wrote, and check what it returns."""
        from freestone.lang.run.extensions.calling import called

        results = called(self, self.kernels[str(op.kernel)], op, operands)
        pairs = zip(op.results, results, strict=True)
        return tuple(_held(value, result.type) for result, value in pairs)

    def _record(self, op: Op, results: Iterable[Any]) -> None:
        from freestone.lang.front.properties import key_of, share_of

        for number, value in enumerate(results):
            share = share_of(value)
            if share is not None:
                self.properties[key_of(op, number)] = share

    def operands(self, operands: Iterable[Value], values: Environment) -> list[Any]:
        """Return what operands hold."""
        return [v.const if v.const is not None else values[v] for v in operands]

    def taken(self, op: Op, values: Environment, dying: Sequence[Value]) -> list[Any]:
        """Return what a loop carries; what it alone needs is no longer held here."""
        found = self.operands(op.operands, values)
        inner = {value for region in op.regions for value in free_values(region)}
        for value in dying:
            if value not in inner:
                values.pop(value, None)
        return found

    def call(self, function: Function, arguments: Iterable[Any], op: Op) -> list[Any]:
        """Call a function of the script."""
        self._depth += 1
        if self._depth > DEEPEST:
            problem = f"functions call each other more than {DEEPEST} deep"
            raise failure(ScriptRunError, problem, op.place)
        try:
            values = dict(zip(function.block.args, arguments, strict=True))
            return self.block(function.block, values)
        finally:
            self._depth -= 1


def lifetimes(block: Block, also: Iterable[Value] = ()) -> Lifetimes:
    """Tell how long the values of a block are needed; found out once.

    What stands outside of a block lives longer than it, but for what `also` names: values that
    nobody reads after the block.
    """
    if block.lifetimes is None:
        inside = {result for op in block.ops for result in op.results} | set(block.args)
        inside.update(also)
        seen = set(block.outs)
        last: dict[Op, list[Value]] = {}
        for op in reversed(block.ops):
            read = dict.fromkeys([*op.results, *outer_operands(op)])
            last[op] = [value for value in read if value in inside and value not in seen]
            if op.kind == "if":
                for region in op.regions:
                    lifetimes(region, last[op])
            seen.update(read)
        block.lifetimes = Lifetimes(last, [value for value in block.outs if value in inside])
    return block.lifetimes


def _emptied(operands: list[Any]) -> Iterable[Any]:
    # The list must not hold on to what the kernel may write in place.
    taken = tuple(operands)
    operands.clear()
    return taken


def _counted(run: Any, op: Any, operand: Any, *others: Any) -> int:
    return sys.getrefcount(operand)


OWN_REFERENCES = _counted(None, None, *_emptied([object(), None]))
"""How often a kernel finds an operand referred to that nobody else has; each Python has its own."""


def _held(value: Any, type: Type) -> Any:
    """Return a matrix in the form that its type says."""
    if not type.form:
        return value.toarray() if hasattr(value, "toarray") else value
    from freestone.lang.run.kernels.coordinates import Coo
    from freestone.lang.run.kernels.sparse import Csr

    if type.csr and not isinstance(value, Csr):
        return value.tocsr() if isinstance(value, Coo) else Csr.of(value)
    if type.coo and not isinstance(value, Coo):
        return Coo.of_csr(value) if isinstance(value, Csr) else Coo.of(value)
    return value


def _nbytes(value: Any) -> int:
    """Return the bytes of a matrix or a frame here; of what is on a cluster, nothing is known."""
    arrays = getattr(value, "arrays", None) or getattr(value, "columns", None)
    if isinstance(arrays, tuple | list):
        return sum(array.nbytes for array in arrays)
    return int(getattr(value, "nbytes", 0))


_REAL_POWERS = "Make one of both real: x.astype(float) ** y in Python, as.f64(x) ^ y in DaphneDSL."


def _message(error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"there is no file {error.filename!r}"
    if "negative integer powers" in str(error):
        return f"{error} {_REAL_POWERS}"
    return str(error) or type(error).__name__


def _run_if(run: Run, op: Op, values: Environment, dying: Sequence[Value]) -> list[Any]:
    (condition,) = run.operands(op.operands, values)
    return run.block(op.regions[0 if condition else 1], values)


def _run_while(run: Run, op: Op, values: Environment, dying: Sequence[Value]) -> list[Any]:
    body, test = op.regions
    carried = run.taken(op, values, dying)
    go_on = not op.attrs["test_first"]
    while True:
        if not go_on:
            values.update(zip(test.args, carried, strict=True))
            if not run.block(test, values)[0]:
                return carried
        go_on = False
        values.update(zip(body.args, carried, strict=True))
        # What the round before made is held by the block alone, and goes when it was read.
        del carried
        carried = run.block(body, values)


def _run_for(run: Run, op: Op, values: Environment, dying: Sequence[Value]) -> list[Any]:
    (body,) = op.regions
    operands = run.taken(op, values, dying)
    ends, carried = operands[: op.attrs["ends"]], operands[op.attrs["ends"] :]
    del operands
    begin, end = ends[:2]
    step = ends[2] if len(ends) == 3 else (1 if begin <= end else -1)
    if step == 0:
        raise failure(ScriptRunError, "the step of a loop can't be 0", op.place)
    for counter in range(begin, end + (1 if step > 0 else -1), step):
        values.update(zip(body.args, [counter, *carried], strict=True))
        del carried
        carried = run.block(body, values)
    return carried


def _run_call(run: Run, op: Op, values: Environment, dying: Sequence[Value]) -> list[Any]:
    function: Function = op.attrs["function"]
    results = run.call(function, run.operands(op.operands, values), op)
    return results if results else [None]


def _run_strips(run: Run, op: Op, values: Environment, dying: Sequence[Value]) -> list[Any]:
    from freestone.lang.run.kernels.strips import strip_by_strip

    try:
        return strip_by_strip(run, op, values)
    except OSError as error:
        raise failure(ScriptRunError, _message(error), op.place) from error


_CONTROL = {
    "if": _run_if,
    "while": _run_while,
    "for": _run_for,
    "call": _run_call,
    "strips": _run_strips,
}
