"""Calls of everything in `freestone._native` with arguments that nobody would give.

Whatever they are, the answer is a value or an exception, never the end of the interpreter, a panic,
or a call without end. ``python -m tests.bindings.fuzz --seed 1 --calls 1000`` makes calls in this
process: the last line that it prints before a crash is the call that did it. ``python -m tests.fuzz
bindings --seconds 600`` goes through new seeds, each in a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import inspect
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from freestone import _native
from freestone.client.future import Future
from tests.bindings.arguments import CSV, EVENT_SETTINGS, PUBLIC, TOGETHER, Arguments
from tests.fuzz.fuzzers import Check

PROCESSES = {
    "EventWorld",
    "fork_sibling",
    "meet_ranks",
    "run_executor",
    "run_worker",
    "start_fork_server",
}
"""They take the place of a process, or wait for others: called in a forked child, which may end,
and before there are threads, whose locks a child would find as they were."""
IN_CHILDREN = 8
"""How many of them are called."""
WAITING = {"wait", "result", "take", "lock", "drain", "finish", "hold", "guard", "accept", "fail"}
"""Methods that wait for others as long as it takes: called by a thread that nobody waits for."""
SIZED = ("layout_", "RowBlocks", "RowRuns", "make_identity", "make_authority", "make_member")
"""They take as long as the numbers say: what is neither small nor refused is made smaller."""
CALLS = 600
"""Of one case; those that come later take what earlier ones returned."""
MAX_CALL_S = 2
"""After that a call is interrupted, as by Ctrl-C."""
MAX_HANGING_S = 60
"""A call that goes on all the same hangs, and ends the process."""
MEMORY = 4 << 30
"""More than a process has is refused by the system: what is allocated without a look aborts."""
PANICKED = 3

Target = tuple[str, type | None, str]
"""A name to show, the class whose method it is, and its name there."""


def targets() -> list[Target]:
    """Return all that can be called: functions, classes, and methods of these."""
    found: list[Target] = []
    for name, value in sorted(PUBLIC.items()):
        found.append((name, None, name))
        if isinstance(value, type):
            found += [(f"{name}.{each}", value, each) for each in methods(value)]
    return found


def methods(kind: type) -> list[str]:
    """Return the names of a class's own methods and properties."""
    special = {"__len__", "__reduce__", "__eq__", "__repr__", "__iter__", "__next__", "__getitem__"}
    own = [name for name in dir(kind) if name not in dir(object) or name in special]
    return [name for name in own if not name.startswith("__") or name in special]


def made_first(folder: str) -> list[Callable[[], Any]]:
    """Return makers of an object of each class that can be made without a cluster."""
    path = os.path.join(folder, "socket")
    options: dict[str, Any] = {"socket": path, "key": "0" * 32, "owner": None, "future": Future}
    options |= {"spin_us": 0, "inline_nbytes": 1000, "transfers_in": 1, "transfers_out": 1}
    return [
        lambda: _native.io.CsvIndex.scan(CSV, 44, 1),
        lambda: _native.layout.RowBlocks([0, 2, 5]),
        lambda: _native.layout.RowBlocks.even(20, 3),
        lambda: _native.layout.RowRuns([0, 2, 5, 6], [1, 0, 1], 2),
        lambda: _native.vector.Drawing(7, 100, -1.0, 1.0, 0.5, 1),
        lambda: _native.vector.VectorMemory(4096, "default", 0),
        lambda: _native.manager.Options(),
        lambda: _native.blocks.Stored(1),
        lambda: _native.blocks.Group(1, len),
        lambda: _native.manager.Watch(),
        lambda: _native.events.EventMemory(2, arena=1 << 16),
        lambda: _native.events.EventMeeting("127.0.0.1:0", _native.tls.make_identity(1)),
        lambda: _native.events.EventRank.threads(2, arena=1 << 16, settings=EVENT_SETTINGS),
        lambda: _native.folders.OwnedFolder.create(folder),
        lambda: _native.io.csv_format_dense(np.ones(4, "u1"), code="u1", columns=2, delimiter=44),
        lambda: _native.manager.Manager(**options, silence_s=5.0, max_calls=100, trace=False),
        lambda: _defined_and_put(),
    ]


def _defined_and_put() -> Any:
    """Make a future of a call that no worker will ever run."""
    manager = _made[-1]
    number = manager.define("label", b"0" * 16, b"definition")
    return manager.submit(number, (), None, _native.manager.Options())


_made: list[Any] = []


def keep(objects: list[Any], made: Any) -> None:
    """Keep what a call returned for the calls that come, if it is one of the module's."""
    for one in made if isinstance(made, (list, tuple)) else [made]:
        if isinstance(one, tuple(_CLASSES)) and len(objects) < 60:
            objects.append(one)


_CLASSES = [value for value in PUBLIC.values() if isinstance(value, type)]


def arguments_of(
    name: str, function: Any, arguments: Arguments
) -> tuple[list[Any], dict[str, Any]]:
    """Make as many as it takes, for the most part, so that calls get beyond the count of them."""
    if name in TOGETHER and arguments.choose.random() < 0.9:
        return TOGETHER[name](arguments, name), {}
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [arguments.value() for _ in range(arguments.choose.randrange(4))], {}
    if arguments.choose.random() < 0.1:
        parameters = parameters[:-1]
    named = {p.name: arguments.named(p.name) for p in parameters if p.kind is p.KEYWORD_ONLY}
    is_placed = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return [arguments.named(p.name) for p in parameters if p.kind in is_placed], named


