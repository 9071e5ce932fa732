"""Words that code, documentation and commit messages do not use, and what to write instead.

`python -m tests.architecture.words` lists where there are any in code and documentation.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.architecture.repository import ROOT, git, tracked

CODE = {".c", ".h", ".py", ".pyi", ".rs", ".sh"}
# They hold the words, to refuse them.
OWN = {"words.py", "test_words.py"}
PHRASES = {
    "truths": ("truths", "booleans"),
    "compressed rows": (r"compressed\s+rows", "CSR"),
    "cells with their places": (r"cells\s+with\s+their\s+places", "COO"),
    "settle": (r"settl(?:e|es|ed|ing)", "fulfil, flush, adopt or decide"),
    "newcomer": ("newcomers?", "joining worker, joining rank"),
    "comeback": ("comebacks?", "reconnect"),
    "crew": ("crews?", "membership, group"),
    "as good as new": (r"as\s+good\s+as\s+new", "what is reset, and when"),
}
"""Refused wherever they stand: in text, and as parts of names."""

NAMES = {
    "told": ("told", "reported"),
    "said": ("said", "reported"),
    "brought": ("brought", "adopted"),
    "lent": ("lent", "shared"),
    "loose": ("loose", "dirty, unreferenced"),
    "fresh": ("fresh", "newly ready, new"),
    "desk": ("desks?", "service-time model"),
    "gathers": ("gathers", "client pins"),
    "passage": ("passages?", "transfer"),
    "seat": ("seats?", "slot"),
}
"""Refused as parts of names in code; in a sentence they are ordinary English."""

NAMES_WITHIN = {
    "kinds": ("kinds", "resource shapes", ("crates/core/",)),
    "turned": ("turned", "transposed", ("crates/vector/", "python/freestone/lang/")),
}
"""Refused as parts of names in some folders, where they have a term of the field."""

CONSTANTS = {
    "MOST_": (r"\b(?:MOST|LEAST)_[A-Z]\w*", "MAX_..., MIN_..."),
    "PATIENCE_S": (
        r"\b\w*(?:PATIENCE|FAREWELL)(?:_N?S)?\b|\b(?:\w*_)?(?:NAP|LOOK)_N?S\b",
        "..._TIMEOUT_S, ..._POLL_INTERVAL_S",
    ),
}
"""Refused as names of constants."""

TYPES = (
    r"\b(?:class|struct|enum|trait|type)\s+(?:Passage|Seat|Site|Bench|Home|Place)\b",
    "a name of its own for each type (transfer, slot, endpoint, location)",
)
"""Several types of one name, with a meaning each."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PYTHON_TEXT = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'|#[^\n]*", re.DOTALL
)
_OTHER_TEXT = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'" + r'|r#".*?"#|"(?:\\.|[^"\\])*"', re.DOTALL
)
_MARKDOWN_CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)\n]*\)", re.MULTILINE | re.DOTALL)


class Refused:
    """Words that are looked for together.

    Parameters
    ----------
    words : mapping of str to tuple
        For each word its regular expression, what to write instead and, if it is refused in some
        folders only, those.
    """

    def __init__(self, words: Mapping[str, tuple[Any, ...]], *, names: bool = False) -> None:
        self._words = list(words)
        self._within = [word[2] if len(word) > 2 else ("",) for word in words.values()]
        any_of = "|".join(f"({word[0]})" for word in words.values())
        self._pattern = re.compile(any_of if names else rf"\b(?:{any_of})\b", 0 if names else re.I)

    def find(self, text: str, path: str = "") -> Iterator[tuple[int, str]]:
        """Yield how many lines are before it, and the word, for each one in `text`."""
        for match in self._pattern.finditer(text):
            index = (match.lastindex or 0) - 1
            if path.startswith(self._within[index]):
                yield text.count("\n", 0, match.start()), self._words[index]


IN_PROSE = Refused(PHRASES)
IN_NAMES = Refused({**NAMES, **NAMES_WITHIN})
AS_NAMES = Refused({**CONSTANTS, "types": TYPES}, names=True)
INSTEAD = {
    word: entry[1]
    for words in (PHRASES, NAMES, NAMES_WITHIN, CONSTANTS, {"types": TYPES})
    for word, entry in words.items()
}


def parts(text: str) -> str:
    """Return `text` with the parts of each name as words of their own, line by line."""
    return _CAMEL.sub(" ", text).replace("_", " ")


def _blank(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


def names(text: str, path: str) -> str:
    """Return code without comments, docstrings and literal texts."""
    return (_PYTHON_TEXT if path.endswith((".py", ".pyi")) else _OTHER_TEXT).sub(_blank, text)


def in_prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and word for each refused word of a text in Markdown or a commit message."""
    for before, word in IN_PROSE.find(_MARKDOWN_CODE.sub(_blank, text)):
        yield before + 1, word


def in_code(text: str, path: str) -> Iterator[tuple[int, str]]:
    """Yield line and word for each refused word of code; line 0 is the file's path."""
    whole = parts(f"{path}\n{text}")
    yield from IN_PROSE.find(whole)
    if any(IN_NAMES.find(whole, path)):
        yield from IN_NAMES.find(parts(f"{path}\n{names(text, path)}"), path)
    yield from AS_NAMES.find(f"\n{text}")


def code() -> Iterator[str]:
    """Yield a line for each refused word in the repository's code."""
    for path in tracked():
        if path.suffix in CODE and path.name not in OWN:
            relative = path.relative_to(ROOT).as_posix()
            for line, word in in_code(path.read_text(encoding="utf-8"), relative):
                yield f"{relative}:{line}: {word!r}: write {INSTEAD[word]}"


def documents() -> Iterator[str]:
    """Yield a line for each refused word in the repository's documentation."""
    for path in tracked():
        if path.suffix == ".md":
            for line, word in in_prose(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(ROOT)}:{line}: {word!r}: write {INSTEAD[word]}"


def messages(folder: Path = ROOT, here: str = "tests/architecture/words.py") -> list[str]:
    """Return the messages of commits that build on the one that brought this check.

    That commit is found by the file, not by its hash, which changes when history is rewritten. In a
    shallow clone it is the oldest commit that is there.
    """
    added = git("log", "--diff-filter=A", "--format=%H", "--", here, folder=folder).split()
    if not added:
        return []
    since = f"{added[-1]}..HEAD"
    listed = git("log", "--ancestry-path", "--format=%B%x00", since, folder=folder)
    return [message.strip() for message in listed.split("\0") if message.strip()]


def commits(written: Iterable[str]) -> Iterator[str]:
    """Yield a line for each refused word in messages of commits."""
    for message in written:
        for _, word in in_prose(message):
            yield f"{message.splitlines()[0]!r} has {word!r}: write {INSTEAD[word]}"


if __name__ == "__main__":
    sys.exit("\n".join([*code(), *documents()]))
