"""What is made ready once on each node: unpacked archives, environments to run functions in.

A `Prepared` folder is a mini-task: it travels as how it is made, and is made where it is first
used, by whoever comes first; all calls of that node then share it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from freestone import functions
from freestone.client.files import File, remove_of_this_process
from freestone.client.usage import check_function
from freestone.errors import StorageFullError

__all__ = ["InEnvironment", "Prepared", "WithVariables", "adapt", "prepare", "untar"]

_CHILD = """
import os, pickle, sys, traceback
answer = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
try:
    import cloudpickle
except ImportError:
    sys.exit("the environment has no cloudpickle: install it there")
function, args, kwargs = pickle.load(sys.stdin.buffer)
try:
    value = function(*args, **kwargs)
    if hasattr(value, "cr_await"):
        import asyncio
        value = asyncio.run(value)
    result = (True, value)
except BaseException as error:
    error.add_note(traceback.format_exc())
    result = (False, error)
answer.write(cloudpickle.dumps(result))
"""


class Prepared(os.PathLike[str]):
    """A folder that is made once on each node that uses it.

    In a call it is a path. Make one with `freestone.prepare` or `freestone.untar`.

    Attributes
    ----------
    key : str
        32 hex digits over what makes it: the same function of the same arguments is one folder.
    """

    __slots__ = ("_args", "_definition", "key")

    def __init__(self, key: str, definition: bytes, args: tuple[Any, ...]) -> None:
        self.key: str = key
        self._definition = definition
        self._args = args

    @property
    def is_made(self) -> bool:
        """Whether the folder is there on this node."""
        return (_node_folder() / self.key).exists()

    def __fspath__(self) -> str:
        place = _node_folder() / self.key
        if not place.exists():
            self._make(place)
        return str(place)

    def __truediv__(self, name: str) -> Path:
        return Path(self) / name

    def __reduce__(self) -> Any:
        return Prepared, (self.key, self._definition, self._args)

    def _make(self, place: Path) -> None:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(place.with_suffix(".lock")):
            if place.exists():
                return
            partial = Path(tempfile.mkdtemp(prefix=f"{self.key}-", dir=place.parent))
            try:
                functions.load(self._definition)(str(partial), *self._args)
                _require_room(partial)
                partial.rename(place)
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise


def prepare(function: Callable[..., Any], /, *args: Any) -> Prepared:
    """Describe a folder that ``function(folder, *args)`` fills, once on each node that uses it.

    Parameters
    ----------
    function
        Any callable; what it returns is not used.
    *args
        Its further arguments: files, or anything that can be pickled.

    Returns
    -------
    Prepared
        To be given to calls, in which it is the folder's path.

    Notes
    -----
    Nothing is made here. The folder lies on the node's disk beside its cache until the worker ends.
    One that has no room there, with the blocks and folders that lie there already, in what the
    worker may have (``disk``) is removed again, and the call raises `StorageFullError`. Blocks that
    go to disk later do not count it.
    """
    import cloudpickle

    encoded = functions.encode(function)
    parts = [arg.name.encode() if isinstance(arg, File) else cloudpickle.dumps(arg) for arg in args]
    digest = hashlib.blake2b(encoded.name, digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return Prepared(digest.hexdigest(), encoded.definition, args)


def untar(archive: File) -> Prepared:
    """Describe the folder that a tar archive holds, unpacked once on each node that uses it.

    Parameters
    ----------
    archive
        A `freestone.file`, compressed or not. It goes to each node once, as a block.
    """
    return prepare(_untar, archive)


def _untar(folder: str, archive: str) -> None:
    import tarfile

    with tarfile.open(archive) as file:
        # Nothing may lie or point outside of the folder, but for absolute links: a venv has one to
        # its interpreter, and whoever sends the archive sends the code as well.
        file.extractall(folder, filter="tar")
    unpack = Path(folder, "bin", "conda-unpack")
    if unpack.exists():
        subprocess.run([sys.executable, str(unpack)], check=True, capture_output=True)


class WithVariables:
    """A function that is called with environment variables set."""

    is_constant = True
    """Its attributes are never bound anew, so it need not be named at each submission."""

    def __init__(self, function: Callable[..., Any], variables: Mapping[str, str]) -> None:
        self.function = function
        self.variables: dict[str, str] = dict(variables)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Set the variables, call, and set them back."""
        before = {name: os.environ.get(name) for name in self.variables}
        os.environ.update(self.variables)
        try:
            return functions.runnable(self.function)(*args, **kwargs)
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


