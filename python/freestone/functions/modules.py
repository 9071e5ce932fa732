"""Whose module it is, which version, and what a user's module does."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from freestone.functions.scan import code_digest, scan

__all__ = [
    "Origin",
    "UserModule",
    "closure",
    "goes_by_value",
    "is_importable",
    "is_installed",
    "is_stale",
    "is_user",
    "origin",
    "resolve",
    "user_module",
]

_SITES = ("site-packages", "dist-packages")
_INTERPRETER = f"python {sys.version_info[0]}.{sys.version_info[1]}"


class UserModule(NamedTuple):
    """A module of the user's: neither Python's own nor installed as a distribution."""

    name: str
    file: str
    digest: bytes


class Origin(NamedTuple):
    """Where a module's code comes from.

    ``version`` is empty for a user's module, whose code is looked at instead.
    """

    name: str
    version: str


class _Content(NamedTuple):
    stamp: tuple[int, int]
    digest: bytes
    code: CodeType | None


_origins: dict[str, Origin] = {}
_users: dict[str, bool] = {}
_contents: dict[str, _Content] = {}
_distributions: dict[str, list[str]] = {}


def origin(name: str) -> Origin:
    """Tell which distribution and version a module belongs to.

    Parameters
    ----------
    name : str
        Its dotted name.

    Notes
    -----
    Looked up once per top-level name, from the distributions' metadata and not from
    ``__version__``, so that it does not matter whether the module was imported yet.
    """
    top = name.partition(".")[0]
    found = _origins.get(top)
    if found is None:
        found = _origins[top] = Origin(top, "" if is_user(top) else _version(top))
    return found


def is_user(name: str) -> bool:
    """Whether a module is the user's own: a script, a notebook, or a file outside of any site.

    One that was made at run time, without a file, is the user's too.
    """
    top = name.partition(".")[0]
    if top in ("__main__", "__mp_main__"):
        return True
    if top == "freestone" or top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return False
    known = _users.get(top)
    if known is None:
        places = list(_places(top))
        if not places:
            return top in sys.modules
        known = _users[top] = not any(map(is_installed, places))
    return known


def goes_by_value(name: str) -> bool:
    """Whether a module was made at run time, or loaded by its path: no name finds it elsewhere.

    It may be in ``sys.modules`` all the same, where the program has put it.
    """
    if name not in sys.modules:
        return True
    if name in ("__main__", "__mp_main__") or not is_user(name):
        return False
    spec = _spec(name)
    if spec is None:
        return not _can_be_found(name, None)
    # A package without a file has folders.
    return spec.origin is not None and not (
        _is_named_as_its_file(name, spec.origin) or _can_be_found(name, spec.origin)
    )


def _is_named_as_its_file(name: str, file: str) -> bool:
    """Whether an executor finds a module by looking where its file is."""
    return os.path.basename(file).partition(".")[0] in ("__init__", name.rpartition(".")[2])


def user_module(name: str) -> UserModule | None:
    """Find the file of a user's module and hash what it does.

    Returns
    -------
    UserModule or None
        None for ``__main__``, for what has no file, and for what is not the user's.
    """
    if name.partition(".")[0] in ("__main__", "__mp_main__") or not is_user(name):
        return None
    spec = _spec(name)
    if spec is None or not spec.origin or not os.path.isfile(spec.origin):
        return None
    return UserModule(name, spec.origin, _content(spec.origin).digest)


def folder_of(module: UserModule) -> str:
    """Return the folder in which Python looks for a module, or for the package that it is in."""
    levels = module.name.count(".") + os.path.basename(module.file).startswith("__init__.")
    folder = os.path.dirname(module.file)
    for _ in range(levels):
        folder = os.path.dirname(folder)
    return folder


def closure(names: Iterable[str]) -> list[UserModule]:
    """Find these modules and all of the user's that they import, imported ones first."""
    found: dict[str, UserModule | None] = {}
    order: list[UserModule] = []

    def visit(name: str) -> None:
        if name in found:
            return
        module = found[name] = user_module(name)
        for needed in _imported(name, module) if module else ():
            visit(needed)
        if module:
            order.append(module)

    for name in names:
        visit(name)
    return order


