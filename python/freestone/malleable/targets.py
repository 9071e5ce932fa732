"""Who says how many processes there shall be."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from freestone.errors import ConfigurationError
from freestone.errors.keywords import suggest_keywords
from freestone.malleable import together
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
    "agree",
    "first_request",
    "too_many",
]

_log = logging.getLogger("freestone.malleable")
# What ranks agree on is an integer of MPI's.
_MAX_SIZE = 2**31 - 1
_MAX_CHARACTERS = 1 << 20
# More than anyone means, where nothing says how many there may be.
_PER_PROCESSOR, _TIMES = 64, 16


def is_whole(value: Any, least: int) -> bool:
    """Tell whether a value is a whole number of at least `least`."""
    return (
        isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)
    )


@suggest_keywords
@dataclass(frozen=True)
class Request:
    """A number of processes, and the method of the resize.

    Attributes
    ----------
    size : int
        The number of processes.
    method : Method or None
        ``None`` uses the job's.
    slots : mapping of str to int, optional
        The hosts that are granted, and how many processes each takes: joining processes start
        there, and processes on other hosts leave first. By default the settings' ``slots``.
    """

    size: int
    method: Method | None = None
    slots: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if not is_whole(self.size, 1) or self.size > _MAX_SIZE:
            raise _wrong(f"{self.size!r} processes: give a whole number of at least 1")
        object.__setattr__(self, "size", int(self.size))

    def __str__(self) -> str:
        method = "" if self.method is None else f" by {self.method}"
        return f"{self.size}{method}" + ("" if self.slots is None else f" on {dict(self.slots)}")

    @classmethod
    def parse(cls, text: str) -> Request | None:
        """Return what JSON asks for; nothing for ``{}``.

        Parameters
        ----------
        text : str
            A number of processes; or an object with ``processes``, and, if wanted, ``hosts`` (the
            processes that each host takes) and ``method``.

        Raises
        ------
        ConfigurationError
            If it is something else.

        Examples
        --------
        >>> Request.parse('{"processes": 4, "hosts": {"n0": 2, "n1": 2}}')
        Request(size=4, method=None, slots={'n0': 2, 'n1': 2})
        """
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _wrong(f"{text.strip()[:80]!r} is no JSON ({error})") from error
        table = found if isinstance(found, dict) else {"processes": found}
        unknown = table.keys() - {"processes", "hosts", "method"}
        if unknown:
            known = "there are processes, hosts and method"
            raise _wrong(f"unknown key {min(unknown)!r}; {known}")
        if not table:
            return None
        size: Any = table.get("processes")
        hosts, method = table.get("hosts"), table.get("method")
        if method is not None and not isinstance(method, str):
            raise _wrong(f"method {method!r}: give a name such as 'merge-p2p-sync'")
        request = cls(size, None if method is None else Method.parse(method), hosts)
        if hosts is not None:
            _check_hosts(request.size, hosts)
        return request


def _check_hosts(size: int, hosts: Any) -> None:
    if not isinstance(hosts, dict) or not all(is_whole(count, 1) for count in hosts.values()):
        raise _wrong(f"hosts {hosts!r}: give the number of processes that each takes")
    places = sum(hosts.values())
    if places < size:
        raise _wrong(f"{size} processes on hosts that take {places}")


def _wrong(problem: str) -> ConfigurationError:
    return ConfigurationError(f"a target of {problem}", key="targets", origin="request")


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
    hosts : tuple of str
        By rank, the host of each process.
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
    hosts: tuple[str, ...] = ()


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
    def ask(self, status: Status) -> Request | int | None:
        """Return what is wanted at this step, or ``None`` for 'as it is'.

        A number of processes is a `Request` for so many.
        """

    def open(self) -> None:  # noqa: B027
        """Begin to listen; called on every rank, once."""

    def close(self) -> None:  # noqa: B027
        """End listening."""

    def finish(self) -> None:  # noqa: B027
        """Give back what was taken for the job; rank 0 calls it when the job has ended."""

    def host(self) -> str:
        """Return the name that the source has for this process's host, empty if it has none."""
        return ""

    def largest(self) -> int:
        """Return the most processes that are sure to be asked for."""
        return 0

    def agreed(self) -> str:
        """Return what must be the same on all ranks, as text: by default the name of the class."""
        return type(self).__name__


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

    def agreed(self) -> str:
        """Return the targets, by step."""
        return ", ".join(f"{step}: {request}" for step, request in self._targets.items())