class InEnvironment:
    """A function that is called by the Python of an unpacked environment."""

    is_constant = True
    """As with `WithVariables`."""

    def __init__(self, function: Callable[..., Any], variables: Mapping[str, str]) -> None:
        self.function = function
        self.variables: dict[str, str] = dict(variables)

    def __call__(self, environment: os.PathLike[str], *args: Any, **kwargs: Any) -> Any:
        """Start that Python, call there, and hand the result on."""
        import cloudpickle

        root = Path(environment)
        python = next(root.glob("bin/python"), None) or next(root.glob("*/bin/python"), None)
        if python is None:
            raise ValueError(f"the archive holds no environment: there is no bin/python in {root}")
        bin_ = str(python.parent)
        variables = {name: value for name, value in os.environ.items() if "PYTHON" not in name}
        if functions.folders():
            variables["PYTHONPATH"] = os.pathsep.join(functions.folders())
        variables["PATH"] = f"{bin_}{os.pathsep}{variables.get('PATH', os.defpath)}"
        done = subprocess.run(
            [str(python), "-c", _CHILD],
            input=cloudpickle.dumps((self.function, args, kwargs)),
            env=variables | {"VIRTUAL_ENV": str(python.parent.parent)} | self.variables,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0 or not done.stdout:
            error = subprocess.CalledProcessError(done.returncode, str(python))
            error.add_note(f"it printed: {done.stderr.decode(errors='replace').strip()[-2000:]}")
            raise error
        succeeded, result = pickle.loads(done.stdout)
        if not succeeded:
            raise result
        return result


_SPECIAL = frozenset({"environment", "env"})


def adapt(
    function: Callable[..., Any], options: Mapping[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]]:
    """Return what is called for these options, what it is given first, and the others."""
    if _SPECIAL.isdisjoint(options):
        return function, (), options
    options = dict(options)
    environment, env = options.pop("environment", None), options.pop("env", None)
    check_function(function)
    called, first = _within(function, environment, env)
    if called is not function and options.get("name") is None:
        options["name"] = getattr(function, "__name__", type(function).__name__)
    return called, first, options


def _texts(variables: Mapping[Any, Any]) -> Mapping[str, str]:
    for name, value in variables.items():
        if not isinstance(name, str) or not isinstance(value, str):
            problem = f"env={{{name!r}: {value!r}}}: names and values of variables are texts"
            raise TypeError(f"{problem}; try {{{str(name)!r}: {str(value)!r}}}")
    return variables


def _within(
    function: Callable[..., Any],
    environment: File | Prepared | None,
    variables: Mapping[str, str] | None,
) -> tuple[Callable[..., Any], tuple[Prepared, ...]]:
    """Return what is called in place of a function, and what it is given first."""
    given = tuple(sorted(_texts(variables or {}).items()))
    if environment is None:
        return (_with_variables(function, given) if given else function), ()
    folder = untar(environment) if isinstance(environment, File) else environment
    return _in_environment(function, given), (folder,)


@lru_cache(maxsize=256)
def _with_variables(
    function: Callable[..., Any], variables: tuple[tuple[str, str], ...]
) -> WithVariables:
    return WithVariables(function, dict(variables))


@lru_cache(maxsize=256)
def _in_environment(
    function: Callable[..., Any], variables: tuple[tuple[str, str], ...]
) -> InEnvironment:
    return InEnvironment(function, dict(variables))


def _node_folder() -> Path:
    """Where folders are made: beside the worker's cache; without a worker, one per process."""
    disk = os.environ.get("FREESTONE__DISK_DIR")
    return Path(disk, "prepared") if disk is not None else Path(_own_folder())


def _require_room(folder: Path) -> None:
    """Refuse a folder that takes more than is left of what the worker may have on disk."""
    quota, disk = os.environ.get("FREESTONE__DISK"), os.environ.get("FREESTONE__DISK_DIR")
    if quota is None or disk is None:
        return
    needed, taken = _nbytes_in(folder), _nbytes_in(Path(disk))
    if taken > int(quota):
        free = max(0, int(quota) - (taken - needed))
        raise StorageFullError(needed=needed, free=free, folder=disk)


def _nbytes_in(folder: Path) -> int:
    """Sum the bytes of the files in a folder; some may go while they are looked at."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(root, name)).st_size
    return total


@lru_cache(maxsize=1)
def _own_folder() -> str:
    import atexit

    folder = tempfile.mkdtemp(prefix="freestone-")
    atexit.register(remove_of_this_process, folder, os.getpid())
    return folder


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
