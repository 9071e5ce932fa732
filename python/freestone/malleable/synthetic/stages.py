"""Stages that compute or communicate as long as they are told to."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from freestone.malleable.synthetic.settings import COMPUTES, USES_FILES, Stage

__all__ = ["Workload"]

_SMALL, _LARGE = 1 << 10, 1 << 20
_CALIBRATION_S = 0.02
_MAX_PIECE = 64 << 20


class Workload:
    """The stages of an iteration on one number of processes.

    The duration of one operation is measured when it is made, by all ranks at once: after a
    resize they may be slower or faster.

    Parameters
    ----------
    comm : mpi4py communicator
        The ranks.
    stages : sequence of Stage
        What an iteration does.
    factor : float
        What part of a compute stage's time each rank takes.
    is_rigid : bool
        Wait for all after each stage.
    """

    def __init__(self, comm: Any, stages: tuple[Stage, ...], factor: float, is_rigid: bool) -> None:
        self._comm = comm
        self._is_rigid = is_rigid
        # What was begun and not waited for, by identifier.
        self._begun: dict[int, list[Any]] = {}
        self._files = contextlib.ExitStack()
        self._runs = [self._prepare(stage, factor) for stage in stages]

    def run(self) -> list[float]:
        """Do one iteration; return the seconds that each stage took this rank."""
        times = []
        for run in self._runs:
            begin = time.perf_counter()
            run()
            if self._is_rigid:
                self._comm.Barrier()
            times.append(time.perf_counter() - begin)
        for identifier in list(self._begun):
            self._wait(identifier)
        return times

    def _prepare(self, stage: Stage, factor: float) -> Callable[[], object]:
        if stage.kind in COMPUTES:
            return self._computing(stage, factor)
        if stage.kind in USES_FILES:
            return self._using_files(stage)
        return self._communicating(stage)

    def _computing(self, stage: Stage, factor: float) -> Callable[[], object]:
        operation = _pi(stage.granularity) if stage.kind == "pi" else _matvec(stage.granularity)
        seconds = stage.seconds * factor
        if stage.is_capped:
            return lambda: _until(operation, seconds)
        one_s = self._comm.allreduce(_duration(operation)) / self._comm.size
        times = max(1, round(seconds / one_s))
        return lambda: _repeat(operation, times)

    def _communicating(self, stage: Stage) -> Callable[[], object]:
        if stage.kind == "wait":
            return lambda: self._wait(stage.identifier)
        if stage.is_capped and stage.seconds:
            operation = self._operation(stage, stage.nbytes or stage.granularity)
            return lambda: self._until_over(operation, stage.seconds)
        nbytes = stage.nbytes
        if not nbytes and stage.seconds:
            nbytes = self._bytes_for(stage)
        return self._operation(stage, nbytes)

    def _until_over(self, operation: Callable[[], object], seconds: float) -> None:
        """Repeat what all ranks do together until the time is over on rank 0."""
        deadline = time.perf_counter() + seconds
        while self._comm.bcast(time.perf_counter() < deadline):
            operation()

    def _wait(self, identifier: int) -> None:
        for request in self._begun.pop(identifier, []):
            request.Wait()

    def _bytes_for(self, stage: Stage) -> int:
        """Return how much is sent in a time, by a line through two sizes."""
        small, large = (
            self._comm.allreduce(self._duration_of(stage, nbytes)) / self._comm.size
            for nbytes in (_SMALL, _LARGE)
        )
        slope = max((large - small) / (_LARGE - _SMALL), 1e-13)
        return max(1, int(_SMALL + (stage.seconds - small) / slope))

    def _duration_of(self, stage: Stage, nbytes: int) -> float:
        operation = self._operation(stage, nbytes)

        def complete() -> None:
            operation()
            self._wait(stage.identifier)

        return _duration_of(complete, 5)

    def _using_files(self, stage: Stage) -> Callable[[], object]:
        """Return what moves bytes, or for a time pieces of as many as `granularity`."""
        is_involved = not stage.involved or self._comm.rank < stage.involved
        operation, times = None, 1
        if is_involved:
            nbytes = min(stage.nbytes or stage.granularity, _MAX_PIECE)
            operation = self._file_operation(stage.kind, nbytes)
            times = -(-stage.nbytes // nbytes)
        if stage.seconds and not stage.nbytes and not stage.is_capped:
            slowest = max(self._comm.allgather(_duration(operation) if operation else 0.0))
            times = max(1, round(stage.seconds / slowest))
        if operation is None:
            return lambda: None
        if stage.is_capped:
            return lambda: _until(operation, stage.seconds)
        return lambda: _repeat(operation, times)

    def _file_operation(self, kind: str, nbytes: int) -> Callable[[], object]:
        """Return what writes bytes into a file of this rank's own, or reads them from it."""
        made = tempfile.TemporaryFile(dir=os.getcwd(), buffering=0)  # noqa: SIM115
        file = self._files.enter_context(made)
        content = bytearray(nbytes)
        if kind == "write":
            return lambda: (file.seek(0), file.write(content))
        file.write(content)
        return lambda: (file.seek(0), file.readinto(content))

    def close(self) -> None:
        """Let go of files."""
        self._files.close()

    def _operation(self, stage: Stage, nbytes: int) -> Callable[[], object]:
        comm, kind = self._comm, stage.kind
        if kind == "allgatherv":
            return _allgatherv(comm, nbytes)
        mine, other = np.zeros(max(1, nbytes), np.uint8), np.zeros(max(1, nbytes), np.uint8)
        if kind == "bcast":
            return lambda: comm.Bcast(mine)
        if kind == "reduce":
            return lambda: comm.Reduce(mine, other if comm.rank == 0 else None)
        if kind == "allreduce":
            return lambda: comm.Allreduce(mine, other)
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        if kind == "ip2p":
            begun, identifier = self._begun, stage.identifier
            return lambda: begun.setdefault(identifier, []).extend(
                (comm.Irecv(other, left), comm.Isend(mine, right))
            )
        return lambda: comm.Sendrecv(mine, right, recvbuf=other, source=left)


def _allgatherv(comm: Any, nbytes: int) -> Callable[[], object]:
    share, rest = divmod(nbytes, comm.size)
    counts = [share + (rank < rest) for rank in range(comm.size)]
    mine, whole = np.zeros(counts[comm.rank], np.uint8), np.zeros(nbytes, np.uint8)
    return lambda: comm.Allgatherv(mine, [whole, counts])


def _matvec(size: int) -> Callable[[], object]:
    matrix, vector, result = np.ones((size, size)), np.ones(size), np.empty(size)
    return lambda: np.dot(matrix, vector, out=result)


def _pi(samples: int) -> Callable[[], object]:
    random = np.random.default_rng(1)

    def operation() -> float:
        points = random.random((2, samples))
        return 4.0 * float(np.count_nonzero((points * points).sum(axis=0) <= 1.0)) / samples

    return operation


def _repeat(operation: Callable[[], object], times: int) -> None:
    for _ in range(times):
        operation()


def _until(operation: Callable[[], object], seconds: float) -> None:
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        operation()


def _duration(operation: Callable[[], object]) -> float:
    """Return the seconds of one operation, by as many as take some hundredths of a second."""
    times, begin = 0, time.perf_counter()
    while (spent := time.perf_counter() - begin) < _CALIBRATION_S:
        operation()
        times += 1
    return spent / times


def _duration_of(operation: Callable[[], object], times: int) -> float:
    operation()
    begin = time.perf_counter()
    _repeat(operation, times)
    return (time.perf_counter() - begin) / times
