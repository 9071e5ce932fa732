"""From what the manager says of a failure to the exception that a user sees."""

from __future__ import annotations

import errno
import pickle
from typing import Any, assert_never

from freestone.enumerations import FailureKind
from freestone.errors import (
    ClosedError,
    DiskExceededError,
    FileChangedError,
    FileError,
    FileMissingError,
    FileUnreadableError,
    ForeignFutureError,
    FormatError,
    FreestoneError,
    FunctionLoadError,
    InputLostError,
    InputUnknownError,
    MemoryExceededError,
    MessageTooLargeError,
    NotSerializableError,
    StorageFullError,
    TaskCancelledError,
    TaskExitedError,
    TaskInterruptedError,
    TaskKilledError,
    TaskRaisedError,
    TaskTimeoutError,
    TooManyCallsError,
    UnschedulableError,
    WorkerAbsentError,
    WorkerLostError,
    attach_remote,
)
from freestone.units import format_seconds

_LARGER = "raise 'ulimit -f' where workers start, or cut the data into smaller blocks"

__all__ = ["bad_format", "error_of", "foreign_future", "too_large"]


def error_of(failure: dict[str, Any]) -> BaseException:
    """Make the exception for a failure, as the native module describes it.

    Parameters
    ----------
    failure
        Has `kind`, `label`, `name`, `worker`, `attempts`, and what belongs to its kind.
    """
    label, worker = failure["label"], failure["worker"]
    kind: FailureKind = failure["kind"]
    match kind:
        case "raised":
            return _raised(failure)
        case "killed":
            return TaskKilledError(
                label=label,
                attempts=failure["kills"],
                signal=failure["signal"],
                status=failure["status"],
                worker=worker,
            )
        case "timed_out":
            return TaskTimeoutError(
                label=label,
                timeout_s=failure["timeout_s"],
                attempts=max(1, failure["attempts"]),
                worker=worker,
            )
        case "memory_exceeded":
            return MemoryExceededError(label=label, limit=failure["limit"], worker=worker)
        case "disk_exceeded":
            return DiskExceededError(label=label, limit=failure["limit"], worker=worker)
        case "cancelled":
            return TaskCancelledError(label=label, worker=worker)
        case "interrupted":
            return TaskInterruptedError(label=label, worker=worker)
        case "unschedulable":
            needs, largest = failure["needs"], failure["largest"]
            return UnschedulableError(label=label, needs=needs, largest=largest)
        case "worker_absent" if not label:
            # Nobody gave worker=: a block is read through the program's own worker.
            gone = "" if failure["gone_s"] is None else f" {format_seconds(failure['gone_s'])} ago"
            reason = f"it went away{gone}, and no other on this machine took its place"
            return WorkerLostError(worker=failure["absent"], reason=reason)
        case "worker_absent":
            return WorkerAbsentError(
                label=label,
                absent=failure["absent"],
                gone_s=failure["gone_s"],
                present=failure["present"],
            )
        case "too_many_calls":
            return TooManyCallsError(limit=failure["limit"])
        case "unknown_input":
            return InputUnknownError(label=label, name=failure["input"])
        case "input_lost":
            return InputLostError(
                label=label, name=failure["input"], worker=worker, attempts=failure["attempts"]
            )
        case "storage_full":
            return StorageFullError(
                needed=failure["needed"], free=failure["free"], folder=failure["folder"]
            )
        case "file_missing":
            return FileMissingError(failure["path"], "is gone since it was named; name it again")
        case "file_unreadable":
            return FileUnreadableError(failure["path"])
        case "file_changed":
            if f"(os error {errno.EFBIG})" in failure["reason"]:
                reason = failure["reason"]
                return FileError(
                    failure["path"], f"can't hold a file that large: {reason}; {_LARGER}"
                )
            return FileChangedError(failure["path"], failure["reason"])
        case "too_large":
            part = "result" if failure["is_result"] else "arguments"
            return too_large(part, label, failure["nbytes"], failure["limit"])
        case "closed":
            return ClosedError(f"finish {label!r}" if label else "finish what was submitted")
        case _:
            assert_never(kind)


