"""The documentation's site, by version: `python -m tests.docs.site FOLDER` builds this one into it.

The folder may have the sites of other versions. A list of all of them is written beside them, from
which each page's menu of versions is made.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from tests.docs.links import broken

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "target/site"
REDIRECT = """\
<!doctype html>
<meta charset="utf-8">
<title>freestone</title>
<meta http-equiv="refresh" content="0; url={newest}/">
<a href="{newest}/">The documentation of freestone {newest}</a>
"""


def build() -> None:
    """Build the site of this version; warnings and links that lead nowhere are errors."""
    program = Path(sys.executable).with_name("zensical")
    subprocess.run([program, "build", "--clean", "--strict"], cwd=ROOT, check=True)
    if found := broken(BUILT):
        sys.exit("\n".join(["links that lead nowhere:", *found]))


def place(built: Path, folder: Path, name: str) -> None:
    """Put a built site into the folder of all versions, in place of an earlier one of its name."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(built, folder / name)
    names = sorted(
        (path.parent.name for path in folder.glob("*/sitemap.xml")), key=_numbers, reverse=True
    )
    versions = [{"version": name, "title": name, "aliases": []} for name in names]
    (folder / "versions.json").write_text(json.dumps(versions, indent=1), encoding="utf-8")
    (folder / "index.html").write_text(REDIRECT.format(newest=names[0]), encoding="utf-8")


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else -1 for part in name.split("."))


if __name__ == "__main__":
    build()
    place(BUILT, Path(*sys.argv[1:]) if sys.argv[1:] else ROOT / "site", version("freestone"))
