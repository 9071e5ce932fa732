"""The file of a job's state: all registered data by rows, and how far the program has come.

Each rank writes the rows that it has, at their places, and reads those that it is to have, so any
number of ranks reads what any other wrote. The file gets its name when all of it is on the disk.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import stat
import struct
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from freestone.errors import FileError, SavedStateError
from freestone.malleable import together
from freestone.malleable.arrays import Array, Description, Kind
from freestone.malleable.index import Entry, Index, Piece
from freestone.malleable.parts import Form, Part
from freestone.malleable.path import Path as Way
from freestone.malleable.progress import Progress
from freestone.malleable.replicas import unpicklable
from freestone.malleable.values import plain_bytes
from freestone.replacing import kind, replaceable

__all__ = ["MAGIC", "TRAILER", "Contents", "Saved", "State", "remove", "write"]

MAGIC = b"FSSTATE2"
# Where the index begins, its bytes, those of what only Python reads, and their checksum.
TRAILER = struct.Struct("<QQQI8s")
_ALIGNMENT = 4096
# What a checksum covers: a rank that needs a row reads all of its chunk.
_CHUNK_NBYTES = 4 << 20
_WHAT = "saving the state"


@dataclass(frozen=True)
class Saved:
    """A state that was saved, or could not be.

    Attributes
    ----------
    step : int
        Steps done by then.
    path : str
        The file.
    nbytes : int
        Its size.
    seconds : float
        For which the job waited.
    error : str
        Why the file that was there before is still there, or nothing.
    """

    step: int
    path: str
    nbytes: int = 0
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True)
class Contents:
    """All of a file but the rows.

    Attributes
    ----------
    way : Way
        How the program gets to the step.
    progress : Progress
        The step.
    values : dict of str to object
        Of what all ranks have alike.
    arrays : tuple of Description
        What is registered.
    """

    way: Way
    progress: Progress
    values: dict[str, Any]
    arrays: tuple[Description, ...]


def write(
    path: Path,
    comm: Any,
    arrays: Mapping[str, Array],
    state: tuple[Way, Progress, dict[str, Any]],
    timeout_s: float,
) -> tuple[int, str]:
    """Write the state of a job; all ranks call it together.

    Parameters
    ----------
    path : Path
        The file, which is replaced once the new one is whole and on the disk. Links are followed;
        what is there and is no file stays.
    comm : mpi4py communicator
        Of all ranks.
    arrays : mapping of str to Array
        With the rows of this rank.
    state : tuple
        The way, the progress and the values, as rank 0 has them.
    timeout_s : float
        How long a wait for the others may take.

    Returns
    -------
    int, str
        The bytes of the file, and why it was not written, if so; the same on all ranks.
    """
    offsets, end = _offsets(arrays)
    places: list[Path] = []

    def begin() -> None:
        places.extend(_places(path))
        _make(places[1], end)

    problem = _tried(begin) if comm.rank == 0 else ""
    problem, places = together.tell(comm, (problem, places), timeout_s, _WHAT)
    if problem:
        return 0, problem
    target, part = places
    chunks: dict[str, list[list[tuple[int, int, int]]]] = {}
    mine = _tried(lambda: chunks.update(_write_rows(part, arrays, offsets)))
    edges = {name: array.edges() for name, array in arrays.items() if array.form.is_ragged}
    # The longest wait: others may have more to write, to a disk that is slow.
    found = together.gather_all(comm, (mine, chunks, edges), float("inf"), _WHAT)
    problem = next((f"rank {rank}: {text}" for rank, (text, *_) in enumerate(found) if text), "")
    nbytes = 0
    if comm.rank == 0 and not problem:
        entries = [
            _entry(
                array,
                offsets[name],
                _in_order([theirs[name] for _, theirs, _ in found]),
                dict(e for *_, theirs in found for e in theirs.get(name, {}).items()),
            )
            for name, array in arrays.items()
        ]
        index = Index(state[1].done, comm.size, time.time(), entries)
        contents = Contents(*state, tuple(array.description for array in arrays.values()))
        written: list[int] = []
        problem = _tried(lambda: written.append(_complete(part, target, end, index, contents)))
        # Values are pickled once more only to name the one that can't be.
        problem = problem and (unpicklable(contents.values) or problem)
        nbytes = sum(written)
    if comm.rank == 0 and problem:
        part.unlink(missing_ok=True)
    nbytes, problem = together.tell(comm, (nbytes, problem), timeout_s, _WHAT)
    return nbytes, problem


def _entry(
    array: Array,
    offsets: tuple[int, ...],
    chunks: tuple[npt.NDArray[np.int64], ...],
    edges: dict[int, int],
) -> Entry:
    pieces = [
        Piece(None if p.per_row is None else p.per_row * p.itemsize, p.nbytes, offset, its)
        for p, offset, its in zip(array.form.parts, offsets, chunks, strict=True)
    ]
    form = "csr" if array.form.is_ragged else "rows"
    return Entry(array.name, array.kind, array.rows, form, array.replaced, pieces, edges)


def remove(path: Path) -> None:
    """Remove a file of a job that has ended, and what a killed one left beside it."""
    for each in (path, _unfinished(path)):
        # Nobody wrote a state into something else.
        if each.is_file() and not each.is_symlink():
            each.unlink(missing_ok=True)


class State:
    """A file that was written before, open to be read.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    SavedStateError
        If it is none of a job's state, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            mode = path.stat().st_mode
            if not stat.S_ISREG(mode):
                # A pipe would keep its reader waiting for a writer.
                raise self._damage(f"is a {kind(mode)}, and no file")
            with path.open("rb") as file:
                nbytes = os.fstat(file.fileno()).st_size
                file.seek(max(0, nbytes - TRAILER.size))
                trailer = file.read()
                if len(trailer) < TRAILER.size or trailer[-len(MAGIC) :] != MAGIC:
                    raise self._damage("does not end as the state of a job of this version does")
                start, text_nbytes, packed_nbytes, checksum, _ = TRAILER.unpack(trailer)
                if max(start, text_nbytes, packed_nbytes) > nbytes:
                    raise self._damage("is damaged at its end")
                file.seek(start)
                end = file.read(text_nbytes + packed_nbytes)
        except OSError as error:
            raise self._damage(f"can't be read ({error})") from None
        if zlib.crc32(end) != checksum:
            raise self._damage("is damaged at its end")
        try:
            self.index = Index.parse(end[:text_nbytes].decode())
        except ValueError as error:
            raise self._damage(f"can't be read ({error})") from None
        pieces = (piece for entry in self.index.entries for piece in entry.pieces)
        if any(piece.offset + piece.nbytes > nbytes for piece in pieces):
            raise self._damage("is damaged at its end")
        self._entries = {entry.name: entry for entry in self.index.entries}
        self.is_of_python = packed_nbytes > 0
        self.contents = pickle.loads(end[text_nbytes:]) if self.is_of_python else self._contents()

    def _contents(self) -> Contents:
        """Return what there is of a file that a program in C, C++ or Fortran has written."""
        arrays, values = [], {}
        for entry in self.index.entries:
            if entry.form != "rows":
                problem = f"has {entry.name!r}, which functions of a program in C have packed"
                raise self._damage(problem)
            (piece,) = entry.pieces
            if entry.kind == "replicated":
                values[entry.name] = np.empty(piece.nbytes, np.uint8)
                with self._path.open("rb") as file:
                    self._read(file.fileno(), entry.name, 0, values[entry.name], 0)
                continue
            row_nbytes = piece.row_nbytes or 0
            part = Part(np.dtype(np.uint8), row_nbytes, piece.nbytes)
            form = Form("dense", entry.rows, (row_nbytes,), (part,))
            same = sorted(e.name for e in self.index.entries if entry.tag and e.tag == entry.tag)
            kind: Kind = "constant" if entry.kind == "constant" else "variable"
            arrays.append(Description(entry.name, kind, form, False, "+".join(same)))
        names = tuple(self._entries)
        progress = Progress(index=self.index.step, done=self.index.step)
        return Contents(Way(0, names, ()), progress, values, tuple(arrays))

    def elements(self, array: Array, runs: Iterable[tuple[int, int]]) -> dict[int, int]:
        """Return the elements where runs of rows of an array begin and end, if it is a matrix."""
        if not array.form.is_ragged:
            return {}
        rows = {row for run in runs for row in run}
        return {row: self._elements_before(array.name, row) for row in rows}

    def fill(self, array: Array) -> None:
        """Read the rows that an array has on this rank."""
        with self._path.open("rb") as file:
            for index in range(len(array.form.parts)):
                for first, values in array.pieces(index):
                    self._read(file.fileno(), array.name, index, values, first)

    def _elements_before(self, name: str, row: int) -> int:
        edges, (piece, *_) = self._entries[name].edges, self._entries[name].pieces
        edge = max(known for known in edges if known <= row)
        lengths = np.empty(row - edge, f"i{piece.row_nbytes}")
        with self._path.open("rb") as file:
            self._read(file.fileno(), name, 0, lengths.view(np.uint8), edge * lengths.itemsize)
        return edges[edge] + int(lengths.sum())

    def _read(
        self, file: int, name: str, index: int, into: npt.NDArray[np.uint8], first: int
    ) -> None:
        """Read a part's bytes from `first` on, and check all chunks that they are of."""
        piece = self._entries[name].pieces[index]
        done, last = first, first + into.nbytes
        begin = int(np.searchsorted(piece.chunks[:, 1], first, "right"))
        for chunk_first, chunk_last, checksum in piece.chunks[begin:].tolist():
            if done == last:
                break
            nbytes = chunk_last - chunk_first
            is_next = chunk_first <= done and 0 < nbytes <= _CHUNK_NBYTES
            found = os.pread(file, nbytes, piece.offset + chunk_first) if is_next else b""
            if len(found) != nbytes or zlib.crc32(found) != checksum:
                where = f"bytes {chunk_first:,} to {chunk_last:,} of {name!r}"
                raise self._damage(f"is damaged in {where}")
            high = min(last, chunk_last)
            values = np.frombuffer(found, np.uint8)[done - chunk_first : high - chunk_first]
            into[done - first : high - first] = values
            done = high
        if done < last:
            raise self._damage(f"has no bytes {done:,} to {last:,} of {name!r}")

    def _damage(self, problem: str) -> SavedStateError:
        text = f"{self._path} {problem}; remove it to begin anew, or give another one"
        return SavedStateError(text, path=str(self._path))


