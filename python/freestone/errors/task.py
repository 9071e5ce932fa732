"""A task failed for good."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError
from typing import Any, Self

from freestone.errors.base import FreestoneError, did_you_mean, on_worker
from freestone.units import COUNTED, format_nbytes, format_seconds


class TaskError(FreestoneError):
    """A task failed for good.

    Attributes
    ----------
    label : str
        The task's function or name.
    worker : str or None
        Where its last attempt ran.
    """

    slug = "task"
    label: str
    worker: str | None = None


class TaskRaisedError(TaskError, RuntimeError):
    """A task raised an exception that can't be raised again in this process.

    Or one that can was raised because of such a one, which is then its ``__cause__`` or
    ``__context__``, and has no label.

    Attributes
    ----------
    kind : str
        The exception's type.
    text : str
        Its message.
    why : str
        Why it can't be raised here.
    """

    slug = "task-raised"
    kind: str
    text: str
    why: str

    def __init__(
        self,
        *,
        label: str,
        kind: str,
        text: str,
        why: str = "the exception itself was not sent",
        worker: str | None = None,
    ) -> None:
        who = f"task {label!r} raised " if label else ""
        detail = f": {text}" if text else ""
        super().__init__(
            f"{who}{kind}{detail} ({why})",
            label=label,
            kind=kind,
            text=text,
            why=why,
            worker=worker,
        )


class TaskExitedError(TaskError, RuntimeError):
    """A task ended by ``sys.exit()``, which ends only its call.

    Attributes
    ----------
    status : int or str or None
        What it gave to ``sys.exit()``.
    """

    slug = "task-exited"
    status: int | str | None

    def __init__(self, *, label: str, status: int | str | None, worker: str | None = None) -> None:
        super().__init__(
            f"task {label!r} called sys.exit({'' if status is None else repr(status)})"
            f"{on_worker(worker)}, which gives no result and ends nothing but the call; return a "
            "value instead, or raise an error",
            label=label,
            status=status,
            worker=worker,
        )


class TaskKilledError(TaskError):
    """A task killed each executor that it was given.

    Attributes
    ----------
    signal : int or None
        The signal that ended the last executor, or
    status : int or None
        the status that it exited with.
    attempts : int
        How many executors it was given.
    """

    slug = "task-killed"
    signal: int | None
    status: int | None
    attempts: int

    def __init__(
        self,
        *,
        label: str,
        attempts: int,
        signal: int | None = None,
        status: int | None = None,
        worker: str | None = None,
    ) -> None:
        how, advice = _death(signal, status)
        times = "once" if attempts == 1 else f"{attempts} times"
        super().__init__(
            f"task {label!r} ended its executor {times}, last by {how}{on_worker(worker)}; "
            f"{advice}",
            label=label,
            signal=signal,
            status=status,
            attempts=attempts,
            worker=worker,
        )


class TaskTimeoutError(TaskError, TimeoutError):
    """A task ran for longer than it may.

    Attributes
    ----------
    timeout_s : float
        The limit of one attempt, in seconds.
    attempts : int
        How often it was tried.
    """

    slug = "task-timeout"
    timeout_s: float
    attempts: int

    def __init__(
        self, *, label: str, timeout_s: float, attempts: int = 1, worker: str | None = None
    ) -> None:
        tries = "" if attempts == 1 else f" in each of {attempts} attempts"
        super().__init__(
            f"task {label!r} ran for longer than {format_seconds(timeout_s)}{tries}"
            f"{on_worker(worker)}; raise timeout_s, or give it less to do",
            label=label,
            timeout_s=timeout_s,
            attempts=attempts,
            worker=worker,
        )


class MemoryExceededError(TaskError, MemoryError):
    """A task took more memory than it may, and was ended.

    Attributes
    ----------
    limit : int
        What it may take besides what its executor had, in bytes.
    """

    slug = "memory-exceeded"
    limit: int

    def __new__(cls, *args: Any, **fields: Any) -> Self:
        """Make it as `Exception` does: `MemoryError` refuses to where another base comes first."""
        return Exception.__new__(cls, *args, **fields)

    def __init__(self, *, label: str, limit: int, worker: str | None = None) -> None:
        super().__init__(
            f"task {label!r} took more than the {format_nbytes(limit)} of memory that it may; "
            "give it more by resources={'memory': ...}, have category=... find out how much it "
            "takes, or cut its data into smaller parts",
            label=label,
            limit=limit,
            worker=worker,
        )


class DiskExceededError(TaskError, OSError):
    """The files that a task made took more of the disk than they may, and it was ended.

    Attributes
    ----------
    limit : int
        What they may take, in bytes.
    """

    slug = "disk-exceeded"
    limit: int

    def __init__(self, *, label: str, limit: int, worker: str | None = None) -> None:
        super().__init__(
            f"the temporary files of task {label!r} took more than the {format_nbytes(limit)} of "
            "disk that they may; give it more by resources={'disk': ...}, or have it remove what "
            "it no longer needs",
            label=label,
            limit=limit,
            worker=worker,
            errno=errno.EDQUOT,
        )


class TaskCancelledError(TaskError, CancelledError):
    """A task, or one that it needs, was cancelled."""

    slug = "task-cancelled"

    def __init__(self, *, label: str, worker: str | None = None) -> None:
        super().__init__(
            f"task {label!r} was cancelled, or a task that it needs was; submit it again to run it",
            label=label,
            worker=worker,
        )


class UnschedulableError(TaskError):
    """A task asks for what no worker can ever give.

    Attributes
    ----------
    needs, largest : mapping of str to int
        What it asks for and the most that any worker has: ``cores``, ``gpus``, ``memory`` and
        ``disk`` in bytes, and custom resources by their names.
    """

    slug = "unschedulable"
    needs: Mapping[str, int]
    largest: Mapping[str, int]

    def __init__(self, *, label: str, needs: Mapping[str, int], largest: Mapping[str, int]) -> None:
        short = {key: amount for key, amount in needs.items() if amount > largest.get(key, 0)}
        have = {key: largest.get(key, 0) for key in short}
        have_text = f"at most {_amounts(have)}" if short else "all of that at once"
        absent = next((key for key in short if key not in COUNTED and key not in largest), None)
        super().__init__(
            f"task {label!r} needs {_amounts(short or needs)} on one worker, and "
            f"{'each has' if short else 'none has'} {have_text}; "
            + (_larger() if absent is None else _unknown(absent, largest)),
            label=label,
            needs=dict(needs),
            largest=dict(largest),
        )


class TaskInterruptedError(TaskError):
    """A task may have run when the process that serves the cluster was killed.

    It may not run twice, as its ``pure=False`` says.

    Attributes
    ----------
    worker : str or None
        Where it was.
    """

    slug = "task-interrupted"
    worker: str | None

    def __init__(self, *, label: str, worker: str | None) -> None:
        super().__init__(
            f"task {label!r} was at {worker or 'a worker'} when the process that serves "
            "the cluster was killed: it may have run, and pure=False says that it must not run "
            "twice; look at what it has done, and submit it again; retries=1 allows that where it "
            "does no harm",
            label=label,
            worker=worker,
        )


class WorkerAbsentError(TaskError, LookupError):
    """A task may only run on a worker that is gone, or that there never was.

    Attributes
    ----------
    absent : str
        The worker that ``worker=`` names.
    gone_s : float or None
        How long it has been gone, in seconds; None if there never was such a worker.
    present : tuple of str
        The workers that there are.
    """

    slug = "worker-absent"
    absent: str
    gone_s: float | None
    present: tuple[str, ...]

    def __init__(
        self, *, label: str, absent: str, gone_s: float | None, present: Iterable[str]
    ) -> None:
        workers = tuple(present)
        number = absent.removeprefix("worker-")
        state = "never was" if gone_s is None else f"has been gone for {format_seconds(gone_s)}"
        more = f" and {len(workers) - 8} more" if len(workers) > 8 else ""
        there = f"there are {', '.join(workers[:8])}{more}" if workers else "no other is there"
        super().__init__(
            f"task {label!r} may only run on {absent} (worker={number}), which {state}; {there}. "
            "A worker that is started in place of another has a new number: leave worker= out, or "
            "take one of cluster.statistics().workers",
            label=label,
            absent=absent,
            gone_s=gone_s,
            present=workers,
        )


def _needed(label: str, name: str) -> str:
    """Say what needs a block: a task, or the program, which asks for one that was put."""
    block = f"block {name[:8]}"
    return f"task {label!r} needs {block}" if label else f"this program asks for {block}"


class InputLostError(TaskError):
    """An input has no replica left and nothing that makes it again, or is lost again and again.

    Attributes
    ----------
    name : str
        The input's name, 32 hex digits.
    attempts : int
        How often the task was sent out and found it lost; 0 if nothing makes it again.
    """

    slug = "input-lost"
    name: str
    attempts: int

    def __init__(
        self, *, label: str, name: str, worker: str | None = None, attempts: int = 0
    ) -> None:
        if attempts:
            problem = (
                f"task {label!r} was sent to workers {attempts} times, and each time block "
                f"{name[:8]} was gone before it could be read; see in cluster.statistics() whether "
                "they run out of memory and disk, or leave too soon"
            )
        else:
            problem = (
                f"{_needed(label, name)}, whose last replica is gone and which no task makes; put "
                "it again, or read it in a task so that it can be made again"
            )
        super().__init__(problem, label=label, name=name, worker=worker, attempts=attempts)


class TooManyCallsError(TaskError, RuntimeError):
    """A program has as many calls that have not ended as the cluster lets one have.

    Attributes
    ----------
    limit : int
        How many.
    """

    slug = "too-many-calls"
    limit: int

    def __init__(self, *, limit: int) -> None:
        super().__init__(
            f"the call was refused: this program has {limit:,} calls that have not ended, as many "
            "as the cluster takes of one; wait for some before you submit more, or have the "
            "cluster opened with a larger max_calls",
            label="",
            limit=limit,
        )


class InputUnknownError(TaskError, LookupError):
    """An input that the cluster does not have (any more).

    Attributes
    ----------
    name : str
        The input's name, 32 hex digits.
    """

    slug = "input-unknown"
    name: str

    def __init__(self, *, label: str, name: str) -> None:
        super().__init__(
            f"{_needed(label, name)}, which the cluster does not have; keep its future until the "
            "task is submitted, or give it keep='session'",
            label=label,
            name=name,
        )


class FunctionLoadError(TaskError, ImportError):
    """A worker can't load a task's function.

    Attributes
    ----------
    module : str
        The module that is missing, broken or not the one that the client has.
    reason : str
        What is wrong with it.
    """

    slug = "function-load"
    module: str
    reason: str

    def __init__(self, *, label: str, module: str, reason: str, worker: str | None = None) -> None:
        super().__init__(
            f"the worker can't load {label!r}: module {module!r} {reason}; install it where the "
            "workers run, upload it by cluster.upload(path), or start them with the client's "
            "environment",
            label=label,
            module=module,
            reason=reason,
            worker=worker,
            name=module,
        )


def _larger() -> str:
    return "ask for less in resources=, or open the cluster with fewer, larger workers"


def _unknown(name: str, largest: Mapping[str, int]) -> str:
    given = f"give workers some by Cluster(resources={{{name!r}: 1}})"
    hint = did_you_mean(name, largest) or f"; {given}"
    return f"no worker that it may run on has a resource {name!r}{hint}"


def _amounts(resources: Mapping[str, int]) -> str:
    texts = [
        f"{format_nbytes(amount)} of {key}" if key in ("memory", "disk") else f"{amount} {key}"
        for key, amount in resources.items()
    ]
    return ", ".join(texts) if texts else "nothing"


_CRASHES = frozenset({4, 5, 6, 7, 8, 11, 31})
"""SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV and SIGSYS: what a process does to itself."""


def _death(signal: int | None, status: int | None) -> tuple[str, str]:
    if signal is None:
        how = "an unknown cause" if status is None else f"exit status {status}"
        return how, "look for os._exit() or a library that ends the process"
    import signal as signals

    try:
        how = f"signal {signals.Signals(signal).name}"
    except ValueError:
        how = f"signal {signal}"
    if signal == signals.SIGSTOP:
        return how, "it was stopped for longer than stopped_s: raise that setting for a debugger"
    if signal == signals.SIGKILL:
        return how, "most likely memory ran out: give it resources={'memory': ...} or less data"
    if signal not in _CRASHES:
        return how, "somebody has sent it to the executor: look for os.kill(), or for who did"
    advice = "a library crashed: run the call alone with isolation='process' to find which"
    return how, f"{advice}, or a script with --isolate-kernels"
