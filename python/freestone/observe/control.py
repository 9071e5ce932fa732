"""How a running cluster answers questions from other processes of the same user.

Each cluster keeps ``cluster.json`` in its folder and listens on the unix socket ``control.sock``
beside it. A question is one line of JSON, ``{"ask": "status"}``, and so is the answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from freestone import _native
from freestone.errors import UsageError

__all__ = [
    "CARD",
    "JOURNALED",
    "SOCKET",
    "ControlServer",
    "Reach",
    "ask",
    "ask_all",
    "find",
    "left_by",
    "only",
    "reachable",
]

CARD, SOCKET = "cluster.json", "control.sock"
JOURNALED = "journaled"
"""Holds the folders of clusters that have a journal: nobody else sweeps them."""
_LONGEST = 1 << 24
_TIMEOUT_S = 10.0

Answer = Callable[[dict[str, Any]], Mapping[str, Any]]


class Reach(dict[str, Any]):
    """What is known of a running cluster: its card, its ``folder``, and ``status`` once asked."""

    @property
    def id(self) -> str:
        """The name of its folder."""
        return os.path.basename(str(self["folder"]))

    @property
    def names(self) -> tuple[str, ...]:
        """All by which people name it."""
        address = str(self.get("address", ""))
        known = (self.id, str(self["folder"]), str(self.get("socket", "")), address)
        return known if self.get("name") is None else (str(self["name"]), *known)

    @property
    def label(self) -> str:
        """What to call it: its name if it has one, else its id."""
        return str(self.get("name") or self.id)


class ControlServer:
    """Answers questions on a socket in a cluster's folder, on a thread of its own.

    Parameters
    ----------
    folder : path
        The cluster's, which only its user may enter.
    answer : callable
        Gives the answer to a question; what it raises is told instead of an answer.

    Notes
    -----
    One question at a time; whoever asks has ten seconds to say what.
    """

    def __init__(self, folder: str | os.PathLike[str], answer: Answer) -> None:
        self._path = Path(folder) / SOCKET
        self._answer = answer
        self._closed = False
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with reachable(self._path) as path:
                self._listener.bind(path)
            self._path.chmod(0o600)
            self._listener.listen(16)
        except OSError:
            self._listener.close()
            raise
        self._thread = threading.Thread(target=self._serve, name="freestone-control", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.settimeout(_TIMEOUT_S)
                self._exchange(connection)

    def _exchange(self, connection: socket.socket) -> None:
        try:
            question = json.loads(_read_line(connection))
            answer = dict(self._answer(question))
        except OSError:
            raise
        except UsageError as error:
            answer = {"refused": str(error)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        connection.sendall(json.dumps(answer, default=str).encode() + b"\n")

    def close(self) -> None:
        """Stop answering and remove the socket."""
        if self._closed:
            return
        self._closed = True
        stop_listening(self._listener, self._thread)
        self._path.unlink(missing_ok=True)


def stop_listening(listener: socket.socket, thread: threading.Thread) -> None:
    """Close a socket and wait for the thread that accepts connections from it."""
    with contextlib.suppress(OSError):
        # Closing alone would not wake the thread.
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    if thread is not threading.current_thread():
        thread.join(timeout=_TIMEOUT_S)


def ask(
    folder: str | os.PathLike[str], question: Mapping[str, Any], timeout_s: float = _TIMEOUT_S
) -> dict[str, Any]:
    """Ask a running cluster.

    Parameters
    ----------
    folder : path
        The cluster's.
    question : mapping
        Such as ``{"ask": "status"}``.
    timeout_s : float
        How long to wait for each part of the answer, in seconds.

    Returns
    -------
    dict
        The answer.

    Raises
    ------
    UsageError
        If the cluster refuses to do it.
    OSError
        If nobody answers there, or not in time.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        with reachable(Path(folder) / SOCKET) as path:
            connection.connect(path)
        connection.sendall(json.dumps(dict(question)).encode() + b"\n")
        answer: dict[str, Any] = json.loads(_read_line(connection))
    if "refused" in answer:
        raise UsageError(answer["refused"])
    if "error" in answer:
        raise OSError(f"the cluster can't answer: {answer['error']}")
    return answer


def find(runtime: str | os.PathLike[str]) -> list[Reach]:
    """Find the clusters that run on this machine.

    Parameters
    ----------
    runtime : path
        The folder in which each cluster has its own.

    Returns
    -------
    list of Reach
        The oldest first, whether it answers or not. Folders of clusters that have ended are passed
        over.
    """
    places = [*Path(runtime).glob(f"*/{CARD}"), *Path(runtime).glob(f"{JOURNALED}/*/{CARD}")]
    cards = [card for card in map(_read_card, sorted(places)) if card]
    return sorted(cards, key=lambda card: float(card.get("started", 0)))


def ask_all(clusters: Iterable[Reach]) -> list[Reach]:
    """Ask each cluster what it does.

    Parameters
    ----------
    clusters : iterable of Reach
        Those that were found.

    Returns
    -------
    list of Reach
        The same; ``status`` is its answer, or ``error`` says why there is none.
    """
    asked = list(clusters)
    for cluster in asked:
        try:
            cluster["status"] = ask(cluster["folder"], {"ask": "status"})
        except (OSError, ValueError) as error:
            cluster["error"] = str(error) or type(error).__name__
    return asked


def left_by(folder: str | os.PathLike[str]) -> str | None:
    """Return the name of the cluster whose process was killed and has left this folder, if any."""
    path = Path(folder)
    if path.parent.name != JOURNALED or _native.folders.is_folder_in_use(str(path)):
        return None
    with contextlib.suppress(OSError, ValueError):
        name: str | None = json.loads((path / CARD).read_text("utf-8")).get("name")
        return name
    return None


def only(found: list[Reach], wanted: str | None) -> Reach:
    """Return the cluster of an address, folder or id; the only one if none is named.

    Raises
    ------
    UsageError
        If there is no such cluster, or several and none was named.
    """
    running = ", ".join(cluster.label for cluster in found) or "none"
    if wanted is None:
        if len(found) == 1:
            return found[0]
        if not found:
            raise UsageError(
                "no cluster runs on this machine, of this user; 'freestone serve' starts one"
            )
        raise UsageError(f"no cluster is named; give --cluster one of those that run: {running}")
    for cluster in found:
        if wanted.rstrip("/") in (*cluster.names, f"unix:{cluster.get('socket', '')}"):
            return cluster
    raise UsageError(f"no running cluster is {wanted!r}; there are: {running}")


def _read_card(path: Path) -> Reach | None:
    try:
        card = Reach(json.loads(path.read_text("utf-8")), folder=str(path.parent))
    except (OSError, ValueError):
        return None
    # Not by its process id, which means nothing in another container.
    return card if _native.folders.is_folder_in_use(card["folder"]) else None


def _read_line(connection: socket.socket) -> bytes:
    read = bytearray()
    while not read.endswith(b"\n"):
        part = connection.recv(1 << 16)
        if not part or len(read) > _LONGEST:
            raise ValueError("the line has no end")
        read += part
    return bytes(read)


@contextlib.contextmanager
def reachable(path: Path) -> Iterator[str]:
    """Give a path to a socket in fewer than the 108 bytes that an address may have."""
    if len(os.fsencode(path)) < 100:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
