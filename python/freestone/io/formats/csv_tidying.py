"""Lines of a CSV file that are no rows, and cells that several blanks separate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from freestone.errors import UsageError
from freestone.io.decoded import DecodedLocation

__all__ = ["TidyLocation", "check_comment"]

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

    def decoded(self, raw: bytes) -> bytes:
        """Return the text that is left."""
        head, text = _cut(raw.removeprefix(_MARK), self.above)
        head = b"\n" * (head.count(b"\n") + bool(head and not head.endswith(b"\n")))
        left_out, inside = [], rb"(?!)"
        if self.comment:
            left_out.append(rb"^[ \t]*" + re.escape(self.comment.encode()) + rb"[^\n]*(?:\n|\Z)")
        if not self.has_blanks:
            left_out.append(rb"^\r?\n")
        if self.is_padded:
            left_out += [rb"^[ \t]+", rb"[ \t]+(?=\r?$)"]
            inside = rb"[ \t]+"
        if not left_out:
            return head + text
        # What is in quotes stays, a line of it that looks like a comment, too.
        pattern = rb'("[^"]*")|' + b"|".join([*left_out, rb"(" + inside + rb")"])
        if b'"' not in text and not self.is_padded:
            return head + re.sub(rb"(?m)" + b"|".join(left_out), b"", text)
        return head + re.sub(rb"(?m)" + pattern, _kept, text)


def _kept(found: re.Match[bytes]) -> bytes:
    return found[1] or (b" " if found[2] else b"")


def _cut(text: bytes, lines: int) -> tuple[bytes, bytes]:
    """Cut off so many lines."""
    at = 0
    for _ in range(lines):
        at = text.find(b"\n", at) + 1 or len(text)
    return text[:at], text[at:]


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
