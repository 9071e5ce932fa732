"""The repository that these tests are about."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = {".c", ".css", ".h", ".json", ".md", ".py", ".pyi", ".rs", ".sh", ".toml", ".txt", ".yml"}
FOLDERS = ("benchmarks", "crates", "docs", "examples", "python", "tests")


def git(*arguments: str, folder: Path = ROOT) -> str:
    """Return what git prints, or nothing where there is no git or no repository."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def tracked() -> Iterator[Path]:
    """Yield the text files that git tracks, or all of them outside of a checkout."""
    listed = git("ls-files", "-z").split("\0")[:-1]
    paths = [ROOT / name for name in listed] or [
        *ROOT.glob("[!.]*"),
        *(path for name in FOLDERS for path in (ROOT / name).rglob("*")),
    ]
    for path in paths:
        if path.is_file() and (path.suffix in TEXT or not path.suffix):
            yield path
