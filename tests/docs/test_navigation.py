"""The navigation of the documentation's site leads to every page, once."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs"
ENTRY = re.compile(r"^ +- (?:.+: )?(\S+\.md)$", re.MULTILINE)


def listed() -> list[str]:
    return ENTRY.findall((ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2])


def test_every_page_is_in_the_navigation_once() -> None:
    pages = sorted(str(path.relative_to(PAGES)) for path in PAGES.rglob("*.md"))
    assert sorted(listed()) == pages


def test_decisions_are_in_the_order_of_their_numbers() -> None:
    decisions = [page for page in listed() if re.match(r"decisions/\d", page)]
    assert len(decisions) > 1
    assert decisions == sorted(decisions)
