"""When the state of a job is saved, and what came of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freestone.errors import ConfigurationError, MalleableError
from freestone.malleable import registering, states
from freestone.malleable.arrays import Array
from freestone.malleable.config import Config
from freestone.malleable.gathering import Call, require_all
from freestone.malleable.membership import Membership
from freestone.malleable.path import Path as Way
from freestone.malleable.progress import Progress
from freestone.malleable.states import Saved

__all__ = ["Saver", "Snapshot"]


@dataclass(frozen=True)
class Snapshot:
    """What is saved of a job: the rows of this rank, and the rest as rank 0 has it."""

    membership: Membership
    arrays: Mapping[str, Array]
    way: Way
    progress: Progress
    values: dict[str, Any]


class Saver:
    """Saves what it is given, at the head of a step.

    Parameters
    ----------
    config : Config
        Of the job.
    look : callable
        Returns what there is now.

    Attributes
    ----------
    saved : list of Saved
        What was saved, or could not be.
    """

    def __init__(self, config: Config, look: Callable[[], Snapshot]) -> None:
        self._config, self._look = config, look
        self._asked: list[str] = []
        self.saved: list[Saved] = []

    def ask(self, path: str | os.PathLike[str] | None, *, is_in_loop: bool) -> None:
        """Have a file written next time; by default that of the setting."""
        if not is_in_loop:
            raise MalleableError(
                "world.save is called outside of a loop, where a program can't be taken up again; "
                "call it in a step: it saves at the head of the next one, or at the loop's end"
            )
        target = self._config.saves if path is None else path
        if target is None:
            problem = "world.save has no file: give it one, or set saves="
            raise ConfigurationError(problem, key="saves", origin="config")
        self._asked.append(os.path.abspath(target))

    def forget(self) -> None:
        """Save nothing of what was asked for: the loop was left."""
        self._asked.clear()

    def save_if_asked(self) -> None:
        """Write the files that were asked for; all ranks call it together."""
        asked, self._asked = list(dict.fromkeys(self._asked)), []
        for path in asked:
            now = self._look()
            call = Call(f"saves {path!r}", path, now.progress.done)
            require_all(now.membership.control, call, self._config.timeout_s)
            self._save(path)

    def save_if_due(self, done: int) -> None:
        """Write the file of the settings, if this is its step; all ranks call it together.

        Ranks that join at this step know no more of it than its number.
        """
        every, path = self._config.save_every, self._config.saves
        if every is not None and path is not None and done and done % every == 0:
            self._save(str(path))

    def remove(self) -> None:
        """Remove the file of the settings: the job has ended."""
        if self._config.saves is not None:
            states.remove(Path(self._config.saves))

    def _save(self, path: str) -> None:
        began, now, config = time.perf_counter(), self._look(), self._config
        problem = registering.unmovable(now.membership, config, now.arrays.values())
        nbytes = 0
        if not problem:
            state = (now.way, now.progress, now.values)
            given = (now.membership.data, now.arrays, state, config.timeout_s)
            nbytes, problem = states.write(Path(path), *given)
        seconds = time.perf_counter() - began
        self.saved.append(Saved(now.progress.done, path, nbytes, seconds, problem))
        if problem and now.membership.rank == 0:
            text = f"the state could not be saved in {path}: {problem}"
            print(f"freestone: {text}; the job goes on", file=sys.stderr, flush=True)
