"""Errors of state that tasks and programs share by name."""

from __future__ import annotations

from collections.abc import Sequence

from freestone.errors.base import FreestoneError
from freestone.errors.data import ClusterError
from freestone.errors.usage import UsageError
from freestone.units import format_seconds

__all__ = [
    "ActorEndedError",
    "ActorMissingError",
    "LockHeldError",
    "LockLostError",
    "LockTimeoutError",
    "QueueClosedError",
    "SharedKindError",
    "SharedTimeoutError",
    "StreamRestartedError",
]


class SharedKindError(UsageError, ValueError):
    """A name stands for something else than what was asked for.

    Attributes
    ----------
    name : str
        The name.
    wanted, found : str
        What was asked for, and what it stands for, such as ``"a semaphore of 4"``.
    """

    slug = "shared-kind"
    name: str
    wanted: str
    found: str

    def __init__(self, *, name: str, wanted: str, found: str) -> None:
        super().__init__(
            f"{name!r} is {found} while it is in use, not {wanted}; use another name, or the same "
            "kind and number everywhere",
            name=name,
            wanted=wanted,
            found=found,
        )


class LockHeldError(UsageError, RuntimeError):
    """A thread or coroutine that has a lock asks for it again, and would wait for itself.

    Attributes
    ----------
    name : str
        The lock.
    """

    slug = "lock-held"
    name: str

    def __init__(self, *, name: str) -> None:
        super().__init__(
            f"this thread, or coroutine, has the lock {name!r} already: to enter it again would "
            "wait for ever; leave it first, or have what needs it do without",
            name=name,
        )


class LockTimeoutError(FreestoneError, TimeoutError):
    """Others had a lock or semaphore for as long as was waited for it.

    Attributes
    ----------
    name : str
        Which.
    timeout_s : float
        How long it was waited for, in seconds.
    holders : tuple of str
        Some of those who had it when the wait began.
    """

    slug = "lock-timeout"
    name: str
    timeout_s: float
    holders: tuple[str, ...]

    def __init__(self, *, name: str, timeout_s: float, holders: Sequence[str]) -> None:
        super().__init__(
            f"{name!r} was not free within {format_seconds(timeout_s)}; when the wait began it was "
            f"held by {', '.join(holders)}; give a longer timeout_s, or none to wait without end",
            name=name,
            timeout_s=timeout_s,
            holders=tuple(holders),
        )


class SharedTimeoutError(FreestoneError, TimeoutError):
    """A queue had no item or no room, or a variable no value, for as long as was waited.

    Attributes
    ----------
    name : str
        Which queue or variable.
    wanted : str
        What was waited for, such as ``"an item of the queue 'files'"``.
    timeout_s : float
        For how long, in seconds.
    """

    slug = "shared-timeout"
    name: str
    wanted: str
    timeout_s: float

    def __init__(self, *, name: str, wanted: str, timeout_s: float) -> None:
        super().__init__(
            f"{wanted} did not come within {format_seconds(timeout_s)}; give a longer timeout_s, "
            "or none to wait without end",
            name=name,
            wanted=wanted,
            timeout_s=timeout_s,
        )


class QueueClosedError(FreestoneError, EOFError):
    """A queue was closed, or deleted during a wait: nothing can be put, and nothing is left.

    Attributes
    ----------
    name : str
        The queue.
    """

    slug = "queue-closed"
    name: str

    def __init__(self, *, name: str) -> None:
        super().__init__(
            f"the queue {name!r} is closed, or was deleted during the wait: nothing can be put "
            "into it, and nothing is left to be taken; 'for item in queue' ends there, and after "
            "delete() the name can be used anew",
            name=name,
        )


class StreamRestartedError(FreestoneError, RuntimeError):
    """A generator ran again after elements were taken, and may give others, or gave fewer.

    Attributes
    ----------
    label : str
        The generator.
    taken : int
        How many elements had been taken.
    """

    slug = "stream-restarted"
    label: str
    taken: int

    def __init__(self, *, label: str, taken: int) -> None:
        super().__init__(
            f"the generator {label!r} ran again after {taken:,} of its elements were taken, and "
            "what it gives is not what it gave before; one that gives the same each time goes on "
            "where it was (pure=True), of any other take all elements again",
            label=label,
            taken=taken,
        )


class LockLostError(ClusterError, ConnectionError):
    """A lock went to others while a program or task that had it, or waited for it, still ran.

    Attributes
    ----------
    name : str
        The lock.
    reason : str
        Why.
    """

    slug = "lock-lost"
    name: str
    reason: str

    def __init__(self, *, name: str, reason: str) -> None:
        super().__init__(
            f"{name!r} may be another's by now: {reason}; what was done under it may have "
            "happened at the same time as what others did",
            name=name,
            reason=reason,
        )


class ActorEndedError(FreestoneError, RuntimeError):
    """An actor has ended, so that a call of it has no result.

    Attributes
    ----------
    name : str
        The actor's name, or its class's.
    reason : str
        Why it has ended.
    """

    slug = "actor-ended"
    name: str
    reason: str

    def __init__(self, *, name: str, reason: str) -> None:
        super().__init__(
            f"the actor {name!r} has ended: {reason}; cluster.actor() makes another, and with "
            "restarts= one that is lost is made anew",
            name=name,
            reason=reason,
        )


class ActorMissingError(UsageError, KeyError):
    """There is no actor of a name.

    Attributes
    ----------
    name : str
        What was asked for.
    """

    slug = "actor-missing"
    name: str

    def __init__(self, *, name: str) -> None:
        super().__init__(
            f"no actor is called {name!r}, or it has ended; cluster.actor(Class, ..., "
            f"name={name!r}) makes one",
            name=name,
        )
