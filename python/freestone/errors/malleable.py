"""Jobs that change their number of processes."""

from __future__ import annotations

from freestone.errors.base import FreestoneError


class MalleableError(FreestoneError):
    """Something about a job that changes its number of processes."""

    slug = "malleable"


class NoSpawnError(MalleableError, RuntimeError):
    """MPI, or the way it was started, can't start processes in mid-run."""

    slug = "no-spawn"


class NoThreadsError(MalleableError, RuntimeError):
    """MPI, as it was started, can't be called by several threads at once."""

    slug = "no-threads"


class RegistrationError(MalleableError, ValueError):
    """Data is registered differently on two ranks, or is not what was announced.

    Attributes
    ----------
    name : str
        The data's.
    """

    slug = "registration"
    name: str


class CheckpointSkippedError(MalleableError, RuntimeError):
    """Ranks are at different steps: one of them has skipped the head of a step.

    Attributes
    ----------
    steps : tuple of int
        The lowest and the highest step of any rank.
    """

    slug = "checkpoint-skipped"
    steps: tuple[int, int]


class ResizeTimeoutError(MalleableError, TimeoutError):
    """Other ranks did not answer in time.

    Attributes
    ----------
    timeout_s : float
        How long was waited.
    """

    slug = "resize-timeout"
    timeout_s: float


class SavedStateError(MalleableError, ValueError):
    """A file is not the state of a job, or damaged.

    Attributes
    ----------
    path : str
        The file.
    """

    slug = "saved-state"
    path: str


class SpawnFailedError(MalleableError, RuntimeError):
    """New processes were refused, or ended before they had joined."""

    slug = "spawn-failed"


class JoiningError(MalleableError, RuntimeError):
    """A joining rank can't do what the program does before the loop that the others are in."""

    slug = "joining"
