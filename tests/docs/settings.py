"""The table of settings in the reference: `python -m tests.docs.settings` writes it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from freestone.config import PREFIX, Config

PAGE = Path(__file__).parents[2] / "docs/reference/config.md"
HEAD = """\
# freestone.config

| setting | unit | default | environment | meaning |
| --- | --- | --- | --- | --- |
"""
TAIL = """
Where no default stands, it follows from the machine, or there is none. See
[Configure](../howto/configure.md).

::: freestone.config
"""


def page() -> str:
    """Make the page from the fields of `Config`."""
    rows = [
        f"| `{field.name}` | {field.metadata['unit']} | {_default(field.default)} "
        f"| `{PREFIX}{field.name.upper()}` | {field.metadata['help']} |"
        for field in dataclasses.fields(Config)
        if "help" in field.metadata
    ]
    return HEAD + "\n".join(rows) + "\n" + TAIL


def _default(value: object) -> str:
    return "" if value is None or value == "" else f"`{value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
