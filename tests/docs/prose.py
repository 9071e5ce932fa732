"""Whether pages are easy to read: `python -m tests.docs.prose [PAGE ...]` says where not.

Counted are sentences of prose, in paragraphs, lists and quotes: not code, tables, headings and
captions. A sentence is passive if it has a form of *be* before a participle; that is a guess, so
that a page may have some.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAX_WORDS = 48
"""Of any sentence; what is longer is a list."""
MAX_MEAN = 20.0
"""Words of a page's sentences, in the mean."""
MAX_LONG = 0.15
"""Share of a page's sentences that have more than `LONG` words."""
LONG = 30
MAX_PASSIVE = 0.4
"""Share of a page's sentences that are passive."""
FEW = 10
"""Of so few sentences, shares say nothing."""

FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2[ ]*$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->|^:::.*$", re.MULTILINE | re.DOTALL)
NO_PROSE = re.compile(r"^\s*(#|\||!\[|!!!|\*[^* ].*\*$|=== )")
ITEM = re.compile(r"^\s*([-*>]|\d+\.)\s+")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`]+`")
END = re.compile(r"(?<=[.!?:;])[\"')*_]*\s+(?=[\"'(*_`]*[A-Z`*\d])")
WORD = re.compile(r"[\w'.,/+-]*\w[\w'+-]*")
BE = r"(?:is|are|was|were|be|been|being|isn't|aren't|wasn't|weren't)"
BETWEEN = r"(?:\s+(?:not|never|always|also|only|then|now|again|often|\w+ly|all|both|each|still))*"
IRREGULAR = (
    "begun|born|bought|brought|built|caught|chosen|cut|done|drawn|driven|fed|felt|found|forgotten|"
    "given|gone|held|hidden|kept|known|laid|led|left|lent|lost|made|meant|met|paid|put|read|run|"
    "seen|sent|set|shown|shut|split|spent|stolen|taken|told|thrown|understood|woken|won|worn|written"
)
PASSIVE = re.compile(rf"\b{BE}{BETWEEN}\s+(?:\w{{3,}}ed|{IRREGULAR})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the line of the page where its paragraph begins."""

    line: int
    text: str

    @property
    def words(self) -> int:
        return len(WORD.findall(self.text))

    @property
    def is_passive(self) -> bool:
        return PASSIVE.search(self.text) is not None


def blank(found: re.Match[str]) -> str:
    """Return as many empty lines as were found."""
    return "\n" * found[0].count("\n")


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield each paragraph or item of a list, with the line where it begins."""
    text = COMMENT.sub(blank, FENCE.sub(blank, text))
    first, lines = 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        begins = ITEM.match(line)
        if lines and (begins or not line.strip() or NO_PROSE.match(line)):
            yield first, " ".join(lines)
            lines = []
        if line.strip() and not NO_PROSE.match(line):
            first = number if not lines else first
            lines.append(ITEM.sub("", line).strip())


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a page."""
    found = []
    for line, paragraph in paragraphs(text):
        plain = CODE.sub("`x`", LINK.sub(r"\1", paragraph))
        found += [Sentence(line, part) for part in END.split(plain) if WORD.search(part)]
    return found


def faults(text: str) -> Iterator[str]:
    """Yield what is hard to read in a page."""
    found = sentences(text)
    for one in found:
        if one.words > MAX_WORDS:
            what = f"a sentence of {one.words} words (at most {MAX_WORDS})"
            yield f"line {one.line}: {what}: {one.text}"
    if len(found) < FEW:
        return
    mean = sum(one.words for one in found) / len(found)
    if mean > MAX_MEAN:
        yield f"{mean:.1f} words a sentence in the mean (at most {MAX_MEAN:g})"
    for share, most, what in (
        (sum(one.words > LONG for one in found), MAX_LONG, f"have more than {LONG} words"),
        (sum(one.is_passive for one in found), MAX_PASSIVE, "are passive"),
    ):
        if share > most * len(found):
            yield f"{share} of {len(found)} sentences {what} (at most {most:.0%})"


def pages() -> list[Path]:
    """Return the pages that people read; decisions and lists that programs make are apart."""
    folders = ("", "tutorial/", "howto/", "concepts/", "coming/", "extend/", "performance/")
    found = [path for folder in folders for path in ROOT.glob(f"docs/{folder}*.md")]
    made = {ROOT / "docs/performance/claims.md"}
    return sorted({*found, ROOT / "README.md", ROOT / "CONTRIBUTING.md"} - made)


def show(paths: list[Path]) -> int:
    """Print what is hard to read in pages; the number of such places."""
    count = 0
    for path in paths:
        for fault in faults(path.read_text("utf-8")):
            print(f"{path.relative_to(ROOT)}: {fault}")
            count += 1
    return count


if __name__ == "__main__":
    sys.exit(min(show([Path(word).resolve() for word in sys.argv[1:]] or pages()), 1))