class File(Source):
    """A file with a number of processes; a resize is requested whenever it is written.

    Parameters
    ----------
    path : path
        It need not exist yet. It contains what `Request.parse` reads: a number, or an object with
        hosts, too. Other content is logged, and changes nothing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._refused = -math.inf

    def ask(self, status: Status) -> Request | None:
        """Return the number, if it was written since the last resize began."""
        try:
            written = os.stat(self._path).st_mtime
            if written <= max(status.since, self._refused):
                return None
            with open(self._path, encoding="utf-8") as file:
                return Request.parse(file.read(_MAX_CHARACTERS))
        except OSError:
            return None
        except (ConfigurationError, UnicodeDecodeError) as error:
            self._refused = written
            _log.warning("%s: %s", self._path, error)
            return None

    def agreed(self) -> str:
        """Return the path."""
        return f"File({self._path!r})"


@suggest_keywords
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

    def agreed(self) -> str:
        """Return the signals."""
        return "Signals({}, {})".format(*(signal.Signals(one).name for one in self._signals))


@suggest_keywords
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

    def agreed(self) -> str:
        """Return the bounds, and how often they are looked at."""
        return f"Efficiency({self._low}, {self._high}, every={self._every})"


def _efficiency(status: Status, size: int) -> float:
    """Return that of a number of processes there was, relative to the fewest there were."""
    fewest = min(status.step_s)
    spent = status.step_s[size] * size
    return status.step_s[fewest] * fewest / spent if spent else 1.0


@suggest_keywords
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

    def agreed(self) -> str:
        """Return the deadline, and how often it is looked at."""
        return f"Deadline({self._seconds}, every={self._every})"


def agree(
    request: Request | None, size: int, method: Method, comm: Any, timeout_s: float
) -> Request:
    """Return what all sources do, once they have agreed on size and method; together.

    Only rank 0 knows which hosts are granted, if the size is what it asked for.
    """
    is_own = request is not None and request.size == size
    slots = request.slots if request is not None and is_own else None
    return Request(size, method, together.tell(comm, slots, timeout_s, "the hosts of a resize"))


def too_many(request: Request, size: int, places: int | None) -> str:
    """Return why there is no room for what is asked for, if there is none, as one rank sees it.

    Parameters
    ----------
    request : Request
        What is asked for.
    size : int
        Processes there are.
    places : int or None
        Processes there may be by the settings.
    """
    how = ""
    if places is None and request.slots is None:
        places = max(_PER_PROCESSOR * len(os.sched_getaffinity(0)), _TIMES * size)
        how = f" without slots=: {_PER_PROCESSOR} for a processor here, or {_TIMES} for a process"
    if places is None or request.size <= places:
        return ""
    return f"{request.size} processes were asked for, and there are {places} slots{how}"


def first_request(sources: Iterable[Source], rank: int, status: Status) -> Request | None:
    """Return what the first source wants that wants something, of those that are asked here."""
    for source in sources:
        if rank > 0 and not source.asks_everywhere:
            continue
        wanted = source.ask(status)
        if wanted is not None:
            return _request_of(source, wanted)
    return None


def _request_of(source: Source, wanted: Any) -> Request:
    if isinstance(wanted, Request):
        return wanted
    if is_whole(wanted, 1):
        return Request(wanted)
    kind = type(source).__name__
    raise ConfigurationError(
        f"{kind}.ask returned {wanted!r:.80}, of type {type(wanted).__name__}: return a number of "
        "processes of at least 1, as in 'return malleable.Request(3)' or 'return 3', or None to "
        "stay as it is",
        key="targets",
        origin=kind,
    )
