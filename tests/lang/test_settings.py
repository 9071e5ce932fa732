"""Settings: what the documentation says of them."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from freestone.lang.settings import Settings

PAGE = Path(__file__).parents[2] / "docs/reference/daphnedsl.md"


def test_the_reference_names_every_setting() -> None:
    section = PAGE.read_text().partition("### Settings in Python")[2].partition("\n#")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = re.findall(r"`(\w+)(?:=False)?`", " ".join(rows))
    assert sorted(named) == sorted(item.name for item in fields(Settings))
