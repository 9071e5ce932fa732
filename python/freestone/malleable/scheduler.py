"""Asks a scheduler, by lines of JSON over a socket.

At each look rank 0 connects, sends one line about the job, and reads one line of what it is to be.
No connection is kept, so rank 0 may be another process after a resize, and the scheduler may be
restarted at any time.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
from collections import Counter

from freestone.errors import ConfigurationError
from freestone.malleable.targets import Request, Source, Status

__all__ = ["Scheduler"]

_log = logging.getLogger("freestone.malleable")
_MAX_NBYTES = 1 << 20


class Scheduler(Source):
    """Do what a scheduler says that listens on a socket.

    Parameters
    ----------
    address : path or str
        Of a Unix socket; or ``"host:port"`` of TCP, for jobs on several hosts: any of their
        processes may become rank 0.
    job : str
        The job's name for the scheduler.
    host : str, optional
        The scheduler's name of this host; by default that by which it calls itself.
    every_s : float
        From one look to the next.
    timeout_s : float
        How long the scheduler may take to answer. Rank 0 waits for it, and so does the job.

    Raises
    ------
    ConfigurationError
        If a parameter makes no sense.

    Notes
    -----
    The job sends ``{"job": "cg", "state": "running", "step": 40, "total": 1000, "processes": 4,
    "hosts": {"n0": 2, "n1": 2}, "step_s": 0.01, "resizes": 1}`` and a line feed. ``step_s`` is the
    mean duration of a step with so many processes, null before the first one. ``resizes`` counts
    those that were done and those that failed: after a failure, ``processes`` is as it was.

    The scheduler answers ``{}`` for 'as it is', or ``{"processes": 6, "hosts": {"n0": 2, "n1": 2,
    "n2": 2}}``, and a line feed: see `Request.parse`. Without ``hosts``, MPI chooses where joining
    ranks start. With them, ranks on other hosts leave first. An answer that makes no sense, or
    none in time, is logged, and leaves the job as it is.

    At its end the job sends a line with ``"state": "ended"``, and waits for no answer. A job that
    is killed sends nothing more.
    """

    def __init__(
        self,
        address: str | os.PathLike[str],
        job: str,
        *,
        host: str | None = None,
        every_s: float = 1.0,
        timeout_s: float = 5.0,
    ) -> None:
        # The path of a Unix socket, or host and port of TCP.
        self._address: str | tuple[str, int] = os.fspath(address)
        name, _, port = self._address.rpartition(":")
        if name and "/" not in name and port.isdecimal():
            if int(port) > 65535:
                problem = f"address {address!r}: a port is at most 65535"
                raise ConfigurationError(problem, key="targets", origin="scheduler")
            self._address = name, int(port)
        if not every_s > 0 or not timeout_s > 0:
            problem = f"every_s={every_s!r}, timeout_s={timeout_s!r}: both are above 0"
            raise ConfigurationError(problem, key="targets", origin="scheduler")
        self._job, self._host = job, host or socket.gethostname()
        self._every_s, self._timeout_s = every_s, timeout_s
        self._looked, self._problem = -every_s, ""
        self._status: Status | None = None

    def host(self) -> str:
        """Return the scheduler's name of this host."""
        return self._host

    def agreed(self) -> str:
        """Return who is asked, for which job."""
        return f"Scheduler({self._address!r}, {self._job!r})"

    def ask(self, status: Status) -> Request | None:
        """Return what the scheduler wants."""
        self._status = status
        if time.monotonic() - self._looked < self._every_s:
            return None
        self._looked = time.monotonic()
        try:
            with self._connect(status, "running") as connection:
                request = Request.parse(self._answer(connection))
        except (OSError, ConfigurationError, UnicodeDecodeError) as error:
            self._note(f"{type(error).__name__}: {error}")
            return None
        self._problem = ""
        return request

    def finish(self) -> None:
        """Tell the scheduler that the job has ended."""
        if self._status is None:
            return
        try:
            self._connect(self._status, "ended").close()
        except OSError as error:
            self._note(f"it does not hear that the job has ended: {error}")

    def _connect(self, status: Status, state: str) -> socket.socket:
        """Return a connection to the scheduler over which the job's line has been sent."""
        line = {
            "job": self._job,
            "state": state,
            "step": status.step,
            "total": status.total,
            "processes": status.size,
            "hosts": Counter(status.hosts),
            "step_s": status.step_s.get(status.size),
            "resizes": status.resizes,
        }
        if isinstance(self._address, tuple):
            connection = socket.create_connection(self._address, self._timeout_s)
        else:
            connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(self._timeout_s)
            if isinstance(self._address, str):
                connection.connect(self._address)
            connection.sendall(json.dumps(line).encode() + b"\n")
        except BlockingIOError:
            connection.close()
            raise ConnectionError(
                "its queue of connections is full: it does not accept them, or has too few places"
            ) from None
        except OSError:
            connection.close()
            raise
        return connection

    def _answer(self, connection: socket.socket) -> str:
        deadline = time.monotonic() + self._timeout_s
        answer = b""
        while b"\n" not in answer and len(answer) < _MAX_NBYTES:
            connection.settimeout(max(1e-3, deadline - time.monotonic()))
            more = connection.recv(1 << 16)
            if not more:
                raise ConnectionError(f"it closed the connection after {answer[:80]!r}")
            answer += more
        return answer.decode()

    def _note(self, problem: str) -> None:
        """Log a problem, once for as long as it lasts."""
        if problem != self._problem:
            _log.warning("scheduler %s, the job stays as it is: %s", self._address, problem)
        self._problem = problem
