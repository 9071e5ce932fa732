"""The page of all errors by slug: `python -m tests.docs.messages` writes it."""

from __future__ import annotations

import inspect
from collections import defaultdict
from pathlib import Path

from freestone.errors import FreestoneError
from freestone.errors.explanations import EXPLANATIONS
from tests.test_errors import EXAMPLES, everything

PAGE = Path(__file__).parents[2] / "docs/reference/messages.md"
HEAD = """\
# Errors by slug

Each error of freestone has a slug that never changes: `error.slug` in Python, the first word of
what the command line prints, and an entry below. `freestone explain SLUG` prints the same, and
takes the name of a class, too. The classes with their fields are in [freestone.errors](errors.md).
"""


def page() -> str:
    """Make the page from docstrings, explanations and the messages of the tests."""
    messages: dict[str, list[str]] = defaultdict(list)
    for error in EXAMPLES:
        messages[error.slug].append(str(error).partition("\n")[0])
    kinds = {kind.slug: kind for kind in everything(FreestoneError)}
    return "\n".join(
        [HEAD, *(_entry(kinds[slug], messages[slug]) for slug in sorted(EXPLANATIONS))]
    )


def _entry(kind: type[FreestoneError], messages: list[str]) -> str:
    what = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    why, cure = EXPLANATIONS[kind.slug]
    what = what.replace("``", "`")
    # A bracket begins a link.
    example = "\n> {}\n".format(messages[0].replace("[", "\\[")) if messages else ""
    return f"## {kind.slug}\n`{kind.__name__}`: {what} {why} **What to do:** {cure}\n{example}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
