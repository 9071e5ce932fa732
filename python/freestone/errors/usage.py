"""What was asked for can't be done, or not in the time given."""

from __future__ import annotations

from collections.abc import Iterable

from freestone.errors.base import FreestoneError
from freestone.units import format_nbytes, format_seconds


class UsageError(FreestoneError):
    """What was asked for can't be done."""

    slug = "usage"


class PluginError(UsageError, ImportError):
    """What another package offers by an entry point can't be used.

    Attributes
    ----------
    group, entry_point, value : str
        The entry point: its group, its name, and where it leads.
    distribution : str
        The package that has it, with its version.
    reason : str
        Why.
    """

    slug = "plugin"
    group: str
    entry_point: str
    value: str
    distribution: str
    reason: str

    def __init__(
        self, *, group: str, entry_point: str, value: str, distribution: str, reason: str
    ) -> None:
        super().__init__(
            f"{entry_point!r} of {distribution} (entry point {entry_point} = {value} in {group}) "
            f"{reason}",
            group=group,
            entry_point=entry_point,
            value=value,
            distribution=distribution,
            reason=reason,
        )


class ConfigurationError(UsageError, ValueError):
    """A setting is unknown or has a wrong value.

    Attributes
    ----------
    key : str
        The setting.
    origin : str
        Where it was given: ``keyword``, ``--set``, an environment variable, or a file.
    """

    slug = "configuration"
    key: str
    origin: str

    def __init__(self, problem: str, *, key: str, origin: str) -> None:
        super().__init__(f"{problem} (given by {origin})", key=key, origin=origin)


class CycleError(UsageError, ValueError):
    """Tasks that wait for each other.

    Attributes
    ----------
    cycle : tuple of str
        The keys or labels along it; the last waits for the first.
    """

    slug = "cycle"
    cycle: tuple[str, ...]

    def __init__(self, cycle: Iterable[object]) -> None:
        keys = tuple(map(str, cycle))
        shown = " -> ".join(keys if len(keys) <= 8 else (*keys[:6], "...", keys[-1]))
        super().__init__(
            f"these {len(keys)} tasks wait for each other: {shown} -> {keys[0]}; "
            "take one of the arrows away",
            cycle=keys,
        )


class MissingKeyError(UsageError, KeyError):
    """A key that is asked for, or that a task needs, is not in the graph.

    Attributes
    ----------
    key : object
        The key.
    needed_by : object
        The key of the task that needs it; None if it is asked for.
    """

    slug = "missing-key"
    key: object
    needed_by: object

    def __init__(self, *, key: object, needed_by: object = None) -> None:
        who = "it is asked for" if needed_by is None else f"task {needed_by!r} needs it"
        super().__init__(
            f"there is no key {key!r} in the graph, and {who}; look for a typing error, or for a "
            "layer that was culled although it is needed",
            key=key,
            needed_by=needed_by,
        )


class NotAssociativeError(UsageError, ValueError):
    """A reducer was declared to be associative, and is not.

    Attributes
    ----------
    label : str
        The reducer.
    how : str
        The grouping, or order, that gives another result.
    """

    slug = "not-associative"
    label: str
    how: str

    def __init__(self, *, label: str, how: str) -> None:
        super().__init__(
            f"{label!r} was declared with associative(), but {how} is not f(a, b, c) for three of "
            "its values; take the declaration back, give combine=, or run with tree=False",
            label=label,
            how=how,
        )


class ForeignFutureError(UsageError, ValueError):
    """A future of another cluster.

    Attributes
    ----------
    label, name : str
        The future's.
    """

    slug = "foreign-future"
    label: str
    name: str

    def __init__(self, *, label: str, name: str) -> None:
        super().__init__(
            f"the future of {label!r} ({name[:8]}) belongs to another cluster; "
            "pass its result() instead, or submit it to the cluster where it is used",
            label=label,
            name=name,
        )


class ClosedError(UsageError, RuntimeError):
    """The cluster was closed.

    Attributes
    ----------
    action : str
        What was asked of it.
    """

    slug = "closed"
    action: str

    def __init__(self, action: str) -> None:
        super().__init__(
            f"can't {action}: the cluster is closed, or was stopped, or this program has closed "
            "its connection; do it inside 'with freestone.Cluster():' or 'with "
            "freestone.connect():', and keep what must outlive a cluster with keep='forever'",
            action=action,
        )


