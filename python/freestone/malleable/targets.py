"""Who says how many processes there shall be."""

from __future__ import annotations

import contextlib
import math
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from freestone.errors import ConfigurationError
from freestone.malleable.method import Method

__all__ = [
    "Deadline",
    "Efficiency",
    "File",
    "Request",
    "Schedule",
    "Signals",
    "Source",
    "Status",
    "first_request",
]


def is_whole(value: Any, least: int) -> bool:
    """Tell whether a value is a whole number of at least `least`."""
    return (
        isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)
    )


@dataclass(frozen=True)
class Request:
    """A number of processes, and the method of the resize.

    Attributes
    ----------
    size : int
        The number of processes.
    method : Method or None
        ``None`` uses the job's.
    """

    size: int
    method: Method | None = None

    def __post_init__(self) -> None:
        if not is_whole(self.size, 1):
            raise ConfigurationError(
                f"a target of {self.size!r} processes: give a whole number of at least 1",
                key="targets",
                origin="request",
            )
        object.__setattr__(self, "size", int(self.size))


@dataclass
class Status:
    """What is known at the head of a step.

    Attributes
    ----------
    step : int
        Steps done in all loops.
    total : int
        Steps there are to be, with those of this loop.
    size : int
        Processes there are.
    slots : int or None
        Processes there may be.
    elapsed_s : float
        Since the job began.
    step_s : dict of int to float
        The mean duration of a step, by number of processes.
    asked : int
        The step at which the last resize began, done or failed; -1 for none.
    resizes : int
        How many there have been, done or failed.
    since : float
        When the last one was asked for, in seconds since 1970.
    """

    step: int
    total: int
    size: int
    slots: int | None = None
    elapsed_s: float = 0.0
    step_s: dict[int, float] = field(default_factory=dict)
    asked: int = -1
    resizes: int = 0
    since: float = -math.inf


class Source(ABC):
    """What decides the number of processes.

    Rank 0 asks it, which may be another process after a resize; so a source takes its state from
    the status.

    Attributes
    ----------
    asks_everywhere : bool
        Whether every rank asks; then the largest answer counts.
    """

    asks_everywhere = False

    @abstractmethod
    def ask(self, status: Status) -> Request | None:
        """Return what is wanted at this step, or ``None`` for 'as it is'."""

    def open(self) -> None:  # noqa: B027
        """Begin to listen; called on every rank, once."""

    def close(self) -> None:  # noqa: B027
        """End listening."""

    def finish(self) -> None:  # noqa: B027
        """Give back what was taken for the job; rank 0 calls it when the job has ended."""

    def largest(self) -> int:
        """Return the most processes that are sure to be asked for."""
        return 0


class Schedule(Source):
    """Targets that are known beforehand.

    Parameters
    ----------
    targets : mapping of int to int or Request
        By the step at whose head they begin, counted over all loops.
    """

    def __init__(self, targets: Mapping[int, int | Request]) -> None:
        for step in targets:
            if not is_whole(step, 0):
                raise ConfigurationError(
                    f"step {step!r} of the schedule: give a whole number of at least 0",
                    key="targets",
                    origin="schedule",
                )
        requests = {
            step: value if isinstance(value, Request) else Request(value)
            for step, value in targets.items()
        }
        self._targets = dict(sorted(requests.items()))

    def ask(self, status: Status) -> Request | None:
        """Return the last target that is due and was not asked for yet."""
        due = [step for step in self._targets if status.asked < step <= status.step]
        return self._targets[due[-1]] if due else None

    def largest(self) -> int:
        """Return the largest target."""
        return max((request.size for request in self._targets.values()), default=0)


