"""Files in a SQLite database: ``sqlite:///data/files.db/runs/7.npy`` is ``runs/7.npy`` in it."""

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freestone.errors import UsageError
from freestone.io import FileLocation

TABLE = "CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, version INTEGER, content BLOB)"
REPLACE = """
INSERT INTO files VALUES (?, 1, ?)
ON CONFLICT (name) DO UPDATE SET version = version + 1, content = excluded.content
"""


@dataclass(frozen=True)
class SqliteLocation(FileLocation):
    """A file in a database. It is only a URL, so that any process can use it."""

    @property
    def _parts(self) -> tuple[str, str]:
        database, sign, name = self.url.removeprefix("sqlite://").partition(".db/")
        if not sign or not name:
            raise UsageError(f"{self.url} names no file; write sqlite:///FOLDER/NAME.db/FILE")
        return f"{database}.db", name

    @contextlib.contextmanager
    def _table(self) -> Iterator[tuple[sqlite3.Connection, str]]:
        database, name = self._parts
        with contextlib.closing(sqlite3.connect(database, timeout=60)) as connection, connection:
            connection.execute(TABLE)
            yield connection, name

    def ask(self, question: str, *values: Any) -> Any:
        """Return what a column, or expression, is for this file; None if there is no such file."""
        with self._table() as (table, name):
            found = table.execute(f"SELECT {question} FROM files WHERE name = ?", (*values, name))
            return found.fetchone()

    def beside(self, suffix: str) -> FileLocation:
        """Return the file whose name has something added."""
        return SqliteLocation(self.url + suffix)

    def exists(self) -> bool:
        """Tell whether there is such a file."""
        return self.ask("1") is not None

    def stamp(self) -> tuple[Any, ...]:
        """Return its size, and the number of its version."""
        found = self.ask("length(content), version")
        if found is None:
            raise FileNotFoundError(self.url)
        return tuple(found)

    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return what reads it at an offset."""
        return Source(self)

    def read_bytes(self) -> bytes:
        """Return the whole content."""
        found = self.ask("content")
        if found is None:
            raise FileNotFoundError(self.url)
        return bytes(found[0])

    def write_bytes(self, data: bytes) -> None:
        """Write the file, all of it or nothing: a transaction."""
        with self._table() as (table, name):
            table.execute(REPLACE, (name, data))

    def upload(self, path: str) -> None:
        """Write the file from one of this machine: a row has no offsets to write at."""
        self.write_bytes(Path(path).read_bytes())

    def remove(self) -> None:
        """Remove the file if it is there."""
        with self._table() as (table, name):
            table.execute("DELETE FROM files WHERE name = ?", (name,))


@dataclass(frozen=True)
class Source:
    """Reads a file of a database at an offset."""

    location: SqliteLocation

    @property
    def nbytes(self) -> int:
        """Bytes of the file, for libraries that ask."""
        return int(self.location.stamp()[0])

    def read_at(self, offset: int, nbytes: int) -> bytes:
        """Return at most so many bytes from an offset on; none at the end."""
        found = self.location.ask("substr(content, ?, ?)", offset + 1, nbytes)
        return b"" if found is None else bytes(found[0])
