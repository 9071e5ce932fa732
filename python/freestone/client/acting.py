"""The life of an actor, in an executor: it takes calls from its queue, one after the other."""

from __future__ import annotations

import inspect
import os
import pickle
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Never

from freestone import _native, functions
from freestone.client import nested
from freestone.client.future import Future
from freestone.client.locks import Lock
from freestone.client.named import PAUSE_AFTER_S
from freestone.client.pausing import awaited, paused
from freestone.client.variables import Variable
from freestone.errors import ActorEndedError, ClosedError
from freestone.functions.serializing import not_serializable

if TYPE_CHECKING:
    import asyncio

__all__ = ["Input", "Life", "call_name", "ended", "replaced", "serve"]

_AHEAD: Final = 64
"""So many calls are asked for before they can begin."""
_UNCONFIRMED: Final = 32
"""So many calls may be done of which the manager has not heard."""
_LOOK_INTERVAL_S: Final = 0.02
"""How often to look whether a second worker has a state."""
_REPLICATION_TIMEOUT_S: Final = 10.0
"""How long to wait for that, where no other worker may have room."""
_LOSS_S: Final = 1.0
"""Within this the sockets of a process that was killed are closed, one after the other."""


@dataclass(frozen=True)
class Life:
    """What an actor is.

    Attributes
    ----------
    title : str
        The name of its queue, and of its variables.
    label, kind : str
        Its name and its class's, for people.
    name : str or None
        By which programs find it.
    restarts : int
        How often it may be made anew.
    checkpoint : int or None
        After how many calls its state is saved.
    """

    title: str
    label: str
    kind: str
    name: str | None
    restarts: int
    checkpoint: int | None

    def starts(self) -> Variable[int]:
        """Return the variable that counts how often it was made."""
        return Variable(None, f"{self.title}, starts", 0)

    def state(self) -> Variable[tuple[int, bytes] | None]:
        """Return the variable with its state: that after a call, and which call."""
        return Variable(None, f"{self.title}, state", None)

    def next_state(self) -> Variable[tuple[int, bytes] | None]:
        """Return the variable that has the next state until a second worker has it, too."""
        return Variable(None, f"{self.title}, next state", None)


@dataclass(frozen=True)
class _Checkpoint:
    """A state that is being saved."""

    state: Future
    calls: int
    """How many of those that were done since the last one it covers."""
    begun_s: float


@dataclass(frozen=True)
class Input:
    """What stands for a future among the arguments of a call."""

    position: int


@dataclass
class _Call:
    """A call that the actor has asked for."""

    entry: _native.manager.SharedItem
    turn: int = 0
    result: Future | None = None
    content: Future | None = None


class _Retired(BaseException):
    """The worker is to be let go."""


def call_name(result: Future) -> bytes:
    """Return the name of the block with a call, from that of its result."""
    return _other_name(bytes.fromhex(result.name))


def _other_name(name: bytes) -> bytes:
    """Return the result's name for the call's, and the call's for the result's."""
    return bytes((name[0] ^ 1, *name[1:]))


def ended(life: object, *_: object) -> Never:
    """Raise, as the call of an actor that has ended: else it had been given its result before."""
    raise ActorEndedError(name=str(life), reason="it was closed before this call came")


