"""What a code object refers to, read from its instructions.

``dis.get_instructions`` makes an object per instruction and takes 3 µs for each; only six opcodes
matter here, so the bytes are read directly. A test holds both against each other.
"""

from __future__ import annotations

import hashlib
import opcode
import struct
import sys
from collections.abc import Iterator
from types import CodeType, EllipsisType
from typing import Any, NamedTuple

from freestone.functions.identity import IdentityCache

__all__ = ["Import", "Scan", "code_digest", "is_builtin", "scan"]

_OP = opcode.opmap
_GLOBALS = {_OP[name] for name in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")}
_LOAD_GLOBAL = _OP["LOAD_GLOBAL"]
_ATTRIBUTES = {_OP[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in _OP}
_ATTRIBUTE_SHIFT = 1 if sys.version_info >= (3, 12) else 0
_CACHE = _OP.get("CACHE", 0)
_EXTENDED, _IMPORT, _CONST = _OP["EXTENDED_ARG"], _OP["IMPORT_NAME"], _OP["LOAD_CONST"]
_SMALL_INT = _OP.get("LOAD_SMALL_INT", -1)


class Import(NamedTuple):
    """One import statement: ``from <level dots>name import <names>``."""

    name: str
    level: int
    names: tuple[str, ...]


class Scan(NamedTuple):
    """What a code object and those nested in it refer to.

    ``globals`` maps each global name to the attribute chains read from it, such as ``("path",
    "join")``; an empty chain means that the object itself is used.
    """

    globals: dict[str, tuple[tuple[str, ...], ...]]
    imports: tuple[Import, ...]


_scans: IdentityCache[CodeType, Scan] = IdentityCache()
_digests: IdentityCache[CodeType, bytes] = IdentityCache()


def scan(code: CodeType) -> Scan:
    """Find the global names and imports of a code object and of all nested in it."""
    found = _scans.get(code)
    if found is None:
        names: dict[str, dict[tuple[str, ...], None]] = {}
        imports: dict[Import, None] = {}
        for part in _nested(code):
            _scan_one(part, names, imports)
        found = Scan({name: tuple(chains) for name, chains in names.items()}, tuple(imports))
        _scans.put(code, found)
    return found


def code_digest(code: CodeType) -> bytes:
    """Hash what a code object does: no file name, no line numbers, no order of sets.

    Returns
    -------
    bytes
        16 bytes.
    """
    digest = _digests.get(code)
    if digest is None:
        digest = hashlib.blake2b(b"".join(_code_parts(code)), digest_size=16).digest()
        _digests.put(code, digest)
    return digest


def is_builtin(namespace: dict[str, Any], name: str) -> bool:
    """Whether a name that is not global is a built-in."""
    builtins = namespace.get("__builtins__", {})
    return name in (builtins if isinstance(builtins, dict) else vars(builtins))


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _instructions(code: CodeType) -> Iterator[tuple[int, int]]:
    raw = code.co_code
    extended = 0
    for index in range(0, len(raw), 2):
        op = raw[index]
        if op == _CACHE:
            continue
        argument = raw[index + 1] | extended
        extended = argument << 8 if op == _EXTENDED else 0
        if op != _EXTENDED:
            yield op, argument


def _scan_one(
    code: CodeType,
    names: dict[str, dict[tuple[str, ...], None]],
    imports: dict[Import, None],
) -> None:
    known, constants = code.co_names, code.co_consts
    current: str | None = None
    chain: tuple[str, ...] = ()
    last: list[Any] = [0, None]
    for op, argument in _instructions(code):
        if current is not None and op in _ATTRIBUTES:
            chain += (known[argument >> _ATTRIBUTE_SHIFT],)
            continue
        if current is not None:
            names.setdefault(current, {})[chain] = None
            current, chain = None, ()
        if op in _GLOBALS:
            current = known[argument >> 1 if op == _LOAD_GLOBAL else argument]
        elif op == _CONST:
            last = [last[1], constants[argument]]
        elif op == _SMALL_INT:
            last = [last[1], argument]
        elif op == _IMPORT:
            imports[Import(known[argument], last[0] or 0, tuple(last[1] or ()))] = None


def _code_parts(code: CodeType) -> Iterator[bytes]:
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    yield struct.pack("<4q", *counts)
    for raw in (code.co_code, code.co_exceptiontable):
        yield _sized(raw)
    for names in (
        (code.co_name,),
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
    ):
        yield _constant(names)
    yield _constant(code.co_consts)


def _constant(value: object) -> bytes:
    """Write a constant that the compiler makes, with its type."""
    kind = type(value)
    if kind is CodeType:
        return b"C" + code_digest(value)  # type: ignore[arg-type]
    if kind is tuple:
        parts = [_constant(item) for item in value]  # type: ignore[attr-defined]
        return b"T%d:" % len(parts) + b"".join(parts)
    if kind is frozenset:
        parts = sorted(_constant(item) for item in value)  # type: ignore[attr-defined]
        return b"F%d:" % len(parts) + b"".join(parts)
    if kind is str:
        return b"S" + _sized(value.encode("utf-8", "surrogatepass"))  # type: ignore[attr-defined]
    if kind is bytes:
        return b"B" + _sized(value)  # type: ignore[arg-type]
    if kind is slice:
        return b"L" + _constant((value.start, value.stop, value.step))  # type: ignore[attr-defined]
    if kind is int:
        return b"I" + _sized(hex(value).encode())  # type: ignore[arg-type]
    if value is None or kind in (float, complex, bool, EllipsisType):
        return kind.__name__.encode() + _sized(repr(value).encode())
    raise TypeError(f"a constant of type {kind.__name__}")


def _sized(raw: bytes) -> bytes:
    return struct.pack("<Q", len(raw)) + raw
