"""SPMD programs driven by events."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

from freestone.errors.base import FreestoneError


class EventsError(FreestoneError):
    """Something about ranks and their events."""

    slug = "events"


class RankFailedError(EventsError, RuntimeError):
    """A task of a rank failed with something that can't be raised again here.

    Attributes
    ----------
    rank : int
        Whose task.
    """

    slug = "rank-failed"
    rank: int


class RankLostError(EventsError, ConnectionError):
    """A rank ended before the run did.

    Attributes
    ----------
    rank : int
        Which.
    """

    slug = "rank-lost"
    rank: int


class RunStuckError(EventsError, RuntimeError):
    """Every rank is idle, and tasks wait for events that nobody will fire.

    Attributes
    ----------
    report : str
        What waits, and for what.
    """

    slug = "run-stuck"
    report: str


class RunOverError(EventsError, RuntimeError):
    """The run is over: nothing can be submitted, fired or waited for any more."""

    slug = "run-over"


class BadEventError(EventsError, ValueError):
    """There is no such rank, or the identifier is too long."""

    slug = "bad-event"


class TaskRemovedError(EventsError, CancelledError):
    """The result of a task is wanted that was removed before it ran."""

    slug = "task-removed"


class EventTooLargeError(EventsError, ValueError):
    """An event carries more bytes than can be sent.

    Attributes
    ----------
    nbytes : int
        How many it has.
    limit : int
        How many are possible.
    """

    slug = "event-too-large"
    nbytes: int
    limit: int


class InTaskError(EventsError, RuntimeError):
    """A task asked for what only the program itself can do."""

    slug = "in-task"


class EventTimeoutError(EventsError, TimeoutError):
    """No event, or no room for one, in the time given."""

    slug = "event-timeout"


class LockNotHeldError(EventsError, RuntimeError):
    """A task lets go of a lock that it does not have."""

    slug = "lock-not-held"


class TransportError(EventsError, OSError):
    """Events can't be sent or received."""

    slug = "transport"


class EventsLeftWarning(UserWarning):
    """A run ended with events in the hands of persistent tasks that never had all they needed."""


_BY_SLUG: dict[str, type[EventsError]] = {
    kind.slug: kind
    for kind in (
        RankFailedError,
        RankLostError,
        RunStuckError,
        RunOverError,
        BadEventError,
        TaskRemovedError,
        EventTooLargeError,
        InTaskError,
        EventTimeoutError,
        LockNotHeldError,
        TransportError,
    )
}


def make(slug: str, message: str, fields: dict[str, Any]) -> EventsError:
    """Make the error that the core means by `slug`."""
    return _BY_SLUG[slug](message, **fields)