class NotSerializableError(UsageError, TypeError):
    """A value or function can't be sent to another process.

    Attributes
    ----------
    what : str
        ``argument``, ``result``, ``function``, ``event``, or ``checkpoint`` of an actor.
    where : str
        The value's path inside, such as ``args[0]['lock']`` or ``closure variable 'lock'``.
    kind : str
        The value's type.
    label : str
        The function, the event or the actor.
    """

    slug = "not-serializable"
    what: str
    where: str
    kind: str
    label: str

    def __init__(
        self, *, what: str, where: str, kind: str, label: str = "", reason: str = ""
    ) -> None:
        is_named = what in ("function", "event")
        of = "" if not label else f" {label!r}" if is_named else f" of {label!r}"
        because = f": {reason}" if reason else ""
        advice = {
            "argument": "pass what it is made from and make it inside the function",
            "result": "return plain data, or what it can be made from again",
            "function": "make it inside the function, or pass it as an argument",
            "checkpoint": "leave it out in a method __getstate__ of the class and make it again in "
            "__setstate__, or make the actor without checkpoint=",
        }.get(what, "send what it is made from")
        if (what, kind) == ("result", "generator"):
            advice = "cluster.stream gives what it yields, while it runs; or return a list"
        if kind == "_contextvars.ContextVar":
            advice = (
                "pass what its get() returns as an argument, or define it in a module that calls "
                "import, where it has its default"
            )
        if kind.endswith((".Future", "_asyncio.Task")):
            wait = "await future" if "asyncio" in kind else "future.result()"
            advice = (
                f"send its value, {wait}: only futures of a cluster and of cluster.executor() "
                "stand for theirs"
            )
        # What freestone's own types say is what to do.
        then = "" if reason and kind.startswith("freestone.") else f"; {advice}"
        act = "saved" if what == "checkpoint" else "sent"
        super().__init__(
            f"the {what}{of} can't be {act}: {where} is of type {kind}{because}{then}",
            what=what,
            where=where,
            kind=kind,
            label=label,
        )


class MessageTooLargeError(UsageError, ValueError):
    """A function, the arguments of a call or its result are more than a message can carry.

    Attributes
    ----------
    part : str
        ``function``, ``arguments`` or ``result``.
    label : str
        The function.
    nbytes, limit : int
        How large it is, and what a message can carry, in bytes.
    """

    slug = "message-too-large"
    part: str
    label: str
    nbytes: int
    limit: int

    def __init__(self, *, part: str, label: str, nbytes: int, limit: int) -> None:
        what, advice = {
            "function": (
                f"the function {label!r} and what it captures take",
                "give it large values as arguments, or cluster.put() them and give it the futures",
            ),
            "arguments": (
                f"the arguments of a call of {label!r}, with the small results among them, take",
                "cluster.put() large values that stand beside futures and give it their futures; "
                "combine many small results by fs.reduce, or open the cluster with a smaller "
                "inline_nbytes, so that they are blocks",
            ),
            "result": (
                f"the small results of a call of {label!r} together take",
                "return fewer of them, or open the cluster with a smaller inline_nbytes, so that "
                "they are blocks",
            ),
        }[part]
        super().__init__(
            f"{what} {format_nbytes(nbytes)}, and a message carries at most "
            f"{format_nbytes(limit)}; {advice}",
            part=part,
            label=label,
            nbytes=nbytes,
            limit=limit,
        )


class WaitTimeoutError(FreestoneError, TimeoutError):
    """The wait ended before the task did, which goes on unless the message says otherwise.

    Attributes
    ----------
    timeout_s : float
        How long was waited, in seconds.
    pending : int
        How many tasks had not ended.
    """

    slug = "wait-timeout"
    timeout_s: float
    pending: int

    def __init__(
        self,
        *,
        timeout_s: float,
        pending: int = 1,
        cancelled: bool = False,
        restarted: bool = False,
    ) -> None:
        tasks = "1 task has" if pending == 1 else f"{pending} tasks have"
        fate = (
            f"{'is' if pending == 1 else 'are'} cancelled; wait longer"
            if cancelled
            else "will go on; wait longer, cancel, or ask cluster.explain(future) why"
        )
        problem = f"{tasks} not ended after {format_seconds(timeout_s)}, and {fate}"
        if restarted:
            workers = "1 worker" if pending == 1 else f"{pending} workers"
            problem = (
                f"the new executors of {workers} take no calls after {format_seconds(timeout_s)}; "
                "they go on starting, and calls wait for them"
            )
        super().__init__(
            problem,
            timeout_s=timeout_s,
            pending=pending,
        )


class WorkersMissingError(FreestoneError, TimeoutError):
    """Fewer workers had joined than were waited for.

    Attributes
    ----------
    wanted, there : int
        How many were waited for, and how many there were.
    timeout_s : float
        How long was waited, in seconds.
    """

    slug = "workers-missing"
    wanted: int
    there: int
    timeout_s: float

    def __init__(self, *, wanted: int, there: int, timeout_s: float) -> None:
        super().__init__(
            f"{there} of {wanted} workers take calls after {format_seconds(timeout_s)}; look at "
            "what the others printed and whether their engine has room for them, wait longer, or "
            "go on with those that are there: others get work when they come",
            wanted=wanted,
            there=there,
            timeout_s=timeout_s,
        )
