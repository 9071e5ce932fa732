"""Command lines as tasks.

See docs/decisions/004-command-lines-are-calls.md
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freestone.client.files import File, Scratch
from freestone.client.future import Future
from freestone.errors import FileMissingError

__all__ = ["Command", "run_command"]


@dataclass(frozen=True, slots=True)
class Command:
    """A command line that was submitted.

    Attributes
    ----------
    stdout : Future of str
        What it printed.
    outputs : mapping of str to Future of File
        The files that it leaves, by name.
    """

    stdout: Future
    outputs: Mapping[str, Future]


def run_command(
    command: str | Sequence[str],
    inputs: Mapping[str, Any],
    outputs: Sequence[str],
    env: Mapping[str, str],
) -> Any:
    """Run a command line in a folder of its own; what it printed, and the files it left."""
    folder = Scratch()
    root = Path(folder.path)
    for name, content in inputs.items():
        _place(root, name, content)
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    done = subprocess.run(
        words,
        cwd=root,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        error = subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
        printed = (done.stderr or done.stdout).rstrip()[-2000:]
        if printed:
            error.add_note(f"it printed: {printed}")
        raise error
    if not outputs:
        return done.stdout
    return (done.stdout, *(_taken(root, name, folder) for name in outputs))


def _inside(root: Path, name: str) -> Path:
    path = root / name
    if not path.resolve().is_relative_to(root.resolve()):
        raise ValueError(f"the name {name!r} leads out of the command's folder")
    return path


def _place(root: Path, name: str, content: Any) -> None:
    path = _inside(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, File):
        os.symlink(os.fspath(content), path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content)
    elif isinstance(content, os.PathLike):
        shutil.copy(content, path)
    else:
        raise TypeError(
            f"input {name!r} is of type {type(content).__name__}: give a file, bytes or text"
        )


def _taken(root: Path, name: str, folder: object) -> File:
    path = _inside(root, name)
    if not path.is_file():
        raise FileMissingError(name, "was not left by the command; check its name")
    return File(str(path), "", path.stat().st_size, hold=folder)
