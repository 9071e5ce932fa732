"""Actors: objects that live in one process each, and whose methods are called from elsewhere.

See docs/decisions/080-a-call-of-an-actor-is-a-task-that-waits-for-the-actors-end.md
"""

from __future__ import annotations

import functools
import inspect
import uuid
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pickle import PicklingError
from typing import TYPE_CHECKING, Any, Final, Generic, Never

from freestone import _native
from freestone.client.acting import Input, Life, call_name, ended, replaced, serve
from freestone.client.future import Future
from freestone.client.generic import T
from freestone.client.named import Named, check_timeout
from freestone.client.variables import Variable
from freestone.errors import (
    ActorEndedError,
    ActorMissingError,
    NameTakenError,
    SharedTimeoutError,
    TaskCancelledError,
    WaitTimeoutError,
    did_you_mean,
)
from freestone.functions.serializing import not_serializable

if TYPE_CHECKING:
    from freestone.client.local import LocalClient

__all__ = ["Actor", "ActorMethod", "find", "make"]

_WAITS: Final = {"pure": False, "retries": 0}
"""Options of what waits for a call's result."""
_MORE_KILLS: Final = 100
"""As often may an actor be moved, or end its process before it can say that it has begun."""


@dataclass(frozen=True)
class _Known:
    """What a program knows of an actor: its life, and the task that is its life."""

    life: Life
    task: bytes
    methods: tuple[str, ...]


class Actor(Named, Generic[T]):
    """A handle to an actor, from `Cluster.actor`: ``actor.method(x)`` gives a future.

    Sent to a task it is the same actor there.
    """

    def __init__(self, client: LocalClient | None, known: _Known, task: Future | None) -> None:
        super().__init__(client, known.life.label)
        self._known = known
        self._tasks = {} if task is None else {id(client): task}
        self._numbers: dict[tuple[int, str], int] = {}

    def close(self, *, now: bool = False, timeout_s: float | None = None) -> None:
        """End the actor once the calls that were submitted before are done, and wait for that.

        A method ``close`` of its class is called then, by the actor itself.

        Parameters
        ----------
        now
            End its process at once: calls that have not ended are cancelled, also those of other
            programs and tasks, and later ones raise `ActorEndedError`.
        timeout_s
            How long to wait, in seconds; None waits for as long as it takes.

        Raises
        ------
        SharedTimeoutError
            When the time is over; the actor ends all the same.
        Exception
            What ended the actor before: what its class or its ``close`` raised, or that it was
            lost.
        """
        check_timeout(timeout_s)
        client = self._open("close")
        task = self._task(client)
        if now:
            # Others may need it too: who made it, and those whose calls wait for its end.
            _native.manager.cancel_for_all(client.manager, self._known.task)
        else:
            _stop(client, self._known.life)
        try:
            error = task.exception(timeout_s)
        except WaitTimeoutError:
            wanted = f"the end of the actor {self.name!r}"
            raise SharedTimeoutError(
                name=self.name, wanted=wanted, timeout_s=timeout_s or 0.0
            ) from None
        if error is not None and not (now and isinstance(error, TaskCancelledError)):
            raise error

    def __getattr__(self, name: str) -> ActorMethod:
        if name.startswith("_"):
            raise AttributeError(f"an actor has no attribute {name!r}", name=name, obj=self)
        methods = self._known.methods
        if name not in methods:
            hint = did_you_mean(name, methods) or f": it has {', '.join(methods) or 'none'}"
            problem = f"the actor {self._known.life.label!r} has no method {name!r}{hint}"
            raise AttributeError(
                f"{problem}. Its attributes are in its own process: a method can return them",
                name=name,
                obj=self,
            )
        return ActorMethod(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_") and name != "name":
            raise AttributeError(
                f"{name!r} of the actor {self.name!r} can't be set from here: its attributes are "
                "in its own process, where a method can set them",
                name=name,
                obj=self,
            )
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._known.methods})

    def _call(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future:
        client = self._open("call")
        life, label = self._known.life, f"{self._known.life.kind}.{method}"
        if self._task(client).cancelled():
            raise ActorEndedError(name=life.label, reason="it was closed by close(now=True)")
        inputs: list[Future] = []

        def position(future: Future) -> Input:
            inputs.append(future)
            return Input(len(inputs) - 1)

        given = replaced((args, kwargs), Future, position)
        key = (id(client), method)
        if key not in self._numbers:
            self._numbers[key] = client.define(ended, label)
        waiting = (self._task(client), *inputs)
        result: Future = client.call(self._numbers[key], waiting, _WAITS)
        names = [(bytes.fromhex(future.name), future.label) for future in inputs]
        try:
            content = client.manager.put((method, given, names), "task", call_name(result))
        except (TypeError, AttributeError, PicklingError) as error:
            client.cancel([result])
            raise not_serializable("argument", (args, kwargs), label, error) from None
        except BaseException:
            client.cancel([result])
            raise
        _native.manager.SharedItem.put(client.manager, life.title, 0, content, client.task_worker)
        return result

    def _task(self, client: LocalClient) -> Future:
        """Return the future of the task that is the actor's life."""
        task = self._tasks.get(id(client))
        if task is None:
            task = client.manager.watch(self._known.task, self._known.life.label)
            self._tasks[id(client)] = task
        return task

    def _kind(self) -> str:
        return "an actor"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, self._known, None)

    def __repr__(self) -> str:
        return f"<actor {self.name!r}>"


