"""Links to other sites are asked for, here on loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.docs import external

pytest.importorskip("linkcheck")


class OtherSite(BaseHTTPRequestHandler):
    """A site with one page, and another that has moved there."""

    def do_GET(self) -> None:
        status = {"/page": 200, "/moved": 302}.get(self.path, 404)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/page")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815 (http.server's own name)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherSite) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_dead_links_are_shown_with_the_pages_that_have_them(
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, links in {"a": ("page", "gone#part"), "b": ("moved", "gone", "page#part")}.items():
        text = "".join(f'<a href="{address}/{link}">there</a>' for link in links)
        (tmp_path / f"{name}.html").write_text(f'{text}<a href="{name}.html">here</a>')
    monkeypatch.setattr(external, "SITE", tmp_path)
    assert external.main() == 1
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 2
    assert shown[0].startswith(f"{address}/gone: 404")
    assert shown[0].endswith("; linked to by a.html, b.html")
    assert shown[1] == "3 links to other sites, 1 of them dead"
    for path in tmp_path.iterdir():
        path.unlink()
    (tmp_path / "c.html").write_text(f'<a href="{address}/moved">there</a>')
    assert external.main() == 0
