"""Programs that are kept for lazy values: of one structure there is one program.

Two graphs have the same structure if they have the same operations in the same order, of the same
types, with the same constants. What Python gave is no part of it: a program has slots in its place.

See docs/decisions/046-lazy-values-share-compiled-programs-not-results.md
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from threading import Lock

from freestone.lang.front.graph.graph import Op, Program, Value
from freestone.lang.settings import Settings

__all__ = ["MOST", "keep", "key_of", "known"]

MOST = 256
"""Programs that are kept; those that were used last stay."""

PLAIN = (str, int, type(None))

_programs: dict[Hashable, Program] = {}
_lock = Lock()


def key_of(ops: Iterable[Op], out: Value, settings: Settings) -> Hashable:
    """Return what is equal for values that the same program makes.

    Parameters
    ----------
    ops : iterable of Op
        All that the value depends on, each after those that it needs.
    out : Value
        The value.
    settings : Settings
        How it is computed.

    Returns
    -------
    tuple, or None
        None if a program is for one time only: with bodies, with functions or other objects of
        Python's, with operations that look at files, or on a cluster.
    """
    if settings.distributed or settings.insert or settings.kernels:
        return None
    numbers: dict[Value, int] = {}
    parts: list[Hashable] = [settings]
    for op in ops:
        if op.regions or not op.pure:
            return None
        parts += (op.kind, op.kernel)
        for value in op.operands:
            if value in numbers:
                parts.append(numbers[value])
            elif value.const is None or value.const != value.const:
                # The text of NaN does not tell its sign.
                return None
            else:
                # By their text: 0.0 and -0.0 are equal, and so are 1 and True.
                parts += (repr(value.const), value.type)
        if op.kind != "given":
            for name, attr in op.attrs.items():
                if not isinstance(attr, PLAIN):
                    return None
                parts += (name, attr.__class__.__name__, attr)
        for result in op.results:
            numbers[result] = len(numbers)
            parts.append(result.type)
    return (*parts, numbers[out])


def known(key: Hashable) -> Program | None:
    """Return the program of a structure, if it is kept."""
    if key is None:
        return None
    with _lock:
        program = _programs.pop(key, None)
        if program is not None:
            _programs[key] = program
    return program


def keep(key: Hashable, program: Program) -> Program:
    """Keep a program for other values of its structure."""
    if key is not None:
        with _lock:
            _programs[key] = program
            if len(_programs) > MOST:
                del _programs[next(iter(_programs))]
    return program