def _raised(failure: dict[str, Any]) -> BaseException:
    label, worker = failure["label"], failure["worker"]
    error, why = _unpickled(failure["pickled"])
    if failure["type"] == "ModuleNotFoundError" and failure["in_encoding"]:
        module = getattr(error, "name", None) or failure["message"]
        error = FunctionLoadError(label=label, module=module, reason="is missing", worker=worker)
    if not isinstance(error, BaseException):
        kind, text = failure["type"], failure["message"]
        error = TaskRaisedError(label=label, kind=kind, text=text, why=why, worker=worker)
    if isinstance(error, SystemExit):
        error = _exited(error, label, worker)
    elif _is_control(error):
        kind, text = failure["type"], failure["message"]
        why = "raised here, that would end or cancel what waits for the result; raise an Exception"
        raised = TaskRaisedError(label=label, kind=kind, text=text, why=why, worker=worker)
        raised.__cause__, error = error, raised
    if hint := _hint(error):
        error.add_note(f"what to do: {hint}")
    return attach_remote(error, failure["traceback"], label, worker, failure["attempts"])


def _hint(error: BaseException) -> str:
    """Give what helps against an error of others that calls on a cluster meet often."""
    if isinstance(error, ValueError) and "read-only" in str(error):
        return (
            "arrays that a call is given are views of blocks, which nothing changes; "
            "write into a copy, as in x = x.copy()"
        )
    if isinstance(error, ModuleNotFoundError):
        name = (error.name or "it").partition(".")[0]
        return (
            f"install {name!r} in the environment of the workers, or send a module of yours: "
            f"cluster.upload('{name}.py')"
        )
    return ""


def _is_control(error: BaseException) -> bool:
    """Return whether it is what a task may raise, but must not be raised where its result is.

    In a generator StopIteration would end the loop over it, which PEP 479 refuses for the same
    reason.
    """
    import asyncio

    controls = KeyboardInterrupt | GeneratorExit | asyncio.CancelledError
    return isinstance(error, controls | StopIteration | StopAsyncIteration)


def _unpickled(data: bytes) -> tuple[BaseException | None, str]:
    """Return what a task raised, or why there is only what is said of it."""
    if not data:
        return None, "the exception itself was not sent"
    try:
        error: Any = pickle.loads(data)
    except Exception as problem:
        reason = f"{type(problem).__name__}: {problem!s:.300}"
        return None, f"the exception itself can't be unpickled here: {reason}"
    if isinstance(error, BaseException):
        return error, ""
    return None, error if isinstance(error, str) else "the exception itself was not sent"


def _exited(error: SystemExit, label: str, worker: str | None) -> TaskExitedError:
    status = error.code
    if not isinstance(status, int | str | None):
        status = str(status)
    return TaskExitedError(label=label, status=status, worker=worker)


def foreign_future(label: str, name: str, in_call: bool) -> FreestoneError:
    """Make the error for a future that is pickled where it can't be."""
    if in_call:
        return ForeignFutureError(label=label, name=name)
    return NotSerializableError(
        what="value",
        where=f"future {name[:8]} of {label!r}",
        kind="freestone.Future",
        reason="a future, or a collection that has some, goes to calls as an argument and not in a "
        "closure, and elsewhere as its result() or compute(); a task returns its result()",
    )


def too_large(part: str, label: str, nbytes: int, limit: int) -> MessageTooLargeError:
    """Make the error for what no message can carry."""
    return MessageTooLargeError(part=part, label=label, nbytes=nbytes, limit=limit)


def storage_full(needed: int, free: int, folder: str) -> StorageFullError:
    """Make the error for a block that has no room."""
    return StorageFullError(needed=needed, free=free, folder=folder)


def bad_format(reason: str, row: int | None, column: int | None) -> FormatError:
    """Make the error for a file that the caller knows: see `freestone.io.telling`."""
    return FormatError("", reason, row=row, column=column)
