"""Small values: to plan their operations takes longer than to do them one after the other.

What an operation does is found out once for its types: NumPy's own function where that gives what
its kernel gives, elsewhere the kernel that scripts without ``--vec`` use.

See docs/decisions/093-small-lazy-values-are-computed-without-a-plan.md
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from freestone.lang.daphnelib import direct
from freestone.lang.front.graph.graph import Op, Value
from freestone.lang.front.types.types import Type, is_float
from freestone.lang.run import calibration
from freestone.lang.run.kernels import kernel_of
from freestone.lang.run.kernels.quiet import quietly
from freestone.lang.run.local import Run
from freestone.lang.settings import Settings

__all__ = ["MAX_BYTES", "computed", "function_of"]

MAX_BYTES = calibration.MAX_ALONE_NBYTES
"""What operations may read and write together: some 50 µs, as a plan and its threads take. Where
memory is slower, threads pay for less: :func:`_is_small` asks what was measured."""
MAX_INEXACT_BYTES = 1 << 17
"""The bytes of the largest matrix of operations whose last digits may be others in a plan."""
INEXACT_WEIGHT = 4
"""How many times as long most of these take, a byte."""
ALONE_SHARE = 64
"""Of how many bytes one counts of operations that a plan runs in no other way."""
MAX_OPERATIONS = 64
MAX_STEPS = 4096

_KINDS = frozenset({"binary", "unary", "cast", "choose", "agg_all", "agg_row", "agg_col", "matmul"})
_KINDS |= {"transpose", "to_scalar", "to_matrix", "index_row", "index_col", "outer", "reshape"}
_KINDS |= {"index", "reverse", "diag_vector", "cbind", "rbind", "replace", "fill", "cumulate"}
_KINDS |= {"order", "solve", "diag_matrix"}
"""Operations on dense matrices that no pass stores, or has run, in another way."""

_EXACT = frozenset({"cast", "choose", "transpose", "reshape", "index"})
_EXACT |= {"reverse", "diag_vector", "cbind", "rbind", "replace", "fill", "cumulate"}
_EXACT |= {"to_scalar", "to_matrix", "order", "solve", "index_row", "index_col", "diag_matrix"}
_VIEWS = frozenset({"transpose", "reverse", "reshape", "index", "diag_vector"})
"""Operations that copy nothing, or as little as can be, in a plan as well."""

_ALONE = frozenset({"cbind", "rbind", "order", "solve", "diag_matrix", "cumulate", "fill"})
_ALONE |= {"index_row", "index_col"}
"""Operations that are in no pipeline: a plan only costs time."""

_EXACT_NAMES = frozenset({"add", "sub", "mul", "div", "min", "max", "eq", "neq", "lt", "le", "gt"})
_EXACT_NAMES |= {"ge", "and", "or", "minus", "abs", "sign", "floor", "ceil", "round", "isNan"}
_EXACT_NAMES |= {"sqrt"}
"""Operations whose digits do not depend on what computes them."""


class Step(NamedTuple):
    """What an operation does.

    Attributes
    ----------
    run : callable
        Takes the operands; before them, if it is a kernel, a run and the operation.
    is_kernel : bool
        Whether it is one.
    nbytes : int
        How much it reads and writes, more for what takes longer.
    is_apart : bool
        Whether its result never shares memory with an operand.
    is_view : bool
        Whether its result is a view of its own of its first operand, if that has no gaps.
    is_quiet : bool
        Whether NumPy has nothing to warn of.
    """

    run: Callable[..., Any]
    is_kernel: bool
    nbytes: int
    is_apart: bool
    is_view: bool
    is_quiet: bool


def computed(out: Value, settings: Settings) -> tuple[Any, list[Any]] | None:
    """Compute a value, if all that it needs is small and nobody asks how a plan runs.

    Parameters
    ----------
    out : Value
        The value.
    settings : Settings
        How plans run.

    Returns
    -------
    pair, or None
        What the value is, and what Python gave that it may share memory with. None if it has to be
        planned.
    """
    op = out.op
    if op is None or settings.has_to_be_planned:
        return None
    ready = op.ready
    if ready.__class__ is not Ready:
        if ready.__class__ is Several:
            return _of_steps(op, ready, settings)
        ready = _ready(op)
        if ready is None:
            return _several(out, op, settings)
        op.ready = ready
    step, operands, given, view = ready
    if view is not None:
        return view.view(), given
    run, is_kernel, nbytes, _, _, is_quiet = step
    if not _is_small(nbytes):
        return None
    try:
        if is_kernel:
            found = quietly(run, Run(settings), op, *operands)
        else:
            found = run(*operands) if is_quiet else quietly(run, *operands)
    except Exception:
        found = _again(op, operands, settings)
    return found, given


def _is_small(nbytes: int) -> bool:
    """Tell whether operations that read and write so much take less than a plan and its threads."""
    if nbytes <= calibration.MIN_ALONE_NBYTES or nbytes > MAX_BYTES:
        return nbytes <= MAX_BYTES
    return nbytes <= calibration.calibrated().alone_nbytes


class Ready(NamedTuple):
    """An operation whose operands are known, and what it does with them.

    Attributes
    ----------
    step : Step
        What it does.
    operands : list
        What it is given.
    given : list
        What Python gave, if the result may share memory with it and can be written yet.
    view : ndarray or None
        The result, if it is a view of what Python gave, which nobody may write through: each
        computation is one more view of it.
    """

    step: Step
    operands: list[Any]
    given: list[Any]
    view: Any


def _ready(op: Op) -> Ready | None:
    """Return what an operation does to operands that are known; None if they are not."""
    operands: list[Any] = []
    types: list[Type] = []
    given = []
    for value in op.operands:
        types.append(value.type)
        maker = value.op
        if maker is not None and maker.kind == "given":
            given.append(maker.attrs["data"])
            operands.append(given[-1])
        elif maker is None and value.const is not None:
            operands.append(value.const)
        else:
            return None
    step = step_of(op, types)
    if step is None:
        return None
    view = _view(step, operands)
    return Ready(step, operands, [] if step.is_apart or view is not None else given, view)


def _view(step: Step, operands: list[Any]) -> Any:
    """Return what can be read of the first operand, and not written; None if it is no view."""
    # The shape of cells with gaps may be that of a copy.
    if not (step.is_view and operands[0].flags.c_contiguous):
        return None
    try:
        found = step.run(*operands)
    except Exception:
        # The kernel counts negative positions, or says what is wrong.
        return None
    found.setflags(write=False)
    return found


class Several(NamedTuple):
    """An operation that needs others, and what all of them do.

    Attributes
    ----------
    before : list of (Op, Step)
        The others, in order.
    last : Step
        What itself does. It is not among them, so that it does not keep itself.
    nbytes : int
        How much all of them read and write.
    given : list
        What Python gave, if the result may share memory with it.
    """

    before: list[tuple[Op, Step]]
    last: Step
    nbytes: int
    given: list[Any]


def _several(out: Value, op: Op, settings: Settings) -> tuple[Any, list[Any]] | None:
    """Compute a value that is given, or that takes several steps, if all of them are small."""
    if op.kind == "given":
        data = op.attrs["data"]
        return (data, [data]) if _is_dense(out.type) else None
    steps: dict[Op, Step] = {}
    nbytes = _add(op, steps, MAX_OPERATIONS)
    if nbytes is None:
        return None
    last = steps[op]
    given = [] if last.is_apart else list(_given(steps))
    del steps[op]
    op.ready = Several(list(steps.items()), last, nbytes, given)
    return _of_steps(op, op.ready, settings)


def _of_steps(op: Op, several: Several, settings: Settings) -> tuple[Any, list[Any]] | None:
    before, last, nbytes, given = several
    if not _is_small(nbytes):
        return None
    return quietly(_run, [*before, (op, last)], settings), given


def _add(op: Op, steps: dict[Op, Step], room: int) -> int | None:
    """Add the steps of what an operation needs, and its own; return their bytes, or None."""
    nbytes = 0
    types = []
    for value in op.operands:
        types.append(value.type)
        maker = value.op
        if maker is None:
            if value.const is None:
                return None
        elif maker.kind != "given" and maker not in steps:
            more = _add(maker, steps, room - 1) if room else None
            if more is None:
                return None
            nbytes += more
    step = step_of(op, types)
    if step is None or len(steps) >= MAX_OPERATIONS:
        return None
    steps[op] = step
    return nbytes + step.nbytes


def _run(steps: list[tuple[Op, Step]], settings: Settings) -> Any:
    """Run operations in order, and return the result of the last one."""
    # All results stay until the end, so that none is written over.
    values: dict[Op, Any] = {}
    run: Run | None = None
    found = None
    for op, step in steps:
        operands = []
        for value in op.operands:
            maker = value.op
            if maker is None:
                operands.append(value.const)
            else:
                operands.append(maker.attrs["data"] if maker.kind == "given" else values[maker])
        if step.is_kernel and run is None:
            run = Run(settings)
        found = _done(op, step, operands, run, settings)
        values[op] = found
    return found


def _done(op: Op, step: Step, operands: list[Any], run: Run | None, settings: Settings) -> Any:
    """Run an operation; its kernel has a run."""
    try:
        return step.run(run, op, *operands) if step.is_kernel else step.run(*operands)
    except Exception:
        return _again(op, operands, settings)


def _again(op: Op, operands: list[Any], settings: Settings) -> Any:
    """Run an operation that failed by the way that says what failed, and where."""
    return Run(settings).checked(op, list(operands))[0]


def _given(ops: Iterable[Op]) -> Iterator[Any]:
    """Yield what Python gave."""
    makers = (value.op for op in ops for value in op.operands)
    return (op.attrs["data"] for op in makers if op is not None and op.kind == "given")


_steps: dict[Hashable, Step | None] = {}


def step_of(op: Op, types: list[Type]) -> Step | None:
    """Return what an operation does; None if it is not small, or may be done in another way."""
    if op.kind not in _KINDS or op.kernel is not None:
        return None
    key: Hashable = (op.kind, op.results[0].type, *op.attrs.values(), *types)
    if op.kind == "matmul" and _is_transposed(op):
        key = ("transposed", key)
    elif _is_of_one(op):
        key = ("one", key)
    try:
        return _steps[key]
    except KeyError:
        if len(_steps) >= MAX_STEPS:
            _steps.clear()
        step = _steps[key] = _made(op, types)
        return step


def function_of(run: Run, op: Op) -> Callable[..., Any] | None:
    """Return what an operation on dense matrices of any size does; None if it is another one."""
    if op.kind not in _KINDS:
        return None
    found = direct.function_of(op)
    return partial(kernel_of(op.kind), run, op) if found is None else found


def _is_dense(type: Type) -> bool:
    return type.data == "matrix" and not type.form


def _made(op: Op, types: list[Type]) -> Step | None:
    result = op.results[0].type
    # What is on both sides is read once.
    sizes = [_size(type) for type in (result, *(types[:1] if _is_of_one(op) else types))]
    if None in sizes:
        return None
    known = [size or 0 for size in sizes]
    nbytes = max(1, sum(known))
    if not _is_exact(op, types):
        if max(known) > MAX_INEXACT_BYTES:
            return None
        nbytes *= INEXACT_WEIGHT
    if op.kind in _VIEWS and "list" not in op.attrs.get("kinds", ()):
        nbytes = 1
    elif op.kind in _ALONE:
        nbytes = 1 + nbytes // ALONE_SHARE
    function = direct.function_of(op)
    if function is not None:
        is_view = op.kind in _VIEWS and op.kind != "diag_vector"
        return Step(function, False, nbytes, not is_view, is_view, direct.is_quiet(op, types))
    return Step(kernel_of(op.kind), True, nbytes, False, False, op.kind in _VIEWS)


def _size(type: Type) -> int | None:
    """Return the bytes that a matrix takes; none of a scalar."""
    if type.data == "scalar":
        return 0
    return type.nbytes if _is_dense(type) else None


def _is_exact(op: Op, types: list[Type]) -> bool:
    name = op.attrs.get("name")
    if name == "sum":
        return op.kind == "cumulate" or not is_float(op.results[0].type.cell)
    if op.kind == "matmul":
        # A product with one column is the engine's in a plan, unless a transpose is on its left.
        return types[1].columns != 1 or _is_transposed(op)
    return op.kind in _EXACT or name in _EXACT_NAMES


def _is_of_one(op: Op) -> bool:
    """Tell whether one matrix is on both sides."""
    sides = op.operands
    return len(sides) == 2 and sides[0] is sides[1]


def _is_transposed(op: Op) -> bool:
    left = op.operands[0].op
    return left is not None and left.kind == "transpose"
