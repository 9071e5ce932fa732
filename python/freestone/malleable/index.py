"""The index at the end of a file of a job's state, which C, C++ and Fortran write and read, too.

Lines of text, so that any language reads them::

    freestone-state 2
    step 40
    ranks 4
    saved 1764310000.25
    data 78 variable 1000 rows -
    part 8 8000 4096
    chunk 0 8000 3735928559

Data has a name (the hexadecimal digits of its UTF-8), a kind, rows, a form, and a tag, which data
shares whose rows were replaced together. Each part of it has the bytes of a row (or ``-``, if rows
differ), all bytes, and where they begin in the file; its chunks have their first byte, the one
behind their last, and the CRC-32 of what is between. An ``edge`` is a row and the elements before
it, of data whose rows differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["Entry", "Index", "Piece"]

_FIRST = "freestone-state 2"
_MAX = 1 << 63


@dataclass
class Piece:
    """Bytes of one part of data.

    Attributes
    ----------
    row_nbytes : int or None
        Those of each row, if all have the same number.
    nbytes : int
        All.
    offset : int
        Where they begin in the file.
    chunks : array of shape (n, 3)
        By chunk, its first byte, the one behind its last, and the checksum.
    """

    row_nbytes: int | None
    nbytes: int
    offset: int
    chunks: npt.NDArray[np.int64]


@dataclass
class Entry:
    """Data of one name.

    Attributes
    ----------
    kind : str
        ``constant``, ``variable`` or ``replicated``.
    rows : int
        Of all ranks; 1 of replicated data.
    form : str
        ``rows`` of bytes, ``csr`` matrices, what functions of a program have ``packed``, or a value
        that only ``python`` reads.
    tag : str
        What data has in common whose rows were replaced together.
    pieces : list of Piece
        Of which it is made.
    edges : dict of int to int
        The elements before some rows.
    """

    name: str
    kind: str
    rows: int
    form: str
    tag: str
    pieces: list[Piece] = field(default_factory=list)
    edges: dict[int, int] = field(default_factory=dict)


@dataclass
class Index:
    """What is in a file."""

    step: int
    ranks: int
    saved_s: float
    entries: list[Entry]

    def text(self) -> str:
        """Return the lines."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield _FIRST
        yield f"step {self.step}"
        yield f"ranks {self.ranks}"
        yield f"saved {self.saved_s!r}"
        for entry in self.entries:
            tag = _hex(entry.tag)
            yield f"data {_hex(entry.name)} {entry.kind} {entry.rows} {entry.form} {tag}"
            for piece in entry.pieces:
                each = "-" if piece.row_nbytes is None else piece.row_nbytes
                yield f"part {each} {piece.nbytes} {piece.offset}"
                for first, last, checksum in piece.chunks.tolist():
                    yield f"chunk {first} {last} {checksum}"
            for row, elements in sorted(entry.edges.items()):
                yield f"edge {row} {elements}"

    @classmethod
    def parse(cls, text: str) -> Index:
        """Return what lines say.

        Raises
        ------
        ValueError
            If they are no index.
        """
        lines = text.splitlines()
        heads = [line.split(" ") for line in lines[1:4]]
        if lines[:1] != [_FIRST] or [head[0] for head in heads] != ["step", "ranks", "saved"]:
            raise ValueError(f"an index begins with {_FIRST!r}, and not with {lines[:4]!r}")
        (_, step), (_, ranks), (_, saved) = heads
        index = cls(_number(step, -_MAX), _number(ranks), float(saved), [])
        chunks: list[list[list[int]]] = []
        for line in lines[4:]:
            word, *rest = line.split(" ")
            if word == "data":
                name, kind, rows, form, tag = rest
                index.entries.append(Entry(_text(name), kind, _number(rows), form, _text(tag)))
                continue
            entry = index.entries[-1] if index.entries else Entry("", "", 0, "", "")
            if word == "part":
                each, nbytes, offset = rest
                row_nbytes = None if each == "-" else _number(each)
                chunks.append([])
                none = np.empty((0, 3), np.int64)
                entry.pieces.append(Piece(row_nbytes, _number(nbytes), _number(offset), none))
            elif word == "chunk" and entry.pieces:
                first, last, checksum = map(_number, rest)
                chunks[-1].append([first, last, checksum])
            elif word == "edge":
                row, elements = rest
                entry.edges[_number(row)] = _number(elements)
            else:
                raise ValueError(f"{line!r} is no line of an index")
        pieces = (piece for entry in index.entries for piece in entry.pieces)
        for piece, found in zip(pieces, chunks, strict=True):
            piece.chunks = np.array(found, np.int64).reshape(-1, 3)
        return index


def _hex(text: str) -> str:
    return text.encode().hex() or "-"


def _text(digits: str) -> str:
    return "" if digits == "-" else bytes.fromhex(digits).decode()


def _number(text: str, least: int = 0) -> int:
    number = int(text)
    if not least <= number < _MAX:
        raise ValueError(f"{text} is not between {least} and {_MAX}")
    return number
