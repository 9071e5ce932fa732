"""Command lines as tasks.

See docs/decisions/004-command-lines-are-calls.md
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from freestone.client.files import File, Scratch, Stamp, stamp_of
from freestone.client.future import Future
from freestone.errors import FileError, FileMissingError
from freestone.units import format_nbytes

__all__ = ["COPIED_NBYTES", "Command", "arguments", "run_command", "words_of"]

COPIED_NBYTES = 64 << 20
"""Inputs of up to so many bytes are copied into a command's folder: 30 ms, and what it does to them
stays there. A link to a larger one costs nothing, whatever its size."""

_EXECUTABLE = (b"#!", b"\x7fELF")
"""How scripts and programs begin."""

_FICLONE = 0x40049409
"""The request of Linux that makes a file share another one's storage until either is written to."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line that was submitted.

    Attributes
    ----------
    stdout : Future of str or bytes
        What it printed.
    outputs : mapping of str to Future of File
        The files that it leaves, by name.
    """

    stdout: Future
    outputs: Mapping[str, Future]

    def __getattr__(self, name: str) -> NoReturn:
        advice = "ask its stdout or its outputs"
        if name == "stderr":
            advice = (
                "have the shell send it to stdout, '2>&1', or to a file among the outputs; that of "
                "a command that fails is in its CalledProcessError"
            )
        raise AttributeError(f"a Command has no attribute {name!r}; {advice}")


def words_of(command: str | Sequence[str]) -> list[str]:
    """Return what is run, program first.

    Raises
    ------
    TypeError, ValueError
        When it is neither a text nor words, or names no program.
    """
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else command
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise TypeError(
            f"command={command!r}: give a text for the shell, or a list of words, which are texts"
        )
    if not words or not words[0]:
        raise ValueError(f"command={command!r} names no program; give its name first")
    return list(words)


def arguments(
    command: str | Sequence[str],
    inputs: Mapping[str, Any] | None,
    outputs: Sequence[str],
    env: Mapping[str, str] | None,
    text: bool,
) -> tuple[Any, ...]:
    """Return what `run_command` is called with.

    Raises
    ------
    TypeError, ValueError
        For what is no command, no mapping of inputs or no sequence of outputs.
    """
    words_of(command)
    if not isinstance(inputs or {}, Mapping):
        problem = f"inputs={inputs!r:.80}: give what each name holds"
        raise TypeError(f"{problem}, such as {{'data.txt': freestone.file('data.txt')}}")
    if isinstance(outputs, str | bytes) or not all(isinstance(name, str) for name in outputs):
        raise TypeError(f"outputs={outputs!r:.80}: give a list of names, such as ['result.txt']")
    given = (command, dict(inputs or {}), tuple(outputs), dict(env or {}))
    # Only where it is not the default, so that a result that is kept has the name that it had.
    return given if text else (*given, False)


def run_command(
    command: str | Sequence[str],
    inputs: Mapping[str, Any],
    outputs: Sequence[str],
    env: Mapping[str, str],
    text: bool = True,
) -> Any:
    """Run a command line in a folder of its own; what it printed, and the files it left."""
    folder = Scratch()
    root = Path(folder.path)
    linked = {}
    for name, content in inputs.items():
        source = _place(root, name, content, is_output=name in outputs)
        if source is not None:
            linked[name] = (source, stamp_of(source))
    done = _run(words_of(command), root, {**os.environ, **env}, text)
    for name, (source, stamp) in linked.items():
        if _is_changed(source, stamp):
            raise FileError(
                source,
                f"was written to by the command, whose input {name!r} is a link to it: it has more "
                f"than {format_nbytes(COPIED_NBYTES)}. Have the command copy it first, or name the "
                "input among the outputs",
            )
    if done.returncode != 0:
        error = subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
        printed = done.stderr or done.stdout
        if isinstance(printed, bytes):
            printed = printed.decode(errors="backslashreplace")
        if printed := printed.rstrip()[-2000:]:
            error.add_note(f"it printed: {printed}")
        raise error
    if not outputs:
        return done.stdout
    return (done.stdout, *(_taken(root, name, folder) for name in outputs))


def _run(
    words: list[str], root: Path, env: Mapping[str, str], text: bool
) -> subprocess.CompletedProcess[Any]:
    try:
        return subprocess.run(
            words,
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=text,
            # What is no text is seen, as \xfc, where a replacement character would hide it.
            errors="backslashreplace" if text else None,
            check=False,
        )
    except FileNotFoundError:
        problem = "is no program on the PATH of the worker; check its name, or install it there"
        raise FileMissingError(words[0], problem) from None


def _inside(root: Path, name: str) -> Path:
    path = root / name
    if not path.resolve().is_relative_to(root.resolve()):
        raise ValueError(f"the name {name!r} leads out of the command's folder")
    return path


def _place(root: Path, name: str, content: Any, is_output: bool) -> str | None:
    """Lay an input into the command's folder; where a link leads, if it is one."""
    path = _inside(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    linked = None
    if isinstance(content, File):
        linked = _place_file(os.fspath(content), path, is_output)
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
    if linked is None:
        _let_execute(path)
    return linked


def _let_execute(path: Path) -> None:
    """Make a script or a program executable: a block has no permissions of its own."""
    with open(path, "rb") as file:
        begins_so = file.read(4).startswith(_EXECUTABLE)
    if begins_so:
        path.chmod(path.stat().st_mode | 0o100)


def _place_file(source: str, path: Path, is_output: bool) -> str | None:
    """Lay a copy of a file, which the command may write to; of a large one a link instead.

    A copy that shares its storage with the original costs nothing, where the file system has that.
    """
    if _cloned(source, path):
        return None
    if is_output or os.stat(source).st_size <= COPIED_NBYTES:
        shutil.copyfile(source, path)
        return None
    os.symlink(source, path)
    return source


def _cloned(source: str, path: Path) -> bool:
    with open(source, "rb") as original, open(path, "wb") as copy:
        try:
            fcntl.ioctl(copy.fileno(), _FICLONE, original.fileno())
        except OSError:
            os.unlink(path)
            return False
    return True


def _is_changed(path: str, stamp: Stamp) -> bool:
    """Tell whether a file was written to, replaced or removed."""
    try:
        return stamp_of(path) != stamp
    except FileMissingError:
        return True


def _taken(root: Path, name: str, folder: object) -> File:
    path = _inside(root, name)
    if path.is_dir():
        problem = "is a folder, and an output is a file; have the command pack it"
        raise FileError(name, f"{problem}, such as by tar, and name the archive")
    if not path.is_file():
        raise FileMissingError(name, "was not left by the command; check its name")
    return File(str(path), "", path.stat().st_size, hold=folder)
