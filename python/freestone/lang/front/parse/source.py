"""A script's text, and places in it."""

from __future__ import annotations

import bisect
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from freestone.errors.lang import ScriptError, ScriptSyntaxError

E = TypeVar("E", bound=ScriptError)


@dataclass(frozen=True, eq=False)
class Source:
    """The text of a script.

    Parameters
    ----------
    text : str
        All of it.
    file : str
        The name that messages give it.
    first : int
        The number of the first line.
    """

    text: str
    file: str
    first: int = 1
    starts: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # What many editors put before a text to say that it is UTF-8.
        object.__setattr__(self, "text", self.text.removeprefix("\ufeff"))
        starts = [0, *(at + 1 for at, letter in enumerate(self.text) if letter == "\n")]
        object.__setattr__(self, "starts", starts)

    def place(self, offset: int) -> Location:
        """Return the place of the letter at `offset`."""
        return Location(self, offset)


def read_source(path: Path, name: str | None = None) -> Source:
    """Read the text of a script from a file; messages give it its path, or a name.

    Raises
    ------
    ScriptSyntaxError
        If it can't be read, or is no text.
    """
    name = name or str(path)
    try:
        return Source(path.read_text(encoding="utf-8"), name)
    except UnicodeDecodeError as error:
        problem = (
            f"{name} is no text in UTF-8: byte {error.start} is {error.object[error.start]:#x}"
        )
        raise failure(ScriptSyntaxError, problem) from None
    except OSError as error:
        raise failure(ScriptSyntaxError, f"{name} can't be read: {error.strerror}") from None


@dataclass(frozen=True, slots=True, eq=False)
class Location:
    """A letter of a source; lines and columns count from 1."""

    source: Source
    offset: int

    @property
    def line(self) -> int:
        """The line."""
        return bisect.bisect_right(self.source.starts, self.offset) + self.source.first - 1

    @property
    def column(self) -> int:
        """The column."""
        return self.offset - self._begin + 1

    @property
    def text(self) -> str:
        """The whole line."""
        begin = self._begin
        end = self.source.text.find("\n", begin)
        return self.source.text[begin:] if end < 0 else self.source.text[begin:end]

    @property
    def _begin(self) -> int:
        return self.source.starts[self.line - self.source.first]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the line alone: where it goes, nobody needs the rest of the script."""
        return _placed, (self.text, self.source.file, self.line, self.column - 1)

    def __str__(self) -> str:
        """Give ``file:line:column``."""
        return f"{self.source.file}:{self.line}:{self.column}"


def _placed(text: str, file: str, line: int, offset: int) -> Location:
    return Location(Source(text, file, line), offset)


def unexpected(error: Exception) -> str:
    """Describe an error of freestone's own, or of a user's kernel."""
    at = traceback.extract_tb(error.__traceback__)[-1:]
    where = "".join(f" in {Path(each.filename).name}:{each.lineno}" for each in at)
    reported = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"this failed inside of freestone, or of a kernel ({reported}{where})"


def failure(kind: type[E], problem: str, place: Location | None = None) -> E:
    """Make an error that shows its line with a caret.

    Parameters
    ----------
    kind : type
        Of the error.
    problem : str
        What is wrong, and what to try.
    place : Location, optional
        Where; None where there is no script.
    """
    if place is None:
        return kind(problem, problem=problem, file=None, line=None, column=None)
    # Tabs stay, so that the caret stands where the terminal puts the letter.
    blanks = "".join("\t" if letter == "\t" else " " for letter in place.text[: place.column - 1])
    message = f"{problem}\n{place}\n{place.text}\n{blanks}^"
    return kind(
        message, problem=problem, file=place.source.file, line=place.line, column=place.column
    )
