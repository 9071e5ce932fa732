"""Packages of others, laid out in a folder as an installer leaves them."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "extend"


def install(example: str, site: Path) -> None:
    """Put an example's modules, and the metadata that its pyproject.toml says, into a folder."""
    folder = EXAMPLES / example
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    for module in folder.glob("*.py"):
        if not module.name.startswith("test_"):
            shutil.copy(module, site)
    add_metadata(site, project["name"], project["entry-points"], project["version"])


def add_metadata(
    site: Path, name: str, groups: dict[str, dict[str, str]], version: str = "1.0"
) -> None:
    """Write what an installer writes about a package: its name, version and entry points."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines))
