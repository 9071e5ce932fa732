"""Files of a web server on loopback: each worker asks for the bytes of its rows."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors import FileError, FileMissingError

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

X = np.random.default_rng(1).normal(size=(30_000, 5))


class Server(ThreadingHTTPServer):
    """Serves what is in a folder, and remembers how many bytes it gave for each request."""

    folder: Path
    given: list[int]
    ranges = True
    status = 200


class Handler(BaseHTTPRequestHandler):
    """Answers HEAD, and GET of a range."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        path = self.server.folder / self.path.strip("/").split("?")[0]
        if not path.is_file() or self.server.status != 200:
            self.send_error(404 if self.server.status == 200 else self.server.status)
            return
        content, status = path.read_bytes(), 200
        size = len(content)
        range = self.headers.get("Range", "") if self.server.ranges else ""
        printed = re.fullmatch(r"bytes=(\d+)-(\d*)", range)
        if printed:
            start, last = int(printed[1]), int(printed[2] or size - 1)
            content, status = content[start : last + 1], 206
        self.send_response(status)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{path.stat().st_mtime_ns}"')
        self.send_header("Content-Length", str(len(content)))
        if printed:
            self.send_header("Content-Range", f"bytes {start}-{start + len(content) - 1}/{size}")
        self.end_headers()
        if body:
            self.wfile.write(content)
            self.server.given.append(len(content))

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as found:
        found.folder, found.given = tmp_path, []
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.mark.parametrize("kind", ["csv", "dbdf", "npy", "mtx", "parquet", "arrow"])
def test_files_of_a_web_server(
    two_workers: fs.Cluster, server: Server, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"m.{kind}"
    fs.write(X, path)
    url = f"http://127.0.0.1:{server.server_port}/m.{kind}"
    array = fs.read(url, block_rows=10_000)
    np.testing.assert_array_equal(array.compute(), X)
    if kind in ("dbdf", "npy"):
        assert max(server.given) < X.nbytes / 2


def test_what_a_web_server_does_not_have_and_does_not_take(server: Server) -> None:
    url = f"http://127.0.0.1:{server.server_port}/none.csv"
    with pytest.raises(FileMissingError, match=r"none\.csv"):
        fs.read(url)
    with pytest.raises(FileError, match=r"none\.csv.* can't be written"):
        fs.write(X[:3], url)


def test_a_file_that_is_another_on_its_server(server: Server, tmp_path: Path) -> None:
    fs.write(X, tmp_path / "m.npy")
    url = f"http://127.0.0.1:{server.server_port}/m.npy"
    array = fs.read(url, block_rows=1000)
    np.testing.assert_array_equal(array.compute(), X)
    fs.write(X[:10], tmp_path / "m.npy")
    np.testing.assert_array_equal(fs.read(url).compute(), X[:10])
