"""The repository that these tests are about."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = {".c", ".css", ".h", ".json", ".md", ".py", ".pyi", ".rs", ".sh", ".toml", ".txt", ".yml"}


def tracked() -> Iterator[Path]:
    """Yield the text files that git tracks, or all of them outside of a checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    names = listed.stdout.split("\0")[:-1] if listed.returncode == 0 else []
    for path in map(ROOT.joinpath, names):
        if path.is_file() and (path.suffix in TEXT or not path.suffix):
            yield path
