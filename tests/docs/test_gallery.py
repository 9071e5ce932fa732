"""Pictures of examples can be made again, and the page of examples has each with a caption."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHOWN = re.compile(r"!\[[^\]]+\]\(images/(example-\w+\.png)\)\n\n\*[^*]+\*\n")


def test_pictures_are_made_and_shown(tmp_path: Path) -> None:
    """In a process of its own: one of the examples initialises MPI."""
    subprocess.run([sys.executable, "-m", "tests.docs.gallery", tmp_path], cwd=ROOT, check=True)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert sorted(path.name for path in (ROOT / "docs/images").glob("example-*")) == made
    page = (ROOT / "docs/examples.md").read_text(encoding="utf-8")
    assert sorted(SHOWN.findall(page)) == made
