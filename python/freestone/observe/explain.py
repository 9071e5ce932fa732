"""Why a task waits, or where and when it ran."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from freestone.observe import html
from freestone.observe.calls import call_text
from freestone.units import format_nbytes, format_seconds

__all__ = ["Attempt", "Awaited", "Explanation", "Pause"]

# Of an exception's message, so many characters are shown.
_SHOWN_OF_ERROR = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a task.

    Attributes
    ----------
    worker : str
        Where.
    sent_ns, start_ns : int
        When it was sent there and when it began, or 0 if that is not known (monotonic clock).
    duration_ns : int
        How long it ran.
    ended : str
        ``running``, ``done``, or what went wrong.
    """

    worker: str
    sent_ns: int = 0
    start_ns: int = 0
    duration_ns: int = 0
    ended: str = "running"

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any]) -> Attempt:
        """Make it from the manager's figures."""
        return cls(**figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A wait of a call that has begun.

    Attributes
    ----------
    what : str
        A lock, semaphore, queue or variable by its name, or results of other tasks.
    since_s : float
        For how long it has lasted, in seconds.
    """

    what: str
    since_s: float = 0.0

    def __str__(self) -> str:
        """Tell it, without who waits."""
        return f"has waited for {self.what} for {format_seconds(self.since_s)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited:
    """A task that makes an input which is not there yet.

    Attributes
    ----------
    name, label : str
        The input's name, and the function that makes it.
    call : str
        That with the beginning of its arguments; empty if they are not known.
    stage : str
        ``waiting``, ``ready`` or ``assigned``; ``done`` if its output was lost.
    worker : str or None
        Where it was sent.
    running : bool
        Whether it has begun there.
    since_s : float
        For how long it has been ready, or at its worker, in seconds; 0 while it waits.
    missing : int
        How many inputs of its own are not there.
    pause : Pause or None
        What it waits for in its call.
    """

    name: str
    label: str = ""
    call: str = ""
    stage: str = "waiting"
    worker: str | None = None
    running: bool = False
    since_s: float = 0.0
    missing: int = 0
    pause: Pause | None = None

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any], now_ns: int) -> Awaited:
        """Make it from the manager's figures, at a time of the monotonic clock."""
        given = _readable(figures, now_ns)
        since_s = _seconds_since(given.pop("since_ns"), now_ns)
        return cls(**given, since_s=since_s)

    def __str__(self) -> str:
        """Tell who makes it, and what that does."""
        who = self.call or (f"{self.label} ({self.name[:8]})" if self.label else self.name[:8])
        for_s = format_seconds(self.since_s)
        if self.pause:
            return f"{who}, which runs on {self.worker} and {self.pause}"
        if self.stage == "assigned":
            does = "been running on" if self.running else "been waiting at"
            return f"{who}, which has {does} {self.worker} for {for_s}"
        if self.stage == "ready":
            return f"{who}, which has been ready for {for_s}"
        if self.missing:
            return f"{who}, which waits for {_count(self.missing, 'input')}"
        return who


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a task waits, or where and when it ran.

    Attributes
    ----------
    stage : str
        ``unknown``, ``waiting``, ``ready``, ``assigned``, ``done``, ``failed``, ``cancelled``,
        ``released`` or ``block``.
    label : str
        The task's function.
    call : str
        That with the beginning of its arguments; empty if they are not known.
    pause : Pause or None
        What it waits for in its call.
    waits_for : tuple of str
        Names of inputs that are not there yet.
    awaited : tuple of Awaited
        The tasks that make the first eight of them.
    ahead : int
        Tasks that run before it.
    resources : mapping of str to int
        What it asks for.
    lacking : tuple of str
        Custom resources that others hold, so that it waits.
    attempts : tuple of Attempt
        The last attempts, in order; of a task that failed, up to four.
    attempted : int
        How many attempts there were, those that are no longer listed too.
    replicas : tuple of str
        Workers that have its output.
    nbytes : int or None
        Bytes of its output, if known.
    slots : int or None
        Calls that the cluster's workers run at once, if known; with none, it waits for a worker.
    error : str
        How it failed, in a line.
    dependent : str
        The function that was asked about, if it was not called because the task failed.
    """

    stage: str
    label: str = ""
    call: str = ""
    pause: Pause | None = None
    waits_for: tuple[str, ...] = ()
    awaited: tuple[Awaited, ...] = ()
    ahead: int = 0
    resources: Mapping[str, int] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    attempted: int = 0
    replicas: tuple[str, ...] = ()
    nbytes: int | None = None
    slots: int | None = None
    error: str = ""
    dependent: str = ""

    @classmethod
    def from_dict(cls, figures: Mapping[str, Any]) -> Explanation:
        """Make it from the manager's figures, attempts nested as mappings."""
        attempts = tuple(Attempt.from_dict(attempt) for attempt in figures.get("attempts", ()))
        lists = {key: tuple(figures.get(key, ())) for key in ("waits_for", "replicas", "lacking")}
        now_ns = time.monotonic_ns()
        awaited = tuple(Awaited.from_dict(task, now_ns) for task in figures.get("awaited", ()))
        given = {**_readable(figures, now_ns), **lists}
        return cls(**{**given, "attempts": attempts, "awaited": awaited})

    @property
    def is_running(self) -> bool:
        """Whether its worker has had a slot for it, and no result has come yet."""
        return self.stage == "assigned" and bool(self.attempts and self.attempts[-1].start_ns)

    def with_error(self, error: BaseException, dependent: str = "") -> Explanation:
        """Return it with what the program knows of the failure.

        Parameters
        ----------
        error
            What the future's `exception` returns.
        dependent
            The function that was asked about, if the task that failed makes an input of it.
        """
        first = (str(error).splitlines() or [""])[0]
        text = f"{type(error).__name__}: {first:.{_SHOWN_OF_ERROR}}".removesuffix(": ")
        # The arguments that the program knows are those of the call that was asked about.
        call = "" if dependent else self.call
        return replace(self, error=text, dependent=dependent, call=call)

    def __str__(self) -> str:
        """Tell it in sentences: its state, a line for each attempt that is known, its output."""
        attempts = self.attempts
        lines = [_state(self)]
        unknown = max(0, self.attempted - len(attempts))
        first = f"attempt {unknown + 1}" if unknown else "the first"
        for number, attempt in enumerate(attempts, unknown + 1):
            after_s = (attempt.sent_ns - attempts[0].sent_ns) / 1e9
            sent = f", sent {format_seconds(after_s)} after {first}" if number > unknown + 1 else ""
            lines.append(_attempt(number, attempt, sent))
        output = _output(self)
        return "\n".join([*lines, output] if output else lines)

    def _repr_html_(self) -> str:
        first, *rest = (html.escaped(line) for line in str(self).splitlines())
        lines = "".join(f'<div style="{html.MONO}">{line.strip()}</div>' for line in rest)
        return html.card(f"{html.dot(self.stage)}{first}{lines}")


def _readable(figures: Mapping[str, Any], now_ns: int) -> dict[str, Any]:
    """Return a task's figures with its call in words, and since when it waits."""
    given = dict(figures)
    arguments, pause = given.pop("arguments", None), given.pop("pause", None)
    if arguments is not None:
        given["call"] = call_text(given["label"], arguments)
    if pause is not None:
        given["pause"] = Pause(what=pause[0], since_s=_seconds_since(pause[1], now_ns))
    return given


def _seconds_since(at_ns: int, now_ns: int) -> float:
    return max(0, now_ns - at_ns) / 1e9 if at_ns else 0.0


def _state(explanation: Explanation) -> str:
    what = "the block" if explanation.stage == "block" else "the task"
    who = explanation.call or (f"{explanation.label!r}" if explanation.label else what)
    runs = max(explanation.attempted, len(explanation.attempts))
    return {
        "unknown": "the cluster does not know this name: it was released or never submitted",
        "waiting": f"{who} waits for {_inputs(explanation)}",
        "ready": f"{who} is ready and waits for {_room(explanation)}",
        "assigned": f"{who} is at {_last_worker(explanation)}",
        "done": f"{who} is done" if runs else f"{who} is done: a retained block answered it",
        "failed": _failure(explanation, who, runs),
        "cancelled": f"{who} was cancelled, or a task whose output it takes",
        "released": f"{who} is done and its output was released: nothing needed it any more",
        "block": f"{who} is there: it was put, or the task that made it has been forgotten",
    }.get(explanation.stage, f"{who} is {explanation.stage}")


def _failure(explanation: Explanation, who: str, runs: int) -> str:
    when = f"after {_count(runs, 'attempt')}" if runs else "before it was tried"
    error = f": {explanation.error}" if explanation.error else ""
    dependent = explanation.dependent
    asked = f"{dependent} was not called, because an input is missing: " if dependent else ""
    return f"{asked}{who} failed {when}{error}"


def _inputs(explanation: Explanation) -> str:
    names, makers = explanation.waits_for, {task.name: task for task in explanation.awaited}
    if not names:
        return "its inputs"
    if len(names) == 1 and makers:
        return str(makers[names[0]])
    shown = "; ".join(str(makers.get(name, name[:8])) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{_count(len(names), 'input')}: {shown}{more}"


def _room(explanation: Explanation) -> str:
    if explanation.slots == 0:
        return "a worker to join: there is none that runs calls"
    needs = ", ".join(
        f"{format_nbytes(amount)} of {key}" if key in ("memory", "disk") else f"{amount} {key}"
        for key, amount in explanation.resources.items()
        if amount
    ).replace("1 cores", "1 core")
    ahead = f", behind {_count(explanation.ahead, 'task')}" if explanation.ahead else ""
    room = f"a worker with {needs or 'a free executor'} free{ahead}".replace("free free", "free")
    return room + _lacking(explanation)


def _lacking(explanation: Explanation) -> str:
    names = " and ".join(map(repr, explanation.lacking))
    return f"; other tasks hold all of {names}" if names else ""


def _last_worker(explanation: Explanation) -> str:
    if not explanation.attempts:
        return "a worker"
    last = explanation.attempts[-1]
    if last.start_ns:
        return f"{last.worker} and {explanation.pause or 'runs'}"
    ahead = f" behind {_count(explanation.ahead, 'task')}" if explanation.ahead else ""
    return f"{last.worker} and waits there{ahead}{_lacking(explanation)}"


def _attempt(number: int, attempt: Attempt, when: str) -> str:
    if attempt.ended == "running" and not attempt.start_ns:
        return f"  attempt {number} on {attempt.worker}{when}: not begun"
    wait_ns = attempt.start_ns - attempt.sent_ns
    waited = f", waited {format_seconds(wait_ns / 1e9)}" if attempt.start_ns and wait_ns > 0 else ""
    ran = f", ran {format_seconds(attempt.duration_ns / 1e9)}" if attempt.duration_ns else ""
    return f"  attempt {number} on {attempt.worker}{when}{waited}{ran}: {attempt.ended}"


def _output(explanation: Explanation) -> str:
    if explanation.nbytes is None:
        return ""
    size = format_nbytes(explanation.nbytes)
    if explanation.replicas:
        return f"  output: {size} on {', '.join(explanation.replicas)}"
    return f"  output: {size}, held by the manager" if explanation.stage == "done" else ""


def _count(amount: int, noun: str) -> str:
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"
