"""Values in the name of a function."""

from __future__ import annotations

import concurrent.futures
import copyreg
import enum
import functools
import marshal
import pickle
import sys
from collections.abc import Callable
from types import CellType, CodeType, EllipsisType, MappingProxyType, NotImplementedType
from typing import TYPE_CHECKING, Any

from freestone.functions.generators import place_of_generator
from freestone.functions.modules import is_user
from freestone.functions.scan import code_digest

if TYPE_CHECKING:
    from freestone.functions.fingerprint import Walk

__all__ = ["IMMUTABLE", "write_value"]

_PLAIN = frozenset({int, float, bool, str, bytes, complex, type(None)})
IMMUTABLE = _PLAIN | {EllipsisType, NotImplementedType, range, frozenset}
_MARSHAL_VERSION = 2  # the last without references, which depend on reference counts


def write_value(walk: Walk, value: Any) -> None:
    """Write a value that is neither a function nor a class nor a module."""
    kind = type(value)
    if kind in _PLAIN:
        walk.write(kind.__name__, marshal.dumps(value, _MARSHAL_VERSION))
        return
    writer = _WRITERS.get(kind)
    if writer is not None:
        writer(walk, value)
    elif (place := place_of_generator(value)) is not None:
        walk.reference(*place)
    elif isinstance(value, enum.Enum):
        walk.write("member", str(value.name))
        walk.value(value.value)
        walk.value(kind)
    elif kind.__module__.startswith("numpy") and _write_numpy(walk, value):
        return
    elif hasattr(value, "py_func") and kind.__module__.startswith("numba"):
        walk.write("numba", repr(sorted(value.targetoptions.items())))
        walk.value(value.py_func)
    elif walk.once(value):
        _write_reduced(walk, value)


def _write_tuple(walk: Walk, value: tuple[object, ...]) -> None:
    if not _write_plain(walk, value):
        walk.write("tuple", str(len(value)))
        walk.values(value)


def _write_list(walk: Walk, value: list[object]) -> None:
    if walk.once(value) and not _write_plain(walk, value):
        walk.write("list", str(len(value)))
        for place, item in enumerate(value):
            with walk.at(f"item {place}"):
                walk.value(item)


def _write_plain(walk: Walk, value: tuple[object, ...] | list[object]) -> bool:
    if not _PLAIN.issuperset(map(type, value)):
        return False
    plain: Any = value
    walk.write(f"plain {type(value).__name__}", marshal.dumps(plain, _MARSHAL_VERSION))
    return True


def _write_dict(walk: Walk, value: dict[object, object]) -> None:
    if not walk.once(value):
        return
    walk.write("dict", str(len(value)))
    for key, item in [*value.items()]:
        with walk.at(f"item {key!r:.80}"):
            walk.value(key)
            walk.value(item)


def _write_set(walk: Walk, value: set[object] | frozenset[object]) -> None:
    walk.write(type(value).__name__, *walk.alone(value, value))


def _write_partial(walk: Walk, value: functools.partial[Any]) -> None:
    walk.write("partial", str(len(value.args)))
    walk.value(value.func)
    for place, item in enumerate(value.args):
        with walk.at(f"argument {place + 1} of partial"):
            walk.value(item)
    for key, item in sorted(value.keywords.items()):
        with walk.at(f"argument {key!r} of partial"):
            walk.write("keyword", key)
            walk.value(item)


def _write_cached(walk: Walk, value: Any) -> None:
    walk.write("lru_cache", repr(sorted(value.cache_parameters().items())))
    walk.value(value.__wrapped__)


def _write_cell(walk: Walk, value: CellType) -> None:
    if walk.once(value):
        walk.write("cell")
        walk.value(value.cell_contents)


def _write_numpy(walk: Walk, value: Any) -> bool:
    import numpy as np

    if isinstance(value, np.ufunc):
        _write_ufunc(walk, value)
        return True
    if isinstance(value, np.dtype):
        walk.write("dtype", repr(np.lib.format.dtype_to_descr(value)))
        return True
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return _write_array(walk, value)
    return False


def _write_ufunc(walk: Walk, value: Any) -> None:
    """Write a ufunc, which does not know its module: those that have it are searched."""
    top = _home_of(value)
    if top is None:
        walk.refuse(value, "it was made at run time and is in no module")
        return
    walk.reference(top, value.__name__)


@functools.lru_cache(maxsize=1024)
def _home_of(ufunc: Any) -> str | None:
    name = ufunc.__name__
    tops = {
        module.partition(".")[0]
        for module, entry in [*sys.modules.items()]
        if getattr(entry, "__dict__", {}).get(name) is ufunc and not is_user(module)
    }
    return min(tops, default=None)


def _write_array(walk: Walk, value: Any) -> bool:
    import numpy as np

    if value.dtype.hasobject:
        return False
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    layout = repr(np.lib.format.dtype_to_descr(value.dtype))
    walk.write("array", type(value).__name__, layout, repr(value.shape), order)
    flat = np.ascontiguousarray(value.T if order == "F" else value)
    walk.write("buffer", flat.reshape(-1).view(np.uint8).data if flat.size else b"")
    return True


def _write_reduced(walk: Walk, value: Any) -> None:
    """Write an object as pickle would take it apart."""
    reducer = copyreg.dispatch_table.get(type(value))
    try:
        reduced = reducer(value) if reducer else value.__reduce_ex__(4)
    except Exception as error:
        walk.refuse(value, str(error), error)
        return
    if isinstance(reduced, str):
        _write_named(walk, value, reduced)
        return
    function, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    name = getattr(function, "__name__", "")
    if name == "__newobj__" and isinstance(value, concurrent.futures.Future):
        # Named as what the user has, not as the lock inside.
        walk.refuse(value, "its value comes to this process alone")
        return
    walk.write("object", str(len(reduced)))
    if name == "__newobj__":
        walk.write("new")
    else:
        walk.value(function)
    walk.values(arguments)
    _write_state(walk, state)
    for item in items or ():
        walk.value(item)
    for key, item in pairs or ():
        walk.values((key, item))


def _write_state(walk: Walk, state: Any) -> None:
    if type(state) is not dict or not all(type(key) is str for key in state):
        walk.value(state)
        return
    for key in sorted(state):
        with walk.at(f"attribute {key!r}"):
            walk.write("state", key)
            walk.value(state[key])


def _write_named(walk: Walk, value: Any, name: str) -> None:
    module = getattr(value, "__module__", None) or "builtins"
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value:
        walk.refuse(value, f"it is not what {module}.{name} is")
        return
    walk.reference(module, name)


def _write_picklebuffer(walk: Walk, value: pickle.PickleBuffer) -> None:
    walk.write("buffer", value.raw())


def _write_constant(walk: Walk, value: object) -> None:
    walk.write(type(value).__name__, repr(value))


_WRITERS: dict[type, Callable[[Walk, Any], None]] = {
    tuple: _write_tuple,
    list: _write_list,
    dict: _write_dict,
    set: _write_set,
    frozenset: _write_set,
    MappingProxyType: lambda walk, value: _write_dict(walk, dict(value)),
    functools.partial: _write_partial,
    functools._lru_cache_wrapper: _write_cached,
    CellType: _write_cell,
    CodeType: lambda walk, value: walk.write("code", code_digest(value)),
    pickle.PickleBuffer: _write_picklebuffer,
    bytearray: lambda walk, value: walk.write("bytearray", bytes(value)),
    range: _write_constant,
    EllipsisType: _write_constant,
    NotImplementedType: _write_constant,
}
