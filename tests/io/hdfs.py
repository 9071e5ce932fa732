"""A stand-in for HDFS: files and folders in memory, by the calls that its client has."""

from __future__ import annotations

import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from freestone.io.stores import hdfs_client

__all__ = ["Reader", "Store", "store"]


class Store:
    """Files and folders in memory, by the calls that the client has."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.folders: set[str] = {"", "/folder"}
        self.reads: list[str] = []
        self.closing: Callable[[str], None] = lambda path: None
        self.open, self.most_open = 0, 0
        self.lock = threading.Lock()

    def get_file_info(self, path: str) -> Any:
        path = path.rstrip("/")
        if path in self.folders:
            return SimpleNamespace(path=path, isdir=True, length=0, modification_time=1)
        if path not in self.files:
            raise FileNotFoundError(path)
        content = self.files[path]
        # Another content is another version.
        changed = zlib.crc32(content)
        return SimpleNamespace(
            path=path, isdir=False, length=len(content), modification_time=changed
        )

    def list_status(self, path: str, recursive: bool) -> Iterator[Any]:
        inside = [each for each in (*self.files, *self.folders) if each.rpartition("/")[0] == path]
        return map(self.get_file_info, inside)

    def mkdirs(self, path: str, permission: int, parents: bool) -> None:
        self.folders.add(path)

    def rename(self, old: str, new: str, overwrite: bool) -> None:
        moved = {path for path in self.files if path == old or path.startswith(f"{old}/")}
        self.files |= {new + path.removeprefix(old): self.files.pop(path) for path in moved}
        if old in self.folders:
            self.folders = (self.folders - {old}) | {new}

    def delete(self, path: str, recursive: bool) -> None:
        self.folders.discard(path)
        for each in [each for each in self.files if each == path or each.startswith(f"{path}/")]:
            del self.files[each]

    def read(self, path: str) -> Any:
        self.reads.append(path)
        return Reader(self.files[path])

    def create(self, path: str, options: Any) -> Writer:
        return Writer(self, path)


class Reader:
    """A file that is read."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __len__(self) -> int:
        return len(self._content)

    def read_range(self, offset: int, count: int) -> bytes:
        return self._content[offset : offset + count]

    def read_range_stream(self, offset: int, count: int) -> Iterator[bytes]:
        yield self.read_range(offset, count)


class Writer:
    """A file that is written, and seen when it is closed."""

    def __init__(self, store: Store, path: str) -> None:
        self._store, self._path, self._content = store, path, b""

    def __enter__(self) -> Writer:
        with self._store.lock:
            self._store.open += 1
            self._store.most_open = max(self._store.most_open, self._store.open)
        return self

    def write(self, data: Any) -> None:
        self._content += bytes(data)

    def __exit__(self, *error: Any) -> None:
        try:
            self._store.closing(self._path)
            self._store.files[self._path] = self._content
        finally:
            with self._store.lock:
                self._store.open -= 1


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    found = Store()
    module = SimpleNamespace(Client=lambda url: found, WriteOptions=lambda **words: None)
    monkeypatch.setitem(sys.modules, "hdfs_native", module)
    monkeypatch.setattr(hdfs_client, "FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(hdfs_client, "reach", lambda server, timeout_s: None)
    hdfs_client.client.cache_clear()
    yield found
    hdfs_client.client.cache_clear()
