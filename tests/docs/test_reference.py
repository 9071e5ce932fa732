"""Everything public is in the reference, with all that a class has from others."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from freestone.errors import FreestoneError

DOCS = Path(__file__).parents[2] / "docs"
ENTRY = re.compile(r"^::: ([\w.]+)\n((?:    .*\n|\n(?=    ))*)", re.MULTILINE)
ROOMS = (
    "freestone",
    "freestone.config",
    "freestone.errors",
    "freestone.events",
    "freestone.graph",
    "freestone.malleable",
    "freestone.testing",
)
# Names that are no objects with a docstring of their own: their pages explain them.
IN_PROSE = re.compile(r"`([A-Z_]+|Event|TaskFuture|__version__|graph)\b")


def shown() -> dict[str, set[str] | None]:
    """Give for each module of the reference the members that its page lists, None for all."""
    found: dict[str, set[str] | None] = {}
    for page in (DOCS / "reference").glob("*.md"):
        for module, options in ENTRY.findall(page.read_text(encoding="utf-8") + "\n"):
            listed = re.search(r"members:(?: \[(.*)\]|((?:\n\s+- .*)*))\n?", options)
            names = re.findall(r"\w+", " ".join(filter(None, listed.groups()))) if listed else []
            found[module] = set(names) or None
    return found


def page_of(room: str) -> Path:
    return DOCS / "reference" / f"{room.rpartition('.')[2]}.md"


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in module.__all__:
        yield name, getattr(module, name)


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_reference(room: str) -> None:
    listed = shown()
    assert room in listed
    explained = set(IN_PROSE.findall(page_of(room).read_text(encoding="utf-8")))
    names = listed[room]
    missing = [
        name
        for name, value in public(importlib.import_module(room))
        if names is not None
        and name not in names | explained
        and not any(name in (others or ()) for others in listed.values())
        and not isinstance(value, ModuleType)
        and not (inspect.isclass(value) and issubclass(value, FreestoneError))
    ]
    assert missing == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_member_of_a_class_has_a_text_to_show(room: str) -> None:
    page = page_of(room).read_text(encoding="utf-8")
    missing = [
        f"{name}.{member}"
        for name, kind in public(importlib.import_module(room))
        if inspect.isclass(kind)
        for member in dir(kind)
        if not member.startswith("_") and not documented(kind, member) and f"`{member}`" not in page
    ]
    assert missing == []


def documented(kind: type, member: str) -> bool:
    """Whether a member has a docstring, or is explained by that of its class or of one below it."""
    owner = next(base for base in kind.__mro__ if member in vars(base))
    if not owner.__module__.startswith("freestone"):
        return True  # What Python's own classes give is in Python's reference.
    value = inspect.getattr_static(kind, member)
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    if (callable(value) or inspect.isdatadescriptor(value)) and value.__doc__:
        return True
    word = re.compile(rf"\b{member}\b")
    text_below = re.compile(rf'^    {member}\b.*\n    """', re.MULTILINE)
    own = [base for base in kind.__mro__ if base.__module__.startswith("freestone")]
    return any(
        word.search(base.__doc__ or "") or text_below.search(source_of(base)) for base in own
    )


def source_of(kind: type) -> str:
    try:
        return inspect.getsource(kind)
    except OSError:  # Errors say that they are of freestone.errors, where they are only named.
        return ""


def test_inherited_members_are_shown() -> None:
    settings = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.search(r"^ +inherited_members: true$", settings, re.MULTILINE)