def _offsets(arrays: Mapping[str, Array]) -> tuple[dict[str, tuple[int, ...]], int]:
    """Return where each part begins, and where the last one ends."""
    end, found = _ALIGNMENT, {}
    for name, array in arrays.items():
        starts = []
        for part in array.form.parts:
            starts.append(end)
            end += _aligned(part.nbytes)
        found[name] = tuple(starts)
    return found, end


def _aligned(nbytes: int) -> int:
    """Return the bytes that a part takes in the file, so that the next one begins at a page."""
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def _unfinished(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _places(path: Path) -> tuple[Path, Path]:
    """Return the file that is replaced, and the new one beside it until then."""
    target = Path(replaceable(path))
    part = _unfinished(target)
    with contextlib.suppress(FileNotFoundError):
        mode = part.lstat().st_mode
        if not stat.S_ISREG(mode):
            raise FileError(str(part), f"is a {kind(mode)}, and the new file needs its place")
    return target, part


def _make(part: Path, nbytes: int) -> None:
    with part.open("wb") as file:
        file.write(MAGIC)
        file.truncate(nbytes)


def _write_rows(
    path: Path, arrays: Mapping[str, Array], offsets: Mapping[str, tuple[int, ...]]
) -> dict[str, list[list[tuple[int, int, int]]]]:
    """Write this rank's rows; return the chunks of each part of each array."""
    found = {}
    with path.open("r+b", buffering=0) as file:
        for name, array in arrays.items():
            parts = zip(range(len(offsets[name])), offsets[name], strict=True)
            found[name] = [
                [
                    chunk
                    for first, values in array.pieces(index)
                    for chunk in _write_part(file.fileno(), values, first, offset)
                ]
                for index, offset in parts
            ]
        os.fsync(file.fileno())
    return found


def _write_part(
    file: int, values: npt.NDArray[np.uint8], first: int, offset: int
) -> list[tuple[int, int, int]]:
    chunks = []
    for start in range(0, values.nbytes, _CHUNK_NBYTES):
        chunk = values[start : start + _CHUNK_NBYTES].data
        done = 0
        while done < len(chunk):
            done += os.pwrite(file, chunk[done:], offset + first + start + done)
        chunks.append((first + start, first + start + len(chunk), zlib.crc32(chunk)))
    return chunks


def _in_order(
    theirs: list[list[list[tuple[int, int, int]]]],
) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the chunks of each part that all ranks have written."""
    parts = ([chunk for rank in theirs for chunk in rank[index]] for index in range(len(theirs[0])))
    return tuple(np.array(sorted(part), np.int64).reshape(-1, 3) for part in parts)


def _complete(part: Path, path: Path, start: int, index: Index, contents: Contents) -> int:
    with part.open("r+b") as file:
        for name, value in contents.values.items():
            index.entries.append(_write_value(file.fileno(), name, value, start))
            start += sum(_aligned(piece.nbytes) for piece in index.entries[-1].pieces)
        text, packed = index.text().encode(), pickle.dumps(contents)
        file.seek(start)
        file.write(text + packed)
        checksum = zlib.crc32(text + packed)
        file.write(TRAILER.pack(start, len(text), len(packed), checksum, MAGIC))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return start + len(text) + len(packed) + TRAILER.size


def _write_value(file: int, name: str, value: Any, start: int) -> Entry:
    """Write a value as other languages have it, if they can."""
    values = plain_bytes(value)
    if values is None:
        return Entry(name, "replicated", 1, "python", "")
    chunks = np.array(_write_part(file, values, 0, start), np.int64).reshape(-1, 3)
    piece = Piece(values.nbytes, values.nbytes, start, chunks)
    return Entry(name, "replicated", 1, "rows", "", [piece])


def _tried(action: Any) -> str:
    """Return why something can't be done, if it can't."""
    try:
        action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