class ActorMethod:
    """A method of an actor: its call gives a future."""

    def __init__(self, actor: Actor, name: str) -> None:
        self._actor = actor
        self.__name__: str = name

    def __call__(self, *args: Any, **kwargs: Any) -> Future:
        """Submit a call, which comes after those that this program has submitted before."""
        return self._actor._call(self.__name__, args, kwargs)

    def __repr__(self) -> str:
        return f"<method {self.__name__!r} of {self._actor!r}>"


def make(
    client: LocalClient,
    kind: type[T],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str | None,
    restarts: int,
    checkpoint: int | None,
    options: Mapping[str, Any],
) -> Actor[T]:
    """Make an actor; see `Cluster.actor`."""
    _check(kind, name, restarts, checkpoint)
    # Before the task is submitted: of an actor that is refused not even the constructor may run.
    version = None if name is None else _free_version(client, name)
    label = kind.__qualname__.rpartition(".")[2]
    life = Life(
        title=f"freestone: actor {uuid.uuid4().hex}",
        label=label if name is None else name,
        kind=label,
        name=name,
        restarts=restarts,
        checkpoint=checkpoint,
    )
    given = dict(options) | {
        "name": f"actor {life.label}",
        "pure": False,
        "retries": 0,
        "kills": restarts + _MORE_KILLS,
        # It sees by itself that it begins again, and how often it may.
        "rerun": True,
    }
    # As a part of the function the class is found wherever functions are.
    function = functools.partial(serve, kind)
    task: Future = client.submit(function, (life, args, kwargs), {}, given)
    known = _Known(life, bytes.fromhex(task.name), _methods(kind))
    actor: Actor[T] = Actor(client, known, task)
    if name is None:
        weakref.finalize(actor, _stop_if_open, client, life).atexit = False
        return actor
    try:
        if not _variable(client, name)._store(client, known, version):
            raise NameTakenError(what="actor", name=name)
    except BaseException:
        client.cancel([task])
        raise
    # It outlives the program. Not before it has the name: a program can't cancel what it detached.
    client.detach([task])
    return actor


def find(client: LocalClient, name: str) -> Actor:
    """Return the actor of a name."""
    known, _ = _variable(client, name)._read(client, None)
    if known is None or _has_ended(client, known):
        raise ActorMissingError(name=name)
    return Actor(client, known, None)


def _variable(client: LocalClient, name: str) -> Variable[_Known | None]:
    return Variable(client, f"freestone: the actor that is called {name}", None)


def _free_version(client: LocalClient, name: str) -> int:
    """Return the version of the variable of a name that no actor has now."""
    other, version = _variable(client, name)._read(client, None)
    if other is not None and not _has_ended(client, other):
        raise NameTakenError(what="actor", name=name)
    return version


def _has_ended(client: LocalClient, known: _Known) -> bool:
    task = client.manager.watch(known.task, known.life.label)
    # Answered after what the manager says of the task.
    client.who_has([])
    return bool(task.done())


def _methods(kind: type) -> tuple[str, ...]:
    """Return the names of the methods of a class that others may call."""
    public = (name for name in dir(kind) if not name.startswith("_"))
    static = ((name, inspect.getattr_static(kind, name)) for name in public)
    callables = (staticmethod, classmethod)
    return tuple(name for name, one in static if callable(one) or isinstance(one, callables))


def _check(kind: object, name: object, restarts: object, checkpoint: object) -> None:
    if not isinstance(kind, type):
        _refuse_kind(kind)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name={name!r:.80}: the name of an actor is text")
    for key, value, least in (("restarts", restarts, 0), ("checkpoint", checkpoint, 1)):
        if value is None and key == "checkpoint":
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**31:
            raise ValueError(f"{key}={value!r:.80}: a whole number from {least} to {2**31 - 1:,}")
    if checkpoint is not None and not restarts:
        raise ValueError(
            f"checkpoint={checkpoint} without restarts=: the state is saved for a restart; say "
            "how many there may be"
        )


def _refuse_kind(kind: object) -> Never:
    what = f"{kind!r:.80} ({type(kind).__name__})"
    if callable(kind):
        hint = "a function is called by submit()"
    else:
        hint = "was it called first, as in actor(Counter())? Write actor(Counter)"
    raise TypeError(f"an actor is made from a class and its arguments, not {what}: {hint}")


def _stop(client: LocalClient, life: Life) -> None:
    """Have an actor end after what was submitted before."""
    nothing = client.manager.put(None)
    _native.manager.SharedItem.put(client.manager, life.title, 0, nothing, client.task_worker)


def _stop_if_open(client: LocalClient, life: Life) -> None:
    if not client.closed:
        _stop(client, life)
