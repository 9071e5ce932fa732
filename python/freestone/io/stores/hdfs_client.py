"""The client of hdfs-native: one for each server and user of a process, and what went wrong."""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import re
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from freestone.errors import FileError, FreestoneError, UsageError

__all__ = ["SETTINGS", "Settings", "asked", "client", "hdfs_native", "reach", "retried"]

T = TypeVar("T")
# A DataNode that died is handed out by the NameNode until it misses its heartbeats.
RETRIED_S, FIRST_WAIT_S = 60.0, 0.5
# Until when a server has to answer, unless this variable has other seconds.
TIMEOUT_S, TIMEOUT = 10.0, "HDFS_TIMEOUT_S"
# Java's exceptions of a NameNode, by class, that Python has a kind for.
KINDS: dict[str, type[OSError]] = {
    "java.io.FileNotFoundException": FileNotFoundError,
    "org.apache.hadoop.security.AccessControlException": PermissionError,
    "org.apache.hadoop.security.authorize.AuthorizationException": PermissionError,
}
# The client has no type for them, but names the class first: 'RPCError("CLASS", "TEXT")', or
# 'RPC error: CLASS TEXT'.
_REMOTE = re.compile(r'(?:(?:Fatal)?RPCError\("|(?:fatal )?RPC error: )([\w.$]+)')
# What the client itself reports, for which it has no types.
PASSING = (
    "Connection refused",
    "Broken pipe",
    "reset by peer",
    "timed out",
    "UnexpectedEof",
    "IO error",
    "DataNode read failed",
    "Not enough data returned from DataNode",
    "Datanode connection closed",
    "All nodes failed for write",
    "Failed to complete file in time",
)
# What to try.
HINTS = {
    "No NameNode hosts found": "write host:port, or have hdfs-site.xml in HADOOP_CONF_DIR name the "
    "NameNodes of this service",
    "No fs.defaultFS": "name the server: hdfs://host:port/path, --hdfs-ip, or HDFS_ADDRESS",
}


def hdfs_native() -> Any:
    """Return the library."""
    try:
        import hdfs_native as found
    except ImportError as error:
        raise UsageError("hdfs:// needs hdfs-native; pip install 'freestone[hdfs]'") from error
    return found


# What configures the client: where Hadoop's files are, among them those of high availability, and
# where Kerberos's tickets, keys and Hadoop's tokens are.
SETTINGS = (
    "HADOOP_CONF_DIR",
    "HADOOP_HOME",
    "HADOOP_TOKEN_FILE_LOCATION",
    "KRB5_CONFIG",
    "KRB5CCNAME",
    "KRB5_CLIENT_KTNAME",
    TIMEOUT,
)
Settings = tuple[tuple[str, str], ...]


@functools.lru_cache(maxsize=16)
def client(server: str, user: str | None, settings: Settings, process: int) -> Any:
    """Return this process's client of a server, such as ``hdfs://host:port``, once that answers.

    Raises
    ------
    FileError
        When nobody is there, or nobody answers in time: the client itself would wait for ever.
    """
    os.environ.update(settings)
    if user is not None:
        os.environ["HADOOP_USER_NAME"] = user
    library, timeout_s = hdfs_native(), _timeout_s()
    answers: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

    def connect() -> None:
        try:
            reach(server, timeout_s)
            made = library.Client(server or None)
            # What a NameNode says is for who asks it for a file: any answer will do here.
            with contextlib.suppress(Exception):
                made.get_file_info("/")
            answers.put((made, None))
        except Exception as error:
            answers.put((None, error))

    # The client's calls know no deadline, and can't be interrupted.
    threading.Thread(target=connect, name="hdfs-connect", daemon=True).start()
    try:
        made, error = answers.get(timeout=timeout_s)
    except queue.Empty:
        reason = (
            f"does not answer within {timeout_s:g} s; it has to be host:port of a NameNode's RPC, "
            f"and {TIMEOUT} says how many seconds it has"
        )
        raise FileError(server or "hdfs://", reason) from None
    if error is not None:
        raise error
    return made


def _timeout_s() -> float:
    text = os.environ.get(TIMEOUT, "") or str(TIMEOUT_S)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise UsageError(f"{TIMEOUT} has to be a number of seconds above 0, not {text!r}")
    return seconds


def reach(server: str, timeout_s: float) -> None:
    """Connect to a NameNode, of which the client would not tell that nobody is there.

    Which NameNodes a service has, Hadoop's files say; those are left to the client.

    Raises
    ------
    FileError
        When nobody answers there.
    """
    host, sign, port = server.removeprefix("hdfs://").rpartition(":")
    if not sign or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout_s).close()
    except (OSError, OverflowError) as error:
        reason = f"can't be reached: {error}; it has to be host:port of a NameNode's RPC"
        raise FileError(server, reason) from None


def asked(url: str, call: Callable[[], T]) -> T:
    """Call the client; give its errors the kinds that Python has, and the file's name."""
    try:
        return call()
    except (FileNotFoundError, PermissionError, FreestoneError):
        raise
    except Exception as error:
        reported = str(error)
        kind = KINDS.get(_java_class(reported))
        if kind is not None:
            raise kind(url) from error
        hint = next((f"; {hint}" for word, hint in HINTS.items() if word in reported), "")
        raise FileError(url, f"can't be used: HDFS says {reported!r}{hint}") from error


def _java_class(reported: str) -> str:
    """Return the class of the exception that a NameNode answered with; empty if it did not."""
    remote = _REMOTE.match(reported)
    return remote[1] if remote else ""


def retried(call: Callable[[], T]) -> T:
    """Call again what failed for want of a node, for a minute at most."""
    wait_s, end = FIRST_WAIT_S, time.monotonic() + RETRIED_S
    while True:
        try:
            return call()
        except Exception as error:
            passing = any(word in str(error) for word in PASSING)
            if not passing or time.monotonic() + wait_s > end:
                raise
        time.sleep(wait_s)
        wait_s = min(wait_s * 2, 8.0)
