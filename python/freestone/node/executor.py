"""An executor: the resident process of a worker that runs calls. Started by its worker only."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import io
import json
import os
import socket
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from freestone import _native
from freestone.functions import large, loading, packages, raised, role

if TYPE_CHECKING:
    from freestone.node.sampler import Sampler

__all__ = ["Hooks", "load", "main", "run"]


class Hooks:
    """What the native loop asks of Python.

    Attributes
    ----------
    sampler : Sampler or None
        Told when a call begins and ends, if calls are profiled.
    """

    def __init__(self, sampler: Sampler | None = None) -> None:
        self.sampler = sampler
        self._has_loaded = False

    def load(self, definition: bytes, label: str) -> tuple[Callable[..., Any], packages.Packages]:
        """Make a function resident, with the modules that it imports, and return its packages."""
        needed, definition = packages.unwrapped(definition)
        self.enter(needed)
        if self._has_loaded:
            return loading.load(definition), needed
        self._has_loaded = True
        with uncollected():
            return loading.load(definition), needed

    def enter(self, needed: packages.Packages) -> None:
        """Have imports find the packages of a call that is about to begin, and no others."""
        packages.enter(needed, _folder_of)

    def describe(self, error: BaseException, in_encoding: bool) -> tuple[bytes, str, str, str]:
        """Return an exception pickled, its type's name, its message and its traceback."""
        return raised.described(error)

    def before_fork(self, value: Any) -> None:
        """Do once what each child would do again.

        That is to write out what was printed, and to load the function if `value`, the call's first
        input, is a large one.
        """
        self.after_fork()
        if isinstance(value, large.LargeFunction):
            value.loaded()

    def after_fork(self) -> None:
        """Write out what was printed."""
        sys.stdout.flush()
        sys.stderr.flush()

    def end_of_child(self, error: BaseException | None) -> int:
        """Return the status with which a child ends that a call has forked, as Python would."""
        status = 0
        if isinstance(error, SystemExit):
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif error is not None:
            traceback.print_exception(error)
            status = 1
        self.after_fork()
        return status & 0xFF

    def run_apart(self, messages: bytes) -> tuple[bytes, int | None, int | None]:
        """Run an executor in a new interpreter on `messages`; what it says and how it ended."""
        # It takes 3 ms to load, and few calls need it.
        import subprocess

        ours, theirs = socket.socketpair()
        page = os.memfd_create("freestone-claims")
        with ours, theirs, os.fdopen(page, "wb") as claims:
            claims.write(_native.executor.initial_claims())
            claims.flush()
            env = os.environ | {
                "FREESTONE__EXECUTOR_SOCKET": str(theirs.fileno()),
                "FREESTONE__EXECUTOR_PAGE": str(page),
                "FREESTONE__APART": "1",
                # One call needs what it imports, and no more.
                "FREESTONE__PRELOAD": "",
            }
            with subprocess.Popen(
                [sys.executable, "-m", "freestone.node.executor"],
                env=env,
                pass_fds=(theirs.fileno(), page),
                stdin=subprocess.DEVNULL,
            ) as process:
                theirs.close()
                answer = _exchange(ours, messages)
        code = process.returncode
        return (answer, -code, None) if code < 0 else (answer, None, code)


def _folder_of(package: packages.Package) -> str:
    # Few calls have packages, and what fetches them takes time to load.
    from freestone.client import uploads

    return uploads.folder_of(package)


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the collector of cycles from what is made meanwhile, now and later.

    Imports make many objects that stay, and to look through them again and again takes a tenth to
    a fifth of the time. Only for what comes before the first call: none of its values must stay.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(0)
    try:
        yield
    finally:
        gc.freeze()
        # A module may have set its own.
        if gc.get_threshold()[0] == 0:
            gc.set_threshold(*thresholds)


def _exchange(connection: socket.socket, messages: bytes) -> bytes:
    answer = bytearray()
    try:
        connection.sendall(messages)
        while chunk := connection.recv(1 << 16):
            answer += chunk
    except (BrokenPipeError, ConnectionResetError):
        pass
    return bytes(answer)


def _preload(modules: str) -> list[str]:
    """Import modules; return a warning for each that can't be: who needs it gets the error."""
    warnings = []
    for module in filter(None, modules.split(",")):
        try:
            importlib.import_module(module)
        except BaseException as error:
            warnings.append(f"freestone: preload={module!r} can't be imported: {error}")
    return warnings


class _Pipe(io.FileIO):
    """Standard output or standard error, which the worker reads: says that this process prints."""

    def write(self, data: Any) -> int:
        _native.executor.note_printed()
        return super().write(data)


def _unbuffered(descriptor: int, like: TextIO) -> TextIO:
    """Return a stream whose text reaches the worker at once, whatever becomes of this process."""
    pipe = _Pipe(descriptor, "wb", closefd=False)
    encoding, errors = like.encoding, like.errors
    return io.TextIOWrapper(pipe, encoding, errors, write_through=True)


def _prints_to_worker() -> bool:
    """Have what is printed reach the worker at once; whether this process tells calls apart in it.

    A crash prints where it was. The interpreter of one call leaves it to the executor that started
    it to tell calls apart.
    """
    sys.stdout = _unbuffered(1, sys.stdout)
    sys.stderr = _unbuffered(2, sys.stderr)
    vars(sys).update(__stdout__=sys.stdout, __stderr__=sys.stderr)
    faulthandler.enable()
    return "FREESTONE__APART" not in os.environ


def _sampler(interval_s: float) -> Sampler | None:
    if interval_s <= 0:
        return None
    from freestone.node.sampler import Sampler

    return Sampler(interval_s, run.__code__)


def _reseed() -> None:
    """Give a child random numbers of its own, as Python's `random` does for itself."""
    if (random := sys.modules.get("numpy.random")) is not None:
        random.seed()


def load() -> list[str]:
    """Import what all calls need, and what is to be preloaded; return warnings."""
    os.register_at_fork(after_in_child=_reseed)
    role.enter_executor()
    loading.apply_python_path(json.loads(os.environ["FREESTONE__PYTHON_PATH"]))
    with uncollected():
        return _preload(os.environ.get("FREESTONE__PRELOAD", ""))


def run(warnings: Sequence[str]) -> None:
    """Print warnings, and run calls until the worker ends."""
    env = os.environ
    prints = _prints_to_worker()
    for warning in warnings:
        print(warning, file=sys.stderr)
    _native.executor.run_executor(
        socket=int(env["FREESTONE__EXECUTOR_SOCKET"]),
        page=int(env["FREESTONE__EXECUTOR_PAGE"]),
        memory=(env["FREESTONE__MEMORY_DIR"], int(env["FREESTONE__MEMORY"])),
        disk=(env["FREESTONE__DISK_DIR"], int(env["FREESTONE__DISK"])),
        inline_nbytes=int(env["FREESTONE__INLINE_NBYTES"]),
        spin_us=int(env["FREESTONE__SPIN_US"]),
        prints=prints,
        hooks=Hooks(_sampler(float(env["FREESTONE__PROFILE"]))),
    )


def main() -> None:
    """Run calls until the worker ends."""
    run(load())


if __name__ == "__main__":
    main()