def replaced(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """Return a value with others in place of those of a class, also in lists, tuples and dicts."""
    if isinstance(value, kind):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(replaced(one, kind, change) for one in value)
    if type(value) is dict:
        return {key: replaced(one, kind, change) for key, one in value.items()}
    return value


def serve(kind: type, life: Life, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Make an actor, and run its calls until it is closed: a task that is the actor's life."""
    # Of a process that was lost the manager may hear after the next one begins. When it lets go of
    # this lock, what that one had taken is back in the queue.
    with Lock(None, life.title, None, None):
        try:
            _live(life, kind, args, kwargs)
        finally:
            # Of a worker that is lost the actor goes on elsewhere, with what the cluster has of it.
            if not _is_lost(sys.exception()):
                _forget(life)
    return life.label


def _live(life: Life, kind: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    starts = life.starts().update(lambda number: number + 1)
    if starts > life.restarts + 1:
        times = "once" if starts == 2 else f"{starts - 1} times"
        reason = f"its process was lost {times}, and restarts={life.restarts}"
        raise ActorEndedError(name=life.label, reason=reason)
    state = life.state().get()
    if state is None:
        turn, made = 0, kind(*args, **kwargs)
    else:
        turn, made = state[0], pickle.loads(state[1])
        if life.checkpoint is None:
            # It has moved. If this process is lost, it is made anew.
            life.state().delete()
    _Acting(life, made, turn, has_left=starts > 1).run()


def _is_lost(error: BaseException | None) -> bool:
    """Tell whether the worker of this process is lost, which an error may be the first sign of."""
    return not nested.has_worker(_LOSS_S if isinstance(error, OSError) else 0.0)


def _forget(life: Life) -> None:
    """Take away what the cluster has of an actor that has ended."""
    client = nested.client()
    assert client is not None
    _native.manager.delete_queue(client.manager, life.title)
    # The next call would make it again.
    _native.manager.close_queue(client.manager, life.title, 0)
    life.starts().delete()
    life.state().delete()
    life.next_state().delete()


class _Acting:
    """An actor: an object and its calls.

    Parameters
    ----------
    life
        What it is.
    made
        The object.
    turn
        The last call whose effects it has.
    has_left
        Whether a process was lost in which it lived before.
    """

    def __init__(self, life: Life, made: Any, turn: int, *, has_left: bool) -> None:
        client = nested.client()
        assert client is not None
        self._life = life
        self._client = client
        self._object = made
        self._turn = self._first = turn
        self._repeats = has_left and life.checkpoint is not None
        self._calls: deque[_Call] = deque()
        self._seen = 0
        self._done: list[_native.manager.SharedItem] = []
        self._saving: _Checkpoint | None = None
        self._looked_s = 0.0
        self._moves = True
        self._loop: asyncio.Runner | None = None

    def run(self) -> None:
        """Run calls until the actor is closed."""
        while True:
            try:
                call = self._next()
            except _Retired:
                self._move()
                continue
            if call.turn <= self._first:
                call.entry.finish(waits=False)
                continue
            content = self._content(call)
            if content is None:
                break
            if not self._is_wanted(call):
                call.entry.finish(waits=False)
                continue
            self._act(call, *content)
            self._turn = call.turn
            self._done.append(call.entry)
            self._confirm()
        self._confirm(all_of_them=True)
        if callable(close := getattr(self._object, "close", None)):
            self._awaited(close())
        if self._loop is not None:
            self._loop.close()

    def _next(self) -> _Call:
        """Wait for the next call."""
        while len(self._calls) < _AHEAD:
            entry = _native.manager.SharedItem.take(
                self._client.manager, self._life.title, 0, self._client.task_worker, self._moves
            )
            self._calls.append(_Call(entry))
        first = self._calls[0].entry
        if first.state[0] == "waiting":
            if self._life.checkpoint is None:
                self._confirm(all_of_them=True)
            while self._saving is not None and not first.wait(_LOOK_INTERVAL_S):
                self._complete_save()
            if not first.wait(PAUSE_AFTER_S):
                with paused(f"calls of the actor {self._life.label!r}"):
                    first.wait()
        self._look()
        call = self._calls.popleft()
        self._seen = max(self._seen - 1, 0)
        state, call.turn = call.entry.state
        if state == "item":
            return call
        if state == "ended":
            self._calls.clear()
            self._seen = 0
            raise _Retired
        self._client.require_open("wait for calls")
        raise ClosedError("wait for calls")

    def _look(self) -> None:
        """Ask for what was granted, before it is needed."""
        while self._seen < len(self._calls):
            call = self._calls[self._seen]
            if (item := call.entry.item) is None:
                return
            name, label = item
            call.result = self._client.manager.watch(_other_name(name), label)
            # Else the actor would need it itself, and its program could not cancel it.
            _native.manager.let_go(self._client.manager, call.result)
            call.content = self._client.manager.watch(name, label)
            self._seen += 1

    def _content(self, call: _Call) -> tuple[Any, ...] | None:
        """Return the method, its arguments and their inputs; None if the actor is to end."""
        assert call.content is not None
        if (lost := call.content.exception()) is not None:
            self._fail(call, lost)
            return "", (), ()
        content: tuple[Any, ...] | None = call.content.result()
        return content

    def _is_wanted(self, call: _Call) -> bool:
        """Tell whether a call is to be done, which may be cancelled, or have its result.

        With a checkpoint what was done since it is done again: the state is to be what it was.
        """
        assert call.result is not None
        return not call.result.done() or (self._repeats and not call.result.cancelled())

    def _act(self, call: _Call, method: str, given: Any, names: Any) -> None:
        """Run a call."""
        assert call.result is not None
        try:
            inputs = [self._client.manager.watch(*name) for name in names]
            args, kwargs = replaced(given, Input, lambda one: inputs[one.position].result())
            value = self._awaited(getattr(self._object, method)(*args, **kwargs))
        except BaseException as error:
            trace = error.__traceback__
            self._fail(call, error.with_traceback(trace and (trace.tb_next or trace)))
            return
        if not call.result.done():
            self._fulfil(call, value, f"{self._life.kind}.{method}")

    def _awaited(self, value: Any) -> Any:
        """Return the value of what an async method gives."""
        if not inspect.isawaitable(value) or isinstance(value, Future):
            return value
        if self._loop is None:
            import asyncio

            self._loop = asyncio.Runner()
        return self._loop.run(awaited(value))

    def _fulfil(self, call: _Call, value: Any, label: str) -> None:
        assert call.result is not None
        name = bytes.fromhex(call.result.name)
        try:
            block = self._client.manager.put(value, "task", name)
            # What is not in place yet would be lost with this worker, and nobody make it again.
            error = None if block.done() else block.exception()
        except Exception as problem:
            if _is_lost(problem):
                raise
            error = not_serializable("result", value, label, problem)
        if error is not None:
            self._fail(call, error, in_encoding=True)

    def _fail(self, call: _Call, error: BaseException, *, in_encoding: bool = False) -> None:
        assert call.result is not None
        name, worker = bytes.fromhex(call.result.name), self._client.task_worker
        assert worker is not None
        described = functions.described(error)
        _native.manager.fail_call(self._client.manager, name, worker, described, in_encoding)

    def _confirm(self, *, all_of_them: bool = False) -> None:
        """Say of calls that they are done, so that they do not come again after a restart."""
        if not all_of_them and self._life.checkpoint is not None:
            if self._saving is not None:
                self._complete_save()
            elif len(self._done) >= self._life.checkpoint:
                self._save()
        elif all_of_them or len(self._done) >= _UNCONFIRMED:
            self._finish(len(self._done))

    def _finish(self, calls: int) -> None:
        for entry in self._done[:calls]:
            entry.finish(waits=False)
        del self._done[:calls]

    def _save(self) -> None:
        """Begin to save the state: until that is over, a restart begins with the one before."""
        state = self._client.put((self._turn, self._pickled()))
        self._looked_s = time.monotonic()
        self._saving = _Checkpoint(state, len(self._done), self._looked_s)
        if not state._is_inline():
            # What a variable has gets a second replica.
            self._life.next_state().set(state)
        self._complete_save()

    def _pickled(self) -> bytes:
        """Return the object as its checkpoint has it."""
        try:
            return functions.dumps(self._object)
        except Exception as error:
            label, kind = self._life.label, type(self._object).__qualname__.rpartition(".")[2]
            raise not_serializable("checkpoint", self._object, label, error, kind) from None

    def _complete_save(self) -> None:
        """Have restarts begin with the next state, once it outlives the loss of a worker."""
        saving, now = self._saving, time.monotonic()
        assert saving is not None
        if not saving.state._is_inline() and now < saving.begun_s + _REPLICATION_TIMEOUT_S:
            if now < self._looked_s + _LOOK_INTERVAL_S:
                return
            self._looked_s = now
            [holders] = self._client.who_has([saving.state])
            if len(holders) < 2 and len(self._client.workers()) > 1:
                return
        self._life.state().set(saving.state)
        self._saving = None
        self._finish(saving.calls)

    def _move(self) -> None:
        """Leave for another worker, with the state; stay if that can't be sent."""
        try:
            state = functions.dumps(self._object)
        except Exception as error:
            problem = f"its state can't be sent ({type(error).__name__}: {error!s:.300})"
            text = f"freestone: the actor {self._life.label!r} can't leave its worker: {problem}"
            print(f"{text}; the worker stays until the actor is closed", file=sys.stderr)
            self._moves = False
            return
        self._life.state().set((self._turn, state))
        for entry in self._done:
            entry.finish()
        self._life.starts().update(lambda number: number - 1)
        # The manager has the task begin again elsewhere.
        os._exit(0)
