"""HDFS, by the client of hdfs-native: no JVM, no Hadoop install.

A file is written from its beginning to its end by one writer, so what many write is a folder of
segments; see `freestone.io.segments`. Kerberos and high availability are configured as Hadoop is:
by the files in ``HADOOP_CONF_DIR``, and by ``KRB5CCNAME`` or a keytab.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from freestone import _native
from freestone.errors import FileError, UsageError
from freestone.io.stores.place import Place
from freestone.io.stores.webhdfs import block_locations, http_addresses, ranked

__all__ = ["HdfsPlace"]

T = TypeVar("T")
# A DataNode that died is handed out by the NameNode until it misses its heartbeats.
RETRIED_S, FIRST_WAIT_S = 60.0, 0.5
COPIED = 4 << 20
# Reads from so many bytes on bring a whole window; smaller ones look at one place only.
AHEAD_FROM, WINDOW, KEPT = 128 << 10, 4 << 20, 4
ADDRESS = "HDFS_ADDRESS"
# How the client tells what happened: it has no types for it.
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


def _hdfs_native() -> Any:
    try:
        import hdfs_native
    except ImportError as error:
        raise UsageError("hdfs:// needs hdfs-native; pip install 'freestone[hdfs]'") from error
    return hdfs_native


# What configures the client: where Hadoop's files are, among them those of high availability, and
# where Kerberos's tickets, keys and Hadoop's tokens are.
SETTINGS = (
    "HADOOP_CONF_DIR",
    "HADOOP_HOME",
    "HADOOP_TOKEN_FILE_LOCATION",
    "KRB5_CONFIG",
    "KRB5CCNAME",
    "KRB5_CLIENT_KTNAME",
)
Settings = tuple[tuple[str, str], ...]


@functools.lru_cache(maxsize=16)
def client(server: str, user: str | None, settings: Settings, process: int) -> Any:
    """Return this process's client of a server, such as ``hdfs://host:port``."""
    os.environ.update(settings)
    if user is not None:
        os.environ["HADOOP_USER_NAME"] = user
    return _hdfs_native().Client(server or None)


@dataclass(frozen=True)
class HdfsPlace(Place):
    """A file or folder in HDFS.

    Attributes
    ----------
    user : str or None
        Who reads and writes; by default who ``HADOOP_USER_NAME`` or the login says.
    settings : tuple of (str, str)
        Variables of the environment that configure Hadoop and Kerberos.
    """

    user: str | None = None
    settings: Settings = ()

    @classmethod
    def of(cls, url: str) -> HdfsPlace:
        """Return the file of a URL, of which server, user and settings are this process's.

        Workers get them with it: they may have been started before any was set.
        """
        parts = urlsplit(url)
        server = parts.netloc or os.environ.get(ADDRESS, "")
        settings = tuple((name, os.environ[name]) for name in SETTINGS if name in os.environ)
        return cls(f"hdfs://{server}{parts.path}", os.environ.get("HADOOP_USER_NAME"), settings)

    @property
    def _server(self) -> str:
        server = urlsplit(self.url).netloc
        return f"hdfs://{server}" if server else ""

    @property
    def hdfs_path(self) -> str:
        """The path inside of HDFS."""
        return urlsplit(self.url).path or "/"

    @property
    def client(self) -> Any:
        """The client of this process."""
        return client(self._server, self.user, self.settings, os.getpid())

    def at(self, path: str) -> HdfsPlace:
        """Return another file of the same server."""
        return replace(self, url=f"{self._server or 'hdfs://'}{path}")

    def beside(self, suffix: str) -> HdfsPlace:
        """Return the file whose name has something added."""
        return replace(self, url=self.url + suffix)

    def inside(self, name: str) -> HdfsPlace:
        """Return a file of this folder."""
        return replace(self, url=f"{self.url.rstrip('/')}/{name}")

    def _status(self) -> Any:
        return self._asked(lambda: self.client.get_file_info(self.hdfs_path))

    def _asked(self, call: Callable[[], T]) -> T:
        """Call the client; give its errors the kinds that Python has."""
        try:
            return call()
        except (FileNotFoundError, PermissionError):
            raise
        except Exception as error:
            said = str(error)
            if "FileNotFound" in said or "File not found" in said:
                raise FileNotFoundError(self.url) from error
            if "AccessControl" in said or "Permission denied" in said:
                raise PermissionError(self.url) from error
            raise FileError(self.url, f"can't be used: HDFS says {said!r}") from error

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
        for address in http_addresses(urlsplit(self.url).netloc, dict(self.settings)):
            blocks = block_locations(address, self.hdfs_path, self.user, stamp)
            if blocks:
                return ranked(blocks, start, stop)
        return []

    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return an object that reads at an offset."""
        return Source(self, stamp)

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
                    _native.io_count(written=len(chunk))

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

    def move(self, target: HdfsPlace, *, overwrite: bool = False) -> None:
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
        options = _hdfs_native().WriteOptions(overwrite=True, create_parent=True)

        def attempt() -> None:
            with self.client.create(self.hdfs_path, options) as file:
                write(file)

        self._asked(lambda: retried(attempt))


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


@functools.lru_cache(maxsize=256)
def reader(client: Any, path: str, stamp: tuple[Any, ...]) -> Any:
    """Return the client's reader of a version of a file: it knows where the blocks are."""
    return retried(lambda: client.read(path))


