"""Modules that a program uploads, so that its calls import them on every worker.

The files travel as values of variables of the cluster, from which each node unpacks them once, when
a call with them comes there first.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import zipfile
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING

from freestone import functions
from freestone.client.environments import Prepared
from freestone.client.variables import UNSET, Variable
from freestone.errors import FileMissingError, FormatError, FreestoneError, UsageError

if TYPE_CHECKING:
    from freestone.client.local import LocalClient

__all__ = ["folder_of", "read", "send"]

_Files = dict[str, bytes]

_OURS = frozenset({"freestone", "cloudpickle", "numpy"})
"""What executors have imported before the first call."""
_SUFFIXES = (".py", *EXTENSION_SUFFIXES)
_LEFT_OUT = frozenset({"__pycache__", ".git"})
# A file that is newer than the process would be taken for changed, and executed again.
_MODIFIED = 315_532_800
_TIMEOUT_S = 60.0
_ENCODING_NBYTES = 256
"""What a piece takes besides its bytes, at most."""
_MIN_NBYTES = 1024
"""Of a piece; where messages carry less, there is one."""


def read(path: str | os.PathLike[str]) -> tuple[functions.Package, _Files]:
    """Read what is to be uploaded: a module, a package's folder, or a wheel or other zip file.

    Raises
    ------
    FileMissingError
        When there is nothing.
    UsageError
        When there is no module in it, or one that can't be replaced.
    FormatError
        When a zip file is damaged.
    SyntaxError
        When a module is no Python.
    """
    place = Path(path).absolute()
    if not place.exists():
        raise FileMissingError(str(path), "is not there to be uploaded")
    if place.is_dir():
        files = dict(_files_of(place))
    elif place.suffix == ".py":
        files = {place.name: place.read_bytes()}
        _require_python(files[place.name], str(path))
    elif zipfile.is_zipfile(place):
        files = dict(_unzipped(place))
    else:
        problem = f"can't upload {str(path)!r}: give a module (.py), the folder of a package, or"
        raise UsageError(f"{problem} a wheel or another zip file of packages")
    modules = _modules_in(files, str(path))
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(files):
        for part in (name.encode(), files[name]):
            digest.update(len(part).to_bytes(8, "little") + part)
    return functions.Package(digest.hexdigest(), modules), files


def send(client: LocalClient, package: functions.Package, files: _Files) -> None:
    """Have every worker find the files of a package."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)
    data = packed.getvalue()
    size = client.config.inline_nbytes - _ENCODING_NBYTES
    # The manager keeps what goes into a message, and loses it with no worker.
    if len(data) > functions.LARGE_NBYTES or size < _MIN_NBYTES:
        size = len(data)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    # Who finds the first one finds all.
    for number in reversed(range(len(pieces))):
        _piece(client, package.key, number).set((pieces[number], len(pieces)))


def folder_of(package: functions.Package) -> str:
    """Return the folder of a package on this worker's node, unpacked by whoever needs it first."""
    definition = functions.encode(_unpack).definition
    prepared = Prepared(package.key, definition, ())
    if not prepared.is_made:
        # Before it is locked: who waits for the cluster lets others run, and these would wait here.
        prepared = Prepared(package.key, definition, (_packed(package.key),))
    return os.fspath(prepared)


def _piece(client: LocalClient, key: str, number: int) -> Variable[tuple[bytes, int]]:
    return Variable(client, f"freestone: upload {key}, piece {number}", UNSET)


def _packed(key: str) -> bytes:
    from freestone.client import nested

    with nested.reading() as client:
        try:
            first, count = _piece(client, key, 0).get(timeout_s=_TIMEOUT_S)
            others = (_piece(client, key, n).get(timeout_s=_TIMEOUT_S) for n in range(1, count))
            return first + b"".join(piece for piece, _ in others)
        except FreestoneError as error:
            error.add_note("what was uploaded can't be had from the cluster; upload it again")
            raise


def _unpack(folder: str, packed: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    for place in Path(folder).rglob("*"):
        os.utime(place, (_MODIFIED, _MODIFIED))


def _files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    if not (folder / "__init__.py").is_file():
        problem = f"can't upload {str(folder)!r}: it has no __init__.py, so it is no package's"
        raise UsageError(f"{problem} folder; give that of one package, or a .py file")
    for root, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if name not in _LEFT_OUT)
        for link in filter(os.path.islink, (os.path.join(root, name) for name in inner)):
            raise UsageError(f"can't upload {link!r}: it is a link to a folder; copy that")
        for file in (Path(root, name) for name in names):
            if file.is_file() and file.suffix != ".pyc":
                yield str(file.relative_to(folder.parent)), file.read_bytes()


def _unzipped(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                name = _place_of(entry.filename)
                if entry.is_dir() or name is None:
                    continue
                if name.startswith("/") or ".." in name.split("/"):
                    reason = f"its file {entry.filename!r} would be unpacked outside of its folder"
                    raise FormatError(str(path), reason)
                yield name, archive.read(entry)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise FormatError(str(path), f"can't be unpacked: {error}") from None


def _require_python(source: bytes, path: str) -> None:
    try:
        compile(source, path, "exec", dont_inherit=True)
    except ValueError as error:
        raise UsageError(f"can't upload {path!r}: it is no Python ({error})") from None


def _place_of(name: str) -> str | None:
    """Return where a file of a wheel is installed among modules; None for what is elsewhere."""
    first, _, rest = name.partition("/")
    if not first.endswith(".data") or not rest:
        return name
    kind, _, inner = rest.partition("/")
    return inner if kind in ("purelib", "platlib") else None


def _modules_in(files: _Files, path: str) -> tuple[str, ...]:
    found = set()
    for name in files:
        first, inside, _ = name.partition("/")
        if name.endswith(_SUFFIXES):
            stems = [name.removesuffix(suffix) for suffix in _SUFFIXES]
            found.add(first if inside else min(stems, key=len))
    modules = tuple(sorted(name for name in found if name.isidentifier() and not iskeyword(name)))
    if not modules:
        what = ", ".join(sorted({name.partition("/")[0] for name in files})[:5]) or "nothing"
        problem = f"can't upload {path!r}: there is no module in it that can be imported by a name;"
        raise UsageError(f"{problem} there is {what}")
    for module in modules:
        _require_replaceable(module, path)
    return modules


def _require_replaceable(module: str, path: str) -> None:
    if module in sys.stdlib_module_names or module in (*sys.builtin_module_names, "__main__"):
        owner = "Python's standard library"
    elif module in _OURS:
        owner = "what executors themselves run with"
    else:
        return
    raise UsageError(
        f"can't upload {path!r}: its module {module!r} would hide that of {owner}; rename it"
    )
