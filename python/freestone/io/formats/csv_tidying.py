"""Lines of a CSV file that are no rows, and cells that several blanks separate."""

from __future__ import annotations

import bisect
import functools
import os
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import FileChangedError, UsageError
from freestone.io.decoded import Content, DecodedLocation
from freestone.io.raw import read_values

__all__ = ["TidyLocation", "check_comment"]

PIECE_NBYTES = 8 << 20
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class TidyLocation(DecodedLocation):
    """A CSV file that is read without the lines that are no rows.

    Attributes
    ----------
    comment : str
        How lines begin that are left out; empty if none are.
    above : int
        So many lines at the top, of any form, become lines without a character.
    has_blanks : bool
        Whether lines without any character stay.
    is_padded : bool
        Whether several blanks stand for one, and those at the ends of lines for none.
    """

    comment: str = ""
    above: int = 0
    has_blanks: bool = True
    is_padded: bool = False

    def decoded(self, raw: bytes) -> Pieced:
        """Return the text that is left."""
        at = len(_MARK) if raw.startswith(_MARK) else 0
        start = _behind(raw, at, self.above)
        head = _line_ends(raw[at:start])
        parts, cuts, nbytes = [head], [(0, 0)], len(head)
        while start < len(raw):
            start, text = self._piece(raw, start)
            parts.append(text)
            nbytes += len(text)
            cuts.append((start, nbytes))
        found = Pieced(b"".join(parts))
        found.cuts = tuple(cuts)
        return found

    def cut(self, stamp: tuple[Any, ...]) -> TidyLocation:
        """Return the file as one of which parts are read without the rest.

        Itself, where it is small, or has to be decompressed or decoded as a whole.
        """
        if isinstance(self.location, DecodedLocation):
            return self
        cuts = getattr(self.source(stamp), "cuts", ())
        return CutLocation(**vars(self), cuts=cuts) if len(cuts) > 2 else self

    def _piece(self, raw: bytes, start: int) -> tuple[int, bytes]:
        """Return where a piece ends that begins with a row, and what is left of it."""
        nbytes = PIECE_NBYTES
        while True:
            stop = raw.find(b"\n", start + nbytes) + 1 or len(raw)
            text = self._tidied(raw[start:stop])
            # What is left has an odd number of quotes where the piece ends inside of them.
            if stop == len(raw) or text.count(b'"') % 2 == 0:
                return stop, text
            nbytes *= 2

    def _tidied(self, text: bytes) -> bytes:
        """Return what is left of whole rows."""
        if self.is_padded:
            return re.sub(rb"(?m)" + self._padded, _kept, text)
        if text and not text.endswith(b"\n"):
            text += b"\n"
        # With the line end before each, which searches find at once.
        left_out = []
        if self.comment:
            left_out.append(rb"[ \t]*" + re.escape(self.comment.encode()) + rb"[^\n]*")
        if not self.has_blanks:
            left_out.append(rb"\r?(?=\n)")
        if not left_out:
            return text
        lines = rb"\n(?:" + rb"|".join(left_out) + rb")"
        if b'"' in text:
            # What is in quotes stays, a line of it that looks like a comment, too.
            return re.sub(rb'("[^"]*")|' + lines, rb"\1", b"\n" + text)[1:]
        return re.sub(lines, b"", b"\n" + text)[1:]

    @property
    def _padded(self) -> bytes:
        """Quotes, what is left out, and blanks that become one."""
        left_out = [rb"^[ \t]+", rb"[ \t]+(?=\r?$)"]
        if self.comment:
            comment = re.escape(self.comment.encode())
            left_out.insert(0, rb"^[ \t]*" + comment + rb"[^\n]*(?:\n|\Z)")
        if not self.has_blanks:
            left_out.insert(0, rb"^\r?\n")
        return rb'("[^"]*")|' + b"|".join([*left_out, rb"([ \t]+)"])


@dataclass(frozen=True)
class CutLocation(TidyLocation):
    """A file of which each process reads the pieces that have the rows it wants.

    Attributes
    ----------
    cuts : tuple of (int, int)
        Where pieces begin and the last one ends, in the file and in what is left of it.
    """

    cuts: tuple[tuple[int, int], ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether parts of it are read without the rest."""
        return True

    def stamp(self) -> tuple[Any, ...]:
        """Return what tells its version; first how many bytes are left of it."""
        return self.cuts[-1][1], *self.location.stamp()

    def source(self, stamp: tuple[Any, ...] = ()) -> Any:
        """Return an object that reads at an offset."""
        return _Pieces(self, stamp or self.stamp())

    def read_piece(self, number: int, stamp: tuple[Any, ...]) -> bytes:
        """Return what is left of a piece."""
        (start, _), (stop, _) = self.cuts[number : number + 2]
        source = self.location.source(stamp[1:])
        raw = read_values(source, start, (stop - start,), np.dtype("u1")).tobytes()
        if number:
            return self._tidied(raw)
        raw = raw.removeprefix(_MARK)
        rows = _behind(raw, 0, self.above)
        return _line_ends(raw[:rows]) + self._tidied(raw[rows:])


class Pieced(Content):
    """The text of a file, and where its pieces begin."""

    cuts: tuple[tuple[int, int], ...]


class _Pieces:
    """Reads what is left of a file, of which it decodes the pieces that are asked for."""

    def __init__(self, location: CutLocation, stamp: tuple[Any, ...]) -> None:
        self.location, self.stamp = location, stamp
        self.starts = [start for _, start in location.cuts]
        self.nbytes = self.starts[-1]

    def read_at(self, offset: int, nbytes: int) -> bytes:
        """Return at most so many bytes from an offset on."""
        stop = min(offset + nbytes, self.nbytes)
        parts = []
        while offset < stop:
            # The last of those that begin there: a piece that is all comments has no bytes.
            number = bisect.bisect_right(self.starts, offset) - 1
            first = self.starts[number]
            part = _piece_of(self.location, number, self.stamp, os.getpid())[offset - first :]
            parts.append(part[: stop - offset])
            offset += len(parts[-1])
        return b"".join(parts)


@functools.lru_cache(maxsize=4)
def _piece_of(location: CutLocation, number: int, stamp: tuple[Any, ...], process: int) -> bytes:
    """Decode a piece; the last ones of this process are kept, for the blocks that share them."""
    found = location.read_piece(number, stamp)
    if len(found) != location.cuts[number + 1][1] - location.cuts[number][1]:
        raise FileChangedError(location.url, "a part of it is another one than when it was opened")
    return found


def _kept(found: re.Match[bytes]) -> bytes:
    return found[1] or (b" " if found[2] else b"")


def _line_ends(head: bytes) -> bytes:
    """Return lines that are skipped without what is in them, such as quotes without another."""
    return b"\n" * (head.count(b"\n") + bool(head and not head.endswith(b"\n")))


def _behind(text: bytes, at: int, lines: int) -> int:
    """Return where a line begins, so many behind a place."""
    for _ in range(lines):
        at = text.find(b"\n", at) + 1 or len(text)
    return at


def check_comment(comment: Any) -> str:
    """Return how comments begin.

    Raises
    ------
    UsageError
        When it is no such text.
    """
    if comment is None:
        return ""
    is_text = isinstance(comment, str) and comment.strip() == comment
    if not is_text or not comment or any(sign in comment for sign in '"\r\n'):
        raise UsageError(f"comment={comment!r}: it is how lines begin that are left out, as in '#'")
    return str(comment)