class File(Source):
    """A file with a number of processes; a resize is requested whenever it is written.

    Parameters
    ----------
    path : path
        It need not exist yet. Content that is no number is ignored.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)

    def ask(self, status: Status) -> Request | None:
        """Return the number, if it was written since the last resize began."""
        try:
            if os.stat(self._path).st_mtime <= status.since:
                return None
            with open(self._path, encoding="utf-8") as file:
                text = file.read().strip()
        except OSError:
            return None
        if not text.isdigit() or int(text) < 1:
            return None
        return Request(int(text))


class Signals(Source):
    """Signals to any process of the job: one doubles the processes, the other halves them.

    Parameters
    ----------
    grow, shrink : signal
        By default SIGUSR1 and SIGUSR2.
    """

    asks_everywhere = True

    def __init__(
        self,
        grow: signal.Signals = signal.SIGUSR1,
        shrink: signal.Signals = signal.SIGUSR2,
    ) -> None:
        self._signals = (grow, shrink)
        self._factor = 1.0
        self._before: dict[signal.Signals, object] = {}

    def open(self) -> None:
        """Install the handlers, in the main thread."""
        with contextlib.suppress(ValueError):
            for number, factor in zip(self._signals, (2.0, 0.5), strict=True):
                self._before[number] = signal.signal(number, self._handler(factor))

    def close(self) -> None:
        """Put back the handlers that were there before."""
        with contextlib.suppress(ValueError):
            for number, handler in self._before.items():
                signal.signal(number, handler)  # type: ignore[arg-type]
        self._before = {}

    def _handler(self, factor: float):  # type: ignore[no-untyped-def]
        def handle(_number: int, _frame: object) -> None:
            self._factor *= factor

        return handle

    def ask(self, status: Status) -> Request | None:
        """Return the doubled or halved number of processes, after signals."""
        factor, self._factor = self._factor, 1.0
        if factor == 1.0:
            return None
        size = max(1, int(status.size * factor))
        return Request(size if status.slots is None else min(size, status.slots))


class Efficiency(Source):
    """Keep the parallel efficiency between two bounds, by doubling and halving.

    Efficiency is relative to the fewest processes there were: ``t(m) m / (t(n) n)``, with ``t``
    the duration of a step.

    Parameters
    ----------
    low, high : float
        Below `low` processes are removed, above `high` processes are added.
    every : int
        Steps between two looks.
    """

    def __init__(self, low: float = 0.5, high: float = 0.8, every: int = 20) -> None:
        if not 0 < low < high or every < 1:
            raise ConfigurationError(
                f"efficiency between {low!r} and {high!r}, every {every!r} steps: the lower bound "
                "is above 0 and below the upper one, and steps are at least 1",
                key="targets",
                origin="efficiency",
            )
        self._low, self._high, self._every = low, high, every

    def ask(self, status: Status) -> Request | None:
        """Return twice or half the processes, where efficiency says so."""
        if status.step == 0 or status.step % self._every or status.size not in status.step_s:
            return None
        efficiency = _efficiency(status, status.size)
        if efficiency < self._low and status.size > 1:
            return Request(max(1, status.size // 2))
        more = 2 * status.size
        fits = status.slots is None or more <= status.slots
        # Who asks may be another process than the one that saw that more did not pay.
        was_too_many = more in status.step_s and _efficiency(status, more) < self._low
        if efficiency >= self._high and fits and not was_too_many:
            return Request(more)
        return None


def _efficiency(status: Status, size: int) -> float:
    """Return that of a number of processes there was, relative to the fewest there were."""
    fewest = min(status.step_s)
    spent = status.step_s[size] * size
    return status.step_s[fewest] * fewest / spent if spent else 1.0


class Deadline(Source):
    """Finish by a deadline, with as few processes as possible.

    Parameters
    ----------
    seconds : float
        From the start of the job.
    every : int
        Steps between two looks.
    """

    def __init__(self, seconds: float, every: int = 20) -> None:
        if not seconds > 0 or every < 1:
            raise ConfigurationError(
                f"a deadline of {seconds!r} s, every {every!r} steps: both are above 0",
                key="targets",
                origin="deadline",
            )
        self._seconds, self._every = seconds, every

    def ask(self, status: Status) -> Request | None:
        """Return twice the processes if it gets late, half if half would do."""
        if status.step == 0 or status.step % self._every or status.size not in status.step_s:
            return None
        left = self._seconds - status.elapsed_s
        needed = (status.total - status.step) * status.step_s[status.size]
        more = 2 * status.size
        if needed > left and (status.slots is None or more <= status.slots):
            return Request(more)
        if status.size > 1 and 2.2 * needed < left:
            return Request(status.size // 2)
        return None


def first_request(sources: Iterable[Source], rank: int, status: Status) -> Request | None:
    """Return what the first source wants that wants something, of those that are asked here."""
    for source in sources:
        if rank > 0 and not source.asks_everywhere:
            continue
        request = source.ask(status)
        if request is not None:
            return request
    return None
