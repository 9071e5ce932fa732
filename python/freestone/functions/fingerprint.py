"""The name of a function: equal tomorrow for the same code, different for any other.

A walk from the function over what it refers to, written into one hash. Functions, classes and
containers are written once and then referred to by the order in which they were found, so that
cycles end and the walk is linear. What is in a set is hashed alone and sorted. Dicts count in
their own order, which is what the function sees; namespaces are sorted.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from freestone.errors import NotSerializableError
from freestone.functions import modules
from freestone.functions.classes import write_class
from freestone.functions.dispatch import is_dispatching, write_dispatching
from freestone.functions.path import Step
from freestone.functions.scan import Import, code_digest, is_builtin, scan
from freestone.functions.values import write_value

__all__ = ["MISSING", "Walk", "digest", "is_special"]

MISSING: Any = type("Missing", (), {"__repr__": lambda _: "MISSING"})()


_MODULE_NAMES = frozenset({"__name__", "__qualname__", "__module__"})


class Walk:
    """One walk over a function, or over a value.

    Attributes
    ----------
    found : list of (function, module or class, dict)
        What was found under a function's global names (``str``) and in its cells (``int``), or
        under the names of a user's module; and classes that go by value.
    hoists : dict
        Modules that the code needs, each with the names that are imported from it.
    names : dict of str to None
        The user's modules that the code needs.
    stale : set of str
        The user's modules that no import finds elsewhere, or that differ from their file: what they
        define must go by value.
    """

    def __init__(self, active: frozenset[int] = frozenset()) -> None:
        self.found: list[tuple[FunctionType | ModuleType | type, dict[str | int, Any]]] = []
        self.hoists: dict[tuple[str, tuple[str, ...]], None] = {}
        self.names: dict[str, None] = {}
        self.stale: set[str] = set()
        self._hash = hashlib.blake2b(digest_size=16)
        self._seen: dict[int, tuple[int, object]] = {}
        self._path: list[str] = []
        self._active = active
        self._home: str | None = None

    def digest(self) -> bytes:
        """Give the 16 bytes of what was written so far."""
        return self._hash.digest()

    def write(self, tag: str, *parts: bytes | str | memoryview) -> None:
        """Write parts, each with its length."""
        update = self._hash.update
        update(tag.encode() + b"\0" + struct.pack("<I", len(parts)))
        for part in parts:
            raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            update(struct.pack("<Q", raw.nbytes if isinstance(raw, memoryview) else len(raw)))
            update(raw)

    def at(self, place: str) -> Step:
        """Walk what is found at a place, which an error will name."""
        return Step(self._path, place)

    @contextmanager
    def body(self, place: str, home: str | None) -> Iterator[None]:
        """Walk what is in a function or class, which travels by name if it has a home."""
        before = self._home
        self._home = before or (home if home not in self.stale else None)
        with self.at(place):
            yield
        self._home = before

    def refuse(self, value: object, reason: str, cause: Exception | None = None) -> None:
        """Raise the error that names the value at hand, unless it need not travel.

        What is reached from a function that is imported by its name stays where it is, and is
        whatever the module's file makes it.
        """
        if self._home is None:
            raise self._error(value, reason) from cause
        self.write("made by", type(value).__qualname__)
        self._user_modules([self._home])

    def _error(self, value: object, reason: str) -> NotSerializableError:
        functions = [k for k, place in enumerate(self._path) if place.startswith("function ")]
        inner = self._path[functions[-1] + 1 :] if functions else self._path
        where = ", ".join(inner) or "the function itself"
        if functions:
            where = f"{where} of {self._path[functions[-1]]}"
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        return NotSerializableError(what="function", where=where, kind=kind, reason=reason)

    def once(self, value: object) -> bool:
        """Whether this very object is new to the walk; otherwise refer to the first time."""
        known = self._seen.get(id(value))
        if known is not None:
            self.write("again", struct.pack("<I", known[0]))
            return False
        self._seen[id(value)] = (len(self._seen), value)
        return True

    def values(self, items: Iterable[object]) -> None:
        """Write values in order."""
        for item in items:
            self.value(item)

    def alone(self, container: object, items: Iterable[object]) -> list[bytes]:
        """Hash each of the items of a set for itself, and sort."""
        if id(container) in self._active:
            return [b"cycle"]
        active = self._active | {id(container)}
        digests = []
        for item in items:
            inner = type(self)(active)
            inner._path, inner._home = [*self._path], self._home
            inner.value(item)
            self.found += inner.found
            self.hoists |= inner.hoists
            self.names |= inner.names
            self.stale |= inner.stale
            digests.append(inner.digest())
        return sorted(digests)

    def value(self, value: object) -> None:
        """Write any value."""
        kind = type(value)
        if kind is FunctionType:
            self.function(value)  # type: ignore[arg-type]
        elif isinstance(value, ModuleType):
            self.module(value)
        elif isinstance(value, type):
            write_class(self, value)
        elif kind is MethodType:
            self.write("method")
            self.values((value.__func__, value.__self__))  # type: ignore[attr-defined]
        elif kind is BuiltinFunctionType:
            self._builtin(value)
        else:
            write_value(self, value)

    def reference(self, module: str, qualname: str) -> None:
        """Write something by where it can be imported from, and its version."""
        if not modules.is_user(module):
            self.hoists[module, ()] = None
        self.write("reference", module, qualname, modules.origin(module).version)

    def module(self, module: ModuleType, chains: tuple[tuple[str, ...], ...] = ((),)) -> None:
        """Write a module: its version, or of a user's what is read from it, or else its file."""
        name = module.__name__
        if modules.goes_by_value(name):
            if name in sys.modules:
                self.stale.add(name)
            return self._module_by_value(module, chains)
        if not modules.is_user(name):
            self.reference(name, "")
            return
        self.names[name] = None
        self.write("user module", name)
        if () in chains:
            self._user_modules([name])
            return
        for chain in sorted(chains):
            self._chain(module, chain)

    def _module_by_value(self, module: ModuleType, chains: tuple[tuple[str, ...], ...]) -> None:
        """Write what is read from a module, or all that is in it: there is no file of it."""
        self.write("module by value", module.__name__)
        if () in chains:
            if not self.once(module):
                return
            chains = tuple((name,) for name in vars(module) if not is_special(name))
        for chain in sorted(chains):
            self._chain(module, chain)

    def _chain(self, module: ModuleType, chain: tuple[str, ...]) -> None:
        found = getattr(module, chain[0], MISSING)
        self.found.append((module, {chain[0]: found}))
        with self.at(f"{module.__name__}.{chain[0]}"):
            self.write("attribute", chain[0])
            if isinstance(found, ModuleType):
                self.module(found, (chain[1:],))
            elif found is MISSING:
                self._user_modules([module.__name__])
            else:
                self.value(found)

    def _user_modules(self, names: Iterable[str]) -> None:
        for found in sorted(modules.closure(names)):
            self.names[found.name] = None
            self.write("file", found.name, found.digest)

    def function(self, function: FunctionType) -> None:
        """Write a function: where it is installed, or else its code and all that it refers to."""
        module = function.__module__ or ""
        importable = self.is_importable(function, module, function.__qualname__)
        if importable and not modules.is_user(module):
            self.reference(module, function.__qualname__)
            return
        if not self.once(function):
            return
        home = module if importable and modules.user_module(module) else None
        self._user_code(function, home)
        with self.body(f"function {function.__qualname__!r}", home):
            if is_dispatching(function):
                write_dispatching(self, function)
                return
            # Code may reach its module by name: globals()["x"], eval("x"), __name__.
            self.write("function", written_in(function), code_digest(function.__code__))
            self._parameters(function)
            captured: dict[str | int, Any] = {}
            self.found.append((function, captured))
            self._cells(function, captured)
            self._globals(function, captured)

    def is_importable(self, value: object, module: str, qualname: str) -> bool:
        """Tell whether a function or class goes by its name; note its module if it does not."""
        if not modules.is_importable(value, module, qualname):
            return False
        if modules.goes_by_value(module):
            self.stale.add(module)
            return False
        return True

    def _user_code(self, function: FunctionType, home: str | None) -> None:
        if home is not None:
            self.names[home] = None
        name = written_in(function)
        known = modules.user_module(name)
        code = function.__code__
        if known and code.co_filename == known.file and modules.is_stale(code, name):
            self.stale.add(name)

    def _parameters(self, function: FunctionType) -> None:
        keywords = sorted((function.__kwdefaults__ or {}).items())
        attributes = sorted(
            (key, value) for key, value in function.__dict__.items() if key != "__wrapped__"
        )
        for kind, pairs in (("default", keywords), ("attribute", attributes)):
            for key, value in pairs:
                with self.at(f"{kind} {key!r}"):
                    self.write(kind, key)
                    self.value(value)
        for place, value in enumerate(function.__defaults__ or ()):
            with self.at(f"default {place + 1}"):
                self.value(value)

    def _cells(self, function: FunctionType, captured: dict[str | int, Any]) -> None:
        names = function.__code__.co_freevars
        for place, cell in enumerate(function.__closure__ or ()):
            name = names[place]
            with self.at(f"closure variable {name!r}"):
                try:
                    value = cell.cell_contents
                except ValueError:
                    value = MISSING
                captured[place] = value
                self.write("cell", name)
                self.value(value)

    def _globals(self, function: FunctionType, captured: dict[str | int, Any]) -> None:
        namespace = function.__globals__
        found = scan(function.__code__)
        for name, chains in sorted(found.globals.items()):
            value = namespace.get(name, MISSING)
            if value is MISSING and is_builtin(namespace, name):
                self.write("builtin", name)
                continue
            if name in _MODULE_NAMES:
                continue
            captured[name] = value
            with self.at(f"global {name!r}"):
                self.write("global", name)
                if isinstance(value, ModuleType):
                    self.module(value, chains)
                else:
                    self.value(value)
        package = namespace.get("__package__") or namespace.get("__name__", "").rpartition(".")[0]
        for entry in found.imports:
            self._import(entry, package)

    def _import(self, entry: Import, package: str) -> None:
        name = modules.resolve(entry.name, entry.level, package)
        self.hoists[name, entry.names] = None
        if not modules.is_user(name):
            self.reference(name, "")
            return
        self.names[name] = None
        self.write("import", name)
        self._user_modules([name, *(f"{name}.{part}" for part in entry.names)])

    def _builtin(self, value: Any) -> None:
        owner = value.__self__
        if owner is None or isinstance(owner, ModuleType):
            module = value.__module__ or getattr(owner, "__name__", "builtins")
            self.reference(module, value.__qualname__)
            return
        self.write("builtin method", value.__name__)
        self.value(owner)


def is_special(name: str) -> bool:
    """Whether a name is one of Python's own, such as ``__doc__``."""
    return name.startswith("__") and name.endswith("__")


def written_in(function: FunctionType) -> str:
    """Return the name of the module whose globals a function has."""
    name = str(function.__globals__.get("__name__", ""))
    # What processes that multiprocessing starts call the program's script.
    return "__main__" if name == "__mp_main__" else name


def digest(value: object) -> bytes:
    """Hash a value by itself, into 16 bytes."""
    walk = Walk()
    walk.value(value)
    return walk.digest()
