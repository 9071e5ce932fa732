"""Requests of browsers: who may ask, and what is answered."""

from __future__ import annotations

import contextlib
import hmac
import json
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from freestone.errors import UsageError
from freestone.observe.dashboard import metrics

if TYPE_CHECKING:
    from freestone.observe.dashboard import Shown

__all__ = ["Server"]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_MAX_CONNECTIONS = 64
_MAX_BODY = 1 << 16
_TIMEOUT_S = 30
_TYPES = {
    "index.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_SCRIPT = "text/javascript; charset=utf-8"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class RefusedError(Exception):
    """A request that gets no answer but this status."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Server:
    """Answers the requests of a page.

    Parameters
    ----------
    shown
        What the page shows.
    token
        The first part of each path.
    hosts
        Names under which proxies ask, besides those of loopback.
    """

    def __init__(self, shown: Shown, token: str, hosts: tuple[str, ...]) -> None:
        self.views: Shown = shown
        self._token = token.encode()
        self._proxies = {host.lower() for host in hosts}
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()

    def take(self, connection: socket.socket) -> None:
        """Serve a connection on a thread of its own; one too many is closed."""
        with self._lock:
            if len(self._connections) >= _MAX_CONNECTIONS:
                connection.close()
                return
            self._connections.add(connection)
        threading.Thread(
            target=self._serve, args=(connection,), name="freestone-page-request", daemon=True
        ).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            # A browser may leave whenever it likes.
            with contextlib.suppress(OSError):
                _Handler(connection, self)
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def observe_while_asked(self) -> bool:
        """Whether a page was open a moment ago; if not, the manager records no more."""
        return self.views.observe_while_asked()

    def close(self) -> None:
        """End the connections."""
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def forget(self) -> None:
        """Let go of the connections in a forked child."""
        for connection in self._connections:
            connection.close()

    # -- who may ask ----------------------------------------------------------------------------

    def admit(self, handler: BaseHTTPRequestHandler) -> str:
        """Return the path below the token, if who asks may have it.

        Raises
        ------
        RefusedError
            For another host or origin, and for a wrong token.
        """
        host = handler.headers.get("Host", "").lower()
        if _name_of(host) not in {*LOOPBACK, *self._proxies}:
            # A page of another site may have its name resolved to this machine.
            hint = "freestone's setting dashboard_hosts names proxies"
            raise RefusedError(HTTPStatus.FORBIDDEN, f"unknown host; {hint}")
        origin = handler.headers.get("Origin")
        if origin is not None and not self._is_ours(urlsplit(origin).netloc.lower(), host):
            raise RefusedError(HTTPStatus.FORBIDDEN, "a page of another origin")
        if handler.headers.get("Sec-Fetch-Site", "none") == "cross-site":
            is_navigation = handler.headers.get("Sec-Fetch-Mode") == "navigate"
            if not (is_navigation and handler.command == "GET"):
                raise RefusedError(HTTPStatus.FORBIDDEN, "a page of another site")
        token, slash, path = urlsplit(handler.path).path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self._token) or not slash:
            raise RefusedError(HTTPStatus.NOT_FOUND, "no such page")
        return path

    def _is_ours(self, origin: str, host: str) -> bool:
        """Whether a page is ours: a proxy may ask under its own name, not under the browser's."""
        return origin == host or _name_of(origin) in self._proxies

    # -- what is answered -----------------------------------------------------------------------

    def get(self, path: str, query: dict[str, str]) -> tuple[str, bytes]:
        """Return the type and the bytes of what is at a path."""
        kind, _, name = path.partition("/")
        if kind == "data" and name in self.views.questions:
            answer = self._answered(lambda: self.views.questions[name](query))
            return "application/json", json.dumps(answer, separators=(",", ":")).encode()
        if path == "metrics":
            return metrics.CONTENT_TYPE, self._answered(self.views.metrics).encode()
        return _asset(path or "index.html")

    def post(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        """Do what is asked for, and return what there is to say."""
        kind, _, name = path.partition("/")
        action = self.views.actions.get(name) if kind == "action" else None
        if action is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "no such action")
        return "application/json", json.dumps(self._answered(lambda: action(body))).encode()

    def _answered(self, answer: Callable[[], Any]) -> Any:
        try:
            return answer()
        except (KeyError, TypeError, ValueError, RuntimeError, UsageError) as error:
            if self.views.closed:
                raise RefusedError(HTTPStatus.GONE, "the cluster is closed") from None
            if isinstance(error, RuntimeError):
                raise
            raise RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from None


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "freestone"
    sys_version = ""
    timeout = _TIMEOUT_S
    server: Any

    def __init__(self, connection: socket.socket, server: Server) -> None:
        self._site = server
        super().__init__(connection, ("", 0), None)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self._reply(self._get)

    def do_POST(self) -> None:
        self._reply(self._post)

    def _get(self, path: str) -> tuple[str, bytes]:
        given = parse_qs(urlsplit(self.path).query)
        return self._site.get(path, {key: values[-1] for key, values in given.items()})

    def _post(self, path: str) -> tuple[str, bytes]:
        # Forms of other pages can't set this type without asking first.
        if self.headers.get("Content-Type") != "application/json":
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "actions are sent as JSON")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MAX_BODY:
            self.close_connection = True
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too long")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "actions are JSON objects")
        return self._site.post(path, body)

    def _reply(self, answer: Callable[[str], tuple[str, bytes]]) -> None:
        try:
            kind, content = answer(self._site.admit(self))
            status = HTTPStatus.OK
        except RefusedError as refused:
            status, kind, content = refused.status, "text/plain", f"{refused}\n".encode()
            # What was sent with it may be unread.
            self.close_connection = True
        self.send_response(status)
        headers = {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the terminal is the program's."""


def _asset(name: str) -> tuple[str, bytes]:
    assets = {file.name: file for file in (resources.files(__package__) / "static").iterdir()}
    if name not in assets:
        raise RefusedError(HTTPStatus.NOT_FOUND, "no such page")
    return _TYPES.get(name, _SCRIPT), assets[name].read_bytes()


def _name_of(host: str) -> str:
    """Return a host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host