def is_stale(function_code: CodeType, name: str) -> bool:
    """Whether a user's module, imported elsewhere, would not have this code in it."""
    spec = _spec(name)
    if spec is None or not spec.origin or not os.path.isfile(spec.origin):
        return True
    if not _can_be_found(name, spec.origin):
        return True
    code = _content(spec.origin).code
    return code is not None and not any(
        part.co_name == function_code.co_name and code_digest(part) == code_digest(function_code)
        for part in _parts(code)
    )


@cache
def _can_be_found(name: str, file: str | None) -> bool:
    """Whether importing the name finds this file; not so if a tool loaded it by its path.

    Without a file: whether it finds any.
    """
    parent, _, _ = name.rpartition(".")
    path = None
    if parent:
        above = sys.modules.get(parent)
        above_file = getattr(above, "__file__", None)
        if above_file is not None and not _can_be_found(parent, above_file):
            return False
        path = list(getattr(above, "__path__", ())) or None
        if path is None:
            return False
    specs = (finder.find_spec(name, path) for finder in sys.meta_path)
    found = next((spec for spec in specs if spec is not None), None)
    return found is not None and file in (None, found.origin)


def resolve(name: str, level: int, package: str) -> str:
    """Make an import's name absolute."""
    if not level:
        return name
    try:
        return importlib.util.resolve_name("." * level + name, package)
    except ImportError:
        return name


def _imported(name: str, module: UserModule) -> Iterator[str]:
    code = _content(module.file).code
    if code is None:
        return
    is_package = os.path.basename(module.file) == "__init__.py"
    package = name if is_package else name.rpartition(".")[0]
    parent = name.rpartition(".")[0]
    if parent:
        yield parent
    for entry in scan(code).imports:
        base = resolve(entry.name, entry.level, package)
        if is_user(base):
            yield base
            yield from (f"{base}.{attribute}" for attribute in entry.names)


def _places(name: str) -> Iterator[str]:
    spec = _spec(name)
    if spec is None:
        return
    if spec.origin and spec.has_location:
        yield spec.origin
    yield from spec.submodule_search_locations or ()


def _spec(name: str) -> ModuleSpec | None:
    module: ModuleType | None = sys.modules.get(name)
    spec: ModuleSpec | None = getattr(module, "__spec__", None)
    if spec is not None:
        return spec
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None


def is_importable(value: object, module: str, qualname: str) -> bool:
    """Whether an object is what its module has under its name."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found is value and module not in ("__main__", "__mp_main__")


def is_installed(path: str) -> bool:
    """Whether a file or folder belongs to Python itself or to a site of installed packages."""
    parts = os.path.abspath(path).split(os.sep)
    if any(site in parts for site in _SITES):
        return True
    own = sysconfig.get_path("stdlib")
    return path == own or path.startswith(own + os.sep)


def _version(top: str) -> str:
    if top in sys.stdlib_module_names or top in sys.builtin_module_names:
        return _INTERPRETER
    import importlib.metadata as metadata

    try:
        return metadata.version(top)
    except metadata.PackageNotFoundError:
        pass
    if not _distributions:
        _distributions.update(metadata.packages_distributions())
    names = sorted(set(_distributions.get(top, ())))
    return " ".join(f"{name} {metadata.version(name)}" for name in names) or "unknown"


def _content(file: str) -> _Content:
    status = os.stat(file)
    stamp = (status.st_mtime_ns, status.st_size)
    known = _contents.get(file)
    if known is not None and known.stamp == stamp:
        return known
    with open(file, "rb") as source:
        raw = source.read()
    code = _compile(raw, file) if file.endswith(".py") else None
    digest = code_digest(code) if code else hashlib.blake2b(raw, digest_size=16).digest()
    known = _contents[file] = _Content(stamp, digest, code)
    return known


def _compile(source: bytes, file: str) -> CodeType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile(source, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def _parts(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
