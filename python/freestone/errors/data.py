"""Storage, files and the machinery itself."""

from __future__ import annotations

import errno
from typing import ClassVar

from freestone.errors.base import FreestoneError
from freestone.units import format_nbytes


class StorageFullError(FreestoneError, OSError):
    """No room in a node's memory or on its disk, or on the disk of a file that is written.

    Attributes
    ----------
    needed, free : int
        Bytes; 0 bytes are needed by a file whose size is not known beforehand.
    folder : str
        What is full.
    file : str
        The file that can't be written; "" for blocks in a cluster.
    """

    slug = "storage-full"
    needed: int
    free: int
    folder: str
    file: str

    def __init__(self, *, needed: int, free: int, folder: str, file: str = "") -> None:
        room = format_nbytes(free)
        if file:
            size = format_nbytes(needed) if needed else "more"
            message = (
                f"{file} can't be written: {folder} has {room} free, or less by a quota, and the "
                f"file takes {size}; free space on the disk, or write elsewhere"
            )
        else:
            message = (
                f"{folder} has room for {room}, and {format_nbytes(needed)} are needed; give the "
                "cluster more memory= or disk=, cut the data into smaller blocks, or release "
                "futures that are no longer used"
            )
        super().__init__(
            message,
            needed=needed,
            free=free,
            folder=folder,
            file=file,
            errno=errno.ENOSPC,
            filename=file or folder,
        )


class FileError(FreestoneError, OSError):
    """A file of the user's can't be used.

    Attributes
    ----------
    file : str
        Its path or URL.
    """

    slug = "file"
    file: str
    _code: ClassVar[int | None] = None

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file} {problem}", file=file, errno=self._code, filename=file)


class FileMissingError(FileError, FileNotFoundError):
    """A file is not there."""

    slug = "file-missing"
    _code = errno.ENOENT

    def __init__(self, file: str, problem: str = "does not exist; check the path") -> None:
        super().__init__(file, problem)


class FileUnreadableError(FileError, PermissionError):
    """A file may not be read."""

    slug = "file-unreadable"
    _code = errno.EACCES

    def __init__(
        self, file: str, problem: str = "can't be read; check its permissions, and its folders'"
    ) -> None:
        super().__init__(file, problem)


class FileChangedError(FileError):
    """A file is no longer what it was when it was named.

    Attributes
    ----------
    reason : str
        What differs.
    """

    slug = "file-changed"
    reason: str

    def __init__(self, file: str, reason: str = "its content differs") -> None:
        advice = "call freestone.file() or freestone.read() again"
        problem = f"changed after it was named or read ({reason}); {advice}"
        super().__init__(file, problem)
        self.reason = reason


class FormatError(FileError, ValueError):
    """A file is not what its format says.

    Attributes
    ----------
    reason : str
        What is wrong, and where.
    row, column : int or None
        The place, counted from 1, when it is a cell.
    """

    slug = "format"
    reason: str
    row: int | None
    column: int | None

    def __init__(
        self, file: str, reason: str, *, row: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(file, f"can't be used: {reason}")
        self.reason = reason
        self.row = row
        self.column = column


class SchemaError(FileError, ValueError):
    """A file does not go with another one that is read with it.

    Attributes
    ----------
    other : str
        The other file's path or URL.
    reason : str
        Why.
    column : str or None
        The column in which they differ; None where it is more than one.
    """

    slug = "schema"
    other: str
    reason: str
    column: str | None

    def __init__(self, file: str, other: str, reason: str, *, column: str | None = None) -> None:
        super().__init__(file, f"does not go with {other}: {reason}")
        self.other = other
        self.reason = reason
        self.column = column


class ClusterError(FreestoneError):
    """The machinery itself failed."""

    slug = "cluster"


class ClusterStartError(ClusterError, RuntimeError):
    """A cluster could not be started.

    Attributes
    ----------
    reason : str
        Why.
    log : str
        The last lines that the workers said.
    """

    slug = "cluster-start"
    reason: str
    log: str

    def __init__(self, reason: str, *, log: str = "") -> None:
        printed = f"; the workers said last:\n{log}" if log else ""
        super().__init__(f"the cluster can't be started: {reason}{printed}", reason=reason, log=log)


class EngineMissingError(ClusterError, ImportError):
    """The engine of a host is not installed, or does not run here.

    Attributes
    ----------
    engine : str
        Which.
    missing : str
        What was looked for.
    cure : str
        What to do.
    """

    slug = "engine-missing"
    engine: str
    missing: str
    cure: str

    def __init__(self, *, engine: str, missing: str, cure: str) -> None:
        super().__init__(
            f"{engine} can't start workers here: {missing}; {cure}",
            engine=engine,
            missing=missing,
            cure=cure,
        )


class JoinError(ClusterError, ConnectionError):
    """A worker could not join a cluster, or lost it.

    Attributes
    ----------
    manager : str
        The address of the cluster's manager.
    reason : str
        Why.
    """

    slug = "join"
    manager: str
    reason: str

    def __init__(self, *, manager: str, reason: str) -> None:
        super().__init__(
            f"this worker is no part of the cluster at {manager}: {reason}; see whether the "
            "cluster runs, and whether the access file is its own",
            manager=manager,
            reason=reason,
        )


class WorkerLostError(ClusterError, ConnectionError):
    """A worker, or all of them, went away.

    Attributes
    ----------
    worker : str
        Which.
    reason : str
        How it ended.
    """

    slug = "worker-lost"
    worker: str
    reason: str

    def __init__(self, *, worker: str, reason: str) -> None:
        super().__init__(
            f"{worker} is lost: {reason}; its log is in the cluster's folder, and "
            "'freestone info' shows how much memory the machine has",
            worker=worker,
            reason=reason,
        )
