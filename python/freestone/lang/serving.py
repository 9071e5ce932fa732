"""Scripts that other processes have run on this program's cluster.

A program that has an open cluster answers two more questions on its control socket: ``script``
starts one on a thread of its own, and ``script-output`` waits a moment for more of what it prints.

See docs/decisions/056-a-script-on-another-programs-cluster-runs-in-that-program.md
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from freestone.client.interface import Client
    from freestone.lang.settings import Settings

__all__ = ["Job", "encoded_settings"]

TIMEOUT_S = 0.2
"""How long a question waits for more output, in seconds."""

_jobs: dict[int, Job] = {}
_numbers = itertools.count(1)


class Stream:
    """A file of a job: what is written to it waits until somebody asks."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.held: list[str] = []

    def write(self, text: str) -> int:
        """Take what the script prints."""
        with self._job.change:
            self.held.append(text)
            self._job.change.notify_all()
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def taken(self) -> str:
        """Return what was written since this was last called."""
        text, self.held = "".join(self.held), []
        return text


class Job:
    """A script that runs: what it has printed, and how it ended.

    Attributes
    ----------
    status : int or None
        What ``freestone run`` exits with; None while it runs.
    error : list of str or None
        What went wrong: the problem alone, and all of the message.
    times : list
        What each operation took, if that is wanted; see `Run.measured`.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.error: list[str] | None = None
        self.times: list[tuple[str, str, float, int]] = []
        self.out, self.errors = Stream(self), Stream(self)
        self.change = threading.Condition()

    def end(self, status: int, error: list[str] | None = None) -> None:
        """Tell how it ended."""
        with self.change:
            self.status, self.error = status, error
            self.change.notify_all()

    def output(self) -> dict[str, Any]:
        """Return what was printed since the last question; waits a moment if that is nothing."""
        with self.change:
            if not self.out.held and not self.errors.held and self.status is None:
                self.change.wait(TIMEOUT_S)
            found = {
                "text": self.out.taken(),
                "errors": self.errors.taken(),
                "status": self.status,
                "failure": self.error,
            }
            return found | {"times": self.times} if self.status is not None else found


def start(client: Client, question: dict[str, Any]) -> dict[str, Any]:
    """Start a script."""
    number, job = next(_numbers), Job()
    _jobs[number] = job
    name = f"freestone-script-{number}"
    threading.Thread(target=_run, args=(client, question, job), name=name, daemon=True).start()
    return {"job": number}


def output(question: dict[str, Any]) -> dict[str, Any]:
    """Return more of what a script prints."""
    number = int(question["job"])
    if number not in _jobs:
        raise KeyError(f"there is no script {number} here")
    found = _jobs[number].output()
    if found["status"] is not None:
        del _jobs[number]
    return found


def _run(client: Client, question: dict[str, Any], job: Job) -> None:
    from freestone.errors.lang import ScriptError
    from freestone.lang.front.parse.source import Source
    from freestone.lang.run.distributed.running import DistributedRun
    from freestone.lang.script import compile_source, read_arguments

    try:
        settings = decoded_settings(question["settings"])
        source = Source(question["script"], question["file"])
        given = read_arguments(question["arguments"])
        program = compile_source(source, given, settings, Path(question["file"]))
        run = DistributedRun(settings, client, job.out)  # type: ignore[arg-type]
        run.errors = job.errors  # type: ignore[assignment]
        try:
            run.program(program)
        finally:
            job.times = run.measured()
    except ScriptError as error:
        job.end(error.status, [error.problem, str(error)])
    except Exception as error:
        job.end(3, [f"{type(error).__name__}: {error}"] * 2)
    else:
        job.end(0)


def encoded_settings(settings: Settings) -> dict[str, Any]:
    """Return settings as JSON can hold them."""
    data = {each.name: getattr(settings, each.name) for each in fields(settings)}
    data["folders"] = [str(path.resolve()) for path in settings.folders]
    data["libraries"] = {name: str(path.resolve()) for name, path in settings.libraries.items()}
    return data


def decoded_settings(data: dict[str, Any]) -> Settings:
    """Return the settings that were encoded."""
    from freestone.lang.settings import Settings

    made = {
        "folders": tuple(map(Path, data["folders"])),
        "libraries": {name: Path(path) for name, path in data["libraries"].items()},
        "explain": tuple(data["explain"]),
        "kernels": tuple(map(tuple, data["kernels"])),
    }
    return Settings(**data | made)
