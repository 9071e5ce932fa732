"""The live page of a cluster: an HTTP server on loopback, in the program's process.

Until somebody asks for the page there is one socket and one thread that sleeps: what answers
requests is imported with the first of them. While a page is open, the manager tells what happens;
when none has asked for ten seconds, it stops.

See docs/decisions/069-the-live-page-is-served-by-the-program.md
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from freestone.observe.control import stop_listening

if TYPE_CHECKING:
    from freestone.client.local import LocalClient
    from freestone.observe.dashboard.server import Server

__all__ = ["Dashboard", "Shown", "Watched", "notebook_link"]

FIRST_PORT = 8787
_PORTS = 64
_HOST = "127.0.0.1"
_POLL_INTERVAL_S = 2.0


class Watched(Protocol):
    """A cluster, as far as its page uses it."""

    started: float

    @property
    def client(self) -> LocalClient:
        """What speaks to its manager."""

    def cancel(self, futures: Any = (), *, tag: str | None = None) -> None:
        """Cancel tasks by their tag."""

    def retire(self, worker: int) -> None:
        """Drain a worker."""


class Shown(Protocol):
    """What a page shows: a cluster that runs, or what was recorded of one."""

    @property
    def questions(self) -> Mapping[str, Callable[[Mapping[str, str]], Any]]:
        """What the page may ask, by name."""

    @property
    def actions(self) -> Mapping[str, Callable[[dict[str, Any]], Any]]:
        """What the page may do, by name."""

    @property
    def closed(self) -> bool:
        """Whether there is nothing to show any more."""

    def observe_while_asked(self) -> bool:
        """Whether the page was open a moment ago; if not, what is recorded for it ends."""

    def metrics(self) -> str:
        """Return what Prometheus scrapes."""


class Dashboard:
    """Serves a page, on a thread.

    Parameters
    ----------
    make_shown
        Returns what it shows; called with the first request.
    hosts
        Names under which proxies ask for it, besides those of loopback.

    Raises
    ------
    OSError
        When no port of loopback can be had.
    """

    def __init__(self, make_shown: Callable[[], Shown], hosts: tuple[str, ...] = ()) -> None:
        self.token: str = os.urandom(16).hex()
        self._make_shown, self._hosts = make_shown, hosts
        self._listener: socket.socket = _listen()
        self.port: int = self._listener.getsockname()[1]
        self._server: Server | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="freestone-page", daemon=True)
        self._thread.start()

    @property
    def link(self) -> str:
        """The page's address; whoever has it may watch the cluster, and cancel its tasks."""
        return f"http://{_HOST}:{self.port}/{self.token}/"

    def _serve(self) -> None:
        while not self._closed:
            observes = self._server is not None and self._server.observe_while_asked()
            try:
                self._listener.settimeout(_POLL_INTERVAL_S if observes else None)
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:
                if error.errno in (errno.EBADF, errno.EINVAL):
                    return
                # Out of descriptors, say: they may come back.
                time.sleep(_POLL_INTERVAL_S)
                continue
            self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        if self._server is None:
            from freestone.observe.dashboard.server import Server

            self._server = Server(self._make_shown(), self.token, self._hosts)
        self._server.take(connection)

    def close(self) -> None:
        """Stop serving and give the port back."""
        if self._closed:
            return
        self._closed = True
        stop_listening(self._listener, self._thread)
        if self._server is not None:
            self._server.close()

    def forget(self) -> None:
        """Let go of the socket in a forked child, where no thread serves."""
        self._closed = True
        self._listener.close()
        if self._server is not None:
            self._server.forget()

    @classmethod
    def start(cls, cluster: Watched, hosts: tuple[str, ...]) -> Dashboard | None:
        """Serve a cluster's page if that can be done; it runs without one, too."""
        try:
            return cls(lambda: _live(cluster), hosts)
        except OSError as error:
            warnings.warn(
                f"this cluster has no page, as nothing can listen on {_HOST}: {error}; "
                "dashboard=False opens clusters without one",
                RuntimeWarning,
                stacklevel=4,
            )
            return None


def notebook_link(link: str) -> str:
    """Return a page's address for a browser that shows a notebook: by JupyterHub's proxy, if any.

    Parameters
    ----------
    link
        The page's address on this machine.
    """
    prefix = os.environ.get("JUPYTERHUB_SERVICE_PREFIX")
    if prefix is None:
        return link
    port, _, path = link.removeprefix(f"http://{_HOST}:").partition("/")
    return f"{prefix.rstrip('/')}/proxy/{port}/{path}"


def _live(cluster: Watched) -> Shown:
    from freestone.observe.dashboard.views import Views

    return Views(cluster)


def _listen() -> socket.socket:
    """Listen at the first port that is free, at any port if many are taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # A port that was used a moment ago can be had again at once.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for port in (*range(FIRST_PORT, FIRST_PORT + _PORTS), 0):
            try:
                listener.bind((_HOST, port))
                listener.listen(64)
                return listener
            except OSError as error:
                if error.errno != errno.EADDRINUSE or port == 0:
                    raise
        raise AssertionError("the last port raises or returns")
    except BaseException:
        listener.close()
        raise
