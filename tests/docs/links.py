"""Links of a built site that lead nowhere: to a file or to a heading that isn't there."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["broken"]


@dataclass
class Page(HTMLParser):
    """What a page links to, and what can be linked to in it."""

    links: set[str] = field(default_factory=set)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.add(value)
            elif value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)


@cache
def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken(folder: Path) -> list[str]:
    """Return each broken link of the site as one line: page, link, and what is missing."""
    # The page that a server shows for what isn't there has links from the root of a server.
    pages = sorted(path for path in folder.rglob("*.html") if path.name != "404.html")
    found = []
    for path in pages:
        for link in sorted(read(path).links):
            missing = _missing(path, link)
            if missing:
                found.append(f"{path.relative_to(folder)}: {link}: no {missing}")
    return found


def _missing(page: Path, link: str) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = page.parent.joinpath(unquote(parts.path)) if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "such file"
    anchor = unquote(parts.fragment)
    if anchor and target.suffix == ".html" and anchor not in read(target).anchors:
        return f"heading #{anchor}"
    return None


if __name__ == "__main__":
    lines = broken(Path(sys.argv[1]))
    print(*lines, sep="\n")
    sys.exit(bool(lines))