def smaller(value: Any) -> Any:
    """Take what is large, and yet no number that is refused at once, out of a value."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(smaller, value))
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        return value % 97
    return value % 97 if type(value) is int and 97 < value < 2**62 else value


class TooSlowError(BaseException):
    """A call took longer than most."""


def interrupt(*_: Any) -> None:
    """End a call that takes long, as Ctrl-C does."""
    raise TooSlowError


def call(name: str, method: str, function: Callable[..., Any], given: Any) -> Any:
    """Make a call: here, or where it may wait or end the process."""
    placed, named = given
    if name in PROCESSES:
        signal.setitimer(signal.ITIMER_REAL, 0)
        return in_child(function, placed, named)
    if method in WAITING:
        thread = threading.Thread(target=_quietly, args=(function, placed, named), daemon=True)
        thread.start()
        thread.join(0.02)
        return None
    return function(*placed, **named)


def _quietly(function: Callable[..., Any], placed: list[Any], named: dict[str, Any]) -> None:
    with contextlib.suppress(Exception):
        function(*placed, **named)


def in_child(function: Callable[..., Any], placed: list[Any], named: dict[str, Any]) -> None:
    """Make a call in a forked child; raise if a signal ended it that comes from memory."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with contextlib.suppress(BaseException):
            function(*placed, **named)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGALRM:
        print(f"the child ended with signal {os.WTERMSIG(status)}", file=sys.stderr)
        os._exit(PANICKED)


def bound(target: Target, arguments: Arguments) -> Any:
    """Return what is called: a function, or a method of an object, or else of its class."""
    _, kind, name = target
    if kind is None:
        return PUBLIC[name]
    found = arguments.of_class(kind)
    return getattr(kind if found is None else found, name)


def run(seed: int, calls: int, folder: str) -> None:
    """Make so many calls, the first of them of everything there is."""
    arguments, everything = Arguments(seed), targets()
    children = [target for target in everything if target[0] in PROCESSES]
    for target in children + arguments.choose.choices(children, k=IN_CHILDREN - len(children)):
        one_call(target, bound(target, arguments), arguments)
    everything = [target for target in everything if target not in children]
    calls -= IN_CHILDREN
    for make in made_first(folder):
        _made.append(make())
        keep(arguments.objects, _made[-1])
    first = arguments.choose.sample(everything, len(everything))
    chosen = [*first, *arguments.choose.choices(everything, k=max(0, calls - len(first)))]
    for target in chosen:
        name = target[0]
        with contextlib.suppress(Exception):
            function = bound(target, arguments)
            if callable(function):
                one_call(target, function, arguments)
                continue
        print(f"{name}: read", flush=True)


def one_call(target: Target, function: Any, arguments: Arguments) -> None:
    """Make one call, and say so before."""
    name, _, method = target
    placed, named = arguments_of(name, function, arguments)
    if name.startswith(SIZED):
        placed, named = smaller(placed), {key: smaller(each) for key, each in named.items()}
    shown = f"{name}(*{placed!r:.3000}, **{named!r:.500})"
    os.write(1, shown.encode("utf-8", "backslashreplace").replace(b"\n", b" ") + b"\n")
    if name not in PROCESSES:
        # By a thread, which a forked child would wait for.
        faulthandler.dump_traceback_later(MAX_HANGING_S, exit=True)
    signal.setitimer(signal.ITIMER_REAL, MAX_CALL_S)
    try:
        made = call(name, method, function, (placed, named))
        signal.setitimer(signal.ITIMER_REAL, 0)
        keep(arguments.objects, made)
        if len(made) < 1 << 20:
            memoryview(made).tobytes()
    except (Exception, TooSlowError):
        pass
    except BaseException as error:
        # A panic is an exception that no program can be expected to catch.
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        os._exit(PANICKED)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()


def here(seed: int, calls: int) -> None:
    """Make the calls of a seed in this process, and end it."""
    faulthandler.enable()
    np.set_printoptions(threshold=4)
    np.seterr(all="ignore")
    signal.signal(signal.SIGALRM, interrupt)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="freestone-fuzz-") as folder:
        os.chdir(folder)
        Path("file").write_bytes(CSV)
        Path("folder").mkdir()
        run(seed, calls, folder)
        os.chdir("/")
    # Threads may still wait.
    os._exit(0)


def finding(seed: int, calls: int) -> str:
    """Make the calls of a seed in a process of its own; return what went wrong, if anything did."""
    words = [sys.executable, "-W", "ignore", "-m", "tests.bindings.fuzz"]
    words += ["--seed", str(seed), "--calls", str(calls)]
    root = Path(__file__).parents[2]
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, check=False, cwd=root, env=alone)
    errors, lines = done.stderr.decode(errors="replace"), done.stdout.decode(errors="replace")
    made = lines.splitlines()
    if done.returncode == 0 and "panicked at" not in errors and len(made) >= calls:
        return ""
    last = made[-1] if made else "none"
    return f"seed {seed} ended with {done.returncode} in {last}\n{errors[-3000:]}"


@contextlib.contextmanager
def checking() -> Iterator[Check]:
    """Open the check, which makes the calls of a seed in a process of its own."""

    def check(seed: int) -> str | None:
        return finding(seed, CALLS) or None

    yield check


def main() -> None:
    """Make the calls of a seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--calls", type=int, default=1000)
    options = parser.parse_args()
    here(options.seed, options.calls)


if __name__ == "__main__":
    main()
