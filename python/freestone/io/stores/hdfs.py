"""HDFS, by the client of hdfs-native: no JVM, no Hadoop install.

A file is written from its beginning to its end by one writer, so what many write is a folder of
segments; see `freestone.io.segments`. Kerberos and high availability are configured as Hadoop is:
by the files in ``HADOOP_CONF_DIR``, and by ``KRB5CCNAME`` or a keytab.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from freestone import _native
from freestone.io.stores.hdfs_client import (
    SETTINGS,
    Settings,
    asked,
    client,
    hdfs_native,
    retried,
)
from freestone.io.stores.hdfs_source import Source
from freestone.io.stores.location import FileLocation
from freestone.io.stores.webhdfs import block_locations, http_addresses, ranked

__all__ = ["HdfsLocation"]

T = TypeVar("T")
COPIED = 4 << 20
ADDRESS = "HDFS_ADDRESS"


def _parts(url: str) -> tuple[str, str]:
    """Return server and path of a URL; a path in HDFS may have any character, such as ``#``."""
    server, slash, path = url.removeprefix("hdfs://").partition("/")
    return server, slash + path


@dataclass(frozen=True)
class HdfsLocation(FileLocation):
    """A file or folder in HDFS.

    Attributes
    ----------
    user : str or None
        Who reads and writes; by default who ``HADOOP_USER_NAME`` or the login says.
    settings : tuple of (str, str)
        Variables of the environment that configure Hadoop and Kerberos.
    """

    by_host: ClassVar[bool] = True
    user: str | None = None
    settings: Settings = ()

    @classmethod
    def of(cls, url: str) -> HdfsLocation:
        """Return the file of a URL, of which server, user and settings are this process's.

        Workers get them with it: they may have been started before any was set.
        """
        server, path = _parts(url)
        server = server or os.environ.get(ADDRESS, "").removeprefix("hdfs://").rstrip("/")
        settings = tuple((name, os.environ[name]) for name in SETTINGS if name in os.environ)
        return cls(f"hdfs://{server}{path}", os.environ.get("HADOOP_USER_NAME"), settings)

    @property
    def _server(self) -> str:
        server, _ = _parts(self.url)
        return f"hdfs://{server}" if server else ""

    @property
    def hdfs_path(self) -> str:
        """The path inside of HDFS."""
        return _parts(self.url)[1] or "/"

    @property
    def client(self) -> Any:
        """The client of this process."""
        return client(self._server, self.user, self.settings, os.getpid())

    def at(self, path: str) -> HdfsLocation:
        """Return another file of the same server."""
        return replace(self, url=f"{self._server or 'hdfs://'}{path}")

    def beside(self, suffix: str) -> HdfsLocation:
        """Return the file whose name has something added."""
        return replace(self, url=self.url + suffix)

    def inside(self, name: str) -> HdfsLocation:
        """Return a file of this folder."""
        return replace(self, url=f"{self.url.rstrip('/')}/{name}")

    def _status(self) -> Any:
        return self._asked(lambda: self.client.get_file_info(self.hdfs_path))

    def _asked(self, call: Callable[[], T]) -> T:
        return asked(self.url, call)

    def exists(self) -> bool:
        """Tell whether there is such a file or folder."""
        try:
            self._status()
        except FileNotFoundError:
            return False
        return True

    def is_folder(self) -> bool:
        """Tell whether it is a folder."""
        try:
            return bool(self._status().isdir)
        except FileNotFoundError:
            return False

    def stamp(self) -> tuple[Any, ...]:
        """Return its size and time of change."""
        found = self._status()
        if found.isdir:
            raise IsADirectoryError(self.url)
        return found.length, found.modification_time

    def hosts(self, start: int, stop: int, stamp: tuple[Any, ...] = ()) -> list[str]:
        """Return the DataNodes that hold most of some bytes."""
        stamp = stamp or self.stamp()
        for address in http_addresses(_parts(self.url)[0], dict(self.settings)):
            blocks = block_locations(address, self.hdfs_path, self.user, stamp)
            if blocks:
                return ranked(blocks, start, stop)
        return []

    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return an object that reads at an offset."""
        return Source(self.url, self.client, self.hdfs_path, stamp)

    def read_bytes(self) -> bytes:
        """Return the whole content."""
        source = self.source()
        return bytes(source.read_at(0, source.nbytes))

    def write_bytes(self, data: bytes) -> None:
        """Write a small file, all of it or nothing."""
        self._replace(lambda file: file.write(data))

    def upload(self, path: str) -> None:
        """Write the file from one of this machine, all of it or nothing."""

        def copy(file: Any) -> None:
            with open(path, "rb") as local:
                while chunk := local.read(COPIED):
                    file.write(chunk)
                    _native.io.io_count(written=len(chunk))

        self._replace(copy)

    def _replace(self, write: Callable[[Any], Any]) -> None:
        """Write under another name, and then take the place of what is there."""
        if self.is_folder():
            raise IsADirectoryError(self.url)
        folder, _, name = self.hdfs_path.rpartition("/")
        part = self.at(f"{folder}/.{name}.{uuid.uuid4().hex[:12]}.part")
        try:
            part.put(write)
            part.move(self, overwrite=True)
        except BaseException:
            with contextlib.suppress(Exception):
                part.remove()
            raise

    def remove(self) -> None:
        """Remove the file, or the folder and what is in it, if it is there."""
        if self.exists():
            self._asked(lambda: self.client.delete(self.hdfs_path, True))

    def move(self, target: HdfsLocation, *, overwrite: bool = False) -> None:
        """Give it another name."""
        self._asked(lambda: self.client.rename(self.hdfs_path, target.hdfs_path, overwrite))

    def make_folder(self) -> None:
        """Make this folder and those above it."""
        self._asked(lambda: self.client.mkdirs(self.hdfs_path, 0o755, True))

    def names(self) -> list[str]:
        """Return the names of what is in this folder."""
        found = self._asked(lambda: list(self.client.list_status(self.hdfs_path, False)))
        return sorted(status.path.rsplit("/", 1)[-1] for status in found)

    def put(self, write: Callable[[Any], Any]) -> None:
        """Write the file from its beginning to its end; again, if a DataNode dies meanwhile."""
        options = hdfs_native().WriteOptions(overwrite=True, create_parent=True)

        def attempt() -> None:
            with self.client.create(self.hdfs_path, options) as file:
                write(file)

        self._asked(lambda: retried(attempt))
