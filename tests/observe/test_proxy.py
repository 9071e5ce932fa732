"""The live page through proxies: below a path, behind a login, under another name or port."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import freestone as fs
from tests import waiting

HUB = "hub.localhost"
PREFIX = "/user/me/proxy"
LOGIN = "login=me"


class Proxy(ThreadingHTTPServer):
    """A proxy for ports of this machine, as jupyter-server-proxy is one.

    Parameters
    ----------
    keeps_host
        Whether it asks under the name that the browser has used, as that one does, or under its
        own, as nginx does.
    cookie
        What a browser must have, if anything.
    prefix
        Below which path; the port follows.
    """

    daemon_threads = True

    def __init__(self, keeps_host: bool, cookie: str = "", prefix: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Forward)
        self.keeps_host, self.cookie, self.prefix = keeps_host, cookie, prefix
        self.asked: list[str] = []

    def link(self, host: str, page: str) -> str:
        parts = urlsplit(page)
        return f"http://{host}:{self.server_port}{self.prefix}/{parts.port}{parts.path}"


class _Forward(BaseHTTPRequestHandler):
    server: Proxy

    def do_GET(self) -> None:
        self.forward()

    def do_POST(self) -> None:
        self.forward()

    def forward(self) -> None:
        self.server.asked.append(self.path)
        below, slash, path = self.path.removeprefix(f"{self.server.prefix}/").partition("/")
        is_in = self.server.cookie in self.headers.get("Cookie", "")
        if not (self.path.startswith(f"{self.server.prefix}/") and below.isdecimal() and is_in):
            return self.send_error(403)
        headers = dict(self.headers)
        if not self.server.keeps_host:
            headers["Host"] = f"127.0.0.1:{below}"
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection("127.0.0.1", int(below), timeout=60)
        with contextlib.closing(connection):
            connection.request(self.command, slash + path, body or None, headers)
            answer = connection.getresponse()
            content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "date", "server"):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@contextlib.contextmanager
def running(proxy: Proxy) -> Iterator[Proxy]:
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()


@pytest.fixture(scope="module")
def cluster() -> Iterator[fs.Cluster]:
    options = {"executors": 1, "memory": "64MiB", "disk": "1GiB"}
    with fs.Cluster(dashboard_hosts=HUB, **options) as cluster:
        yield cluster


def wait_for_file(path: str) -> bool:
    return waiting.until(Path(path).exists)


def log_in(context: Any) -> None:
    name, value = LOGIN.split("=")
    context.add_cookies([{"name": name, "value": value, "domain": HUB, "path": "/"}])


def look_and_cancel(browser: Any, cluster: fs.Cluster, link: str, login: bool, gate: Path) -> None:
    """Look at the views, and cancel a task, as somebody does with a mouse."""
    first = cluster.submit(wait_for_file, str(gate), pure=False, name="gate")
    second = cluster.submit(abs, first, name="waits")
    context = browser.new_context()
    if login:
        log_in(context)
    page = context.new_page()
    page.set_default_timeout(60_000)
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.goto(link)
    page.get_by_role("rowheader", name="gate").wait_for()
    page.get_by_role("link", name="Tasks").click()
    page.get_by_role("button", name="Why does waits").click()
    page.get_by_role("button", name="Cancel the task").click()
    assert waiting.until(second.done)
    assert second.cancelled()
    gate.touch()
    assert first.result()
    page.get_by_role("link", name="Timeline").click()
    page.get_by_text(" on 1 executor").wait_for()
    assert problems == []
    context.close()


@pytest.mark.parametrize("keeps_host", [True, False])
def test_the_page_works_below_a_path_behind_a_login(
    browser: Any, cluster: fs.Cluster, tmp_path: Path, keeps_host: bool
) -> None:
    with running(Proxy(keeps_host, LOGIN, PREFIX)) as proxy:
        link = proxy.link(HUB, str(cluster.dashboard_link))
        page = browser.new_page()
        assert page.goto(link).status == 403, "who has no cookie does not get beyond the proxy"
        page.close()
        look_and_cancel(browser, cluster, link, True, tmp_path / "gate")
        below = urlsplit(link).path
        assert {path for path in proxy.asked if not path.startswith(below)} <= {"/favicon.ico"}
        wrong = link.replace(str(cluster.dashboard_link).split("/")[3], "0" * 32)
        context = browser.new_context()
        log_in(context)
        assert context.new_page().goto(wrong).status == 404, "the token counts behind a proxy, too"
        context.close()


def test_a_forwarded_port_may_be_another(browser: Any, cluster: fs.Cluster, tmp_path: Path) -> None:
    with running(Proxy(keeps_host=True)) as proxy:
        link = proxy.link("localhost", str(cluster.dashboard_link))
        look_and_cancel(browser, cluster, link, False, tmp_path / "gate")


def test_a_name_that_nobody_gave_is_refused(browser: Any, cluster: fs.Cluster) -> None:
    with running(Proxy(keeps_host=True)) as proxy:
        page = browser.new_page()
        answer = page.goto(proxy.link("other.localhost", str(cluster.dashboard_link)))
        assert answer.status == 403
        assert "dashboard_hosts" in answer.text()
        page.close()