class Source:
    """Reads a file at an offset.

    Each call of the client asks a DataNode anew, so what follows a read of a middle size is read
    with it and kept: `KEPT` windows of `WINDOW` bytes.

    Parameters
    ----------
    place
        The file.
    stamp
        The version that is meant, if the caller knows: for all its reads in this process the
        NameNode is asked once where its blocks are, and again when a read fails.
    """

    def __init__(self, place: HdfsPlace, stamp: tuple[Any, ...] = ()) -> None:
        self._place = place
        client, path = place.client, place.hdfs_path
        if stamp:
            self._reader = place._asked(lambda: reader(client, path, stamp))
        else:
            self._renew()
        self.nbytes = len(self._reader)
        self._windows: tuple[tuple[int, bytes], ...] = ()

    def _renew(self) -> None:
        """Ask where the blocks are."""
        place = self._place
        self._reader = place._asked(lambda: retried(lambda: place.client.read(place.hdfs_path)))

    def read_at(self, offset: int, nbytes: int) -> bytes | memoryview:
        """Return at most so many bytes from an offset on; none at the end."""
        count = max(min(nbytes, self.nbytes - offset), 0)
        if not count:
            return b""
        for start, window in self._windows:
            if start <= offset and offset + count <= start + len(window):
                return memoryview(window)[offset - start :][:count]
        if not AHEAD_FROM <= count < WINDOW:
            return self._read(offset, count)
        found = self._read(offset, min(WINDOW, self.nbytes - offset))
        # Replaced as a whole: threads that read at once at most lose a window.
        self._windows = ((offset, found), *self._windows[: KEPT - 1])
        return memoryview(found)[:count]

    def read_into(self, offset: int, view: memoryview) -> int:
        """Fill memory from an offset on; how many bytes there were.

        The client hands out a packet at a time, which is still in the processor's cache when it is
        copied: a range as a whole would be put together in memory of its own first. A read that
        breaks off goes on where it was.
        """
        wanted = max(min(len(view), self.nbytes - offset), 0)
        filled = 0

        def attempt() -> None:
            nonlocal filled
            if filled == wanted:
                return
            for packet in self._reader.read_range_stream(offset + filled, wanted - filled):
                view[filled : filled + len(packet)] = packet
                filled += len(packet)
                _native.io_count(read=len(packet))

        self._again(attempt)
        return filled

    def _read(self, offset: int, count: int) -> bytes:
        found = self._again(lambda: self._reader.read_range(offset, count))
        _native.io_count(read=len(found))
        return bytes(found)

    def _again(self, call: Callable[[], T]) -> T:
        """Call; once more if it fails, when the NameNode has said anew where the blocks are."""
        place = self._place
        try:
            return call()
        except Exception:
            self._renew()
        return place._asked(lambda: retried(call))
