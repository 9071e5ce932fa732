"""Variables that programs and tasks share by name."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic

from freestone import _native
from freestone.client.future import Future
from freestone.client.generic import T
from freestone.client.named import Named, as_future, check_timeout, end_of
from freestone.errors.keywords import suggest_keywords

if TYPE_CHECKING:
    from freestone.client.local import LocalClient

__all__ = ["UNSET", "Unset", "Variable"]


class Unset:
    """What stands for no value."""

    def __repr__(self) -> str:
        return "no value"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()


@suggest_keywords
class Variable(Named, Generic[T]):
    """A variable of a cluster, from `Cluster.variable`. Sent to a task it is the same one there."""

    def __init__(self, client: LocalClient | None, name: str, default: T | Unset = UNSET) -> None:
        super().__init__(client, name)
        self.default: T | Unset = default

    def get(self, *, timeout_s: float | None = None) -> T:
        """Return its value; while it has none, the default, or wait for one.

        Parameters
        ----------
        timeout_s
            How long to wait for a value, and for its result if it is a future, in seconds; None
            waits for as long as it takes. With a default it waits only for the result of a future.

        Raises
        ------
        SharedTimeoutError
            When it had no value for all the time, or the future that is its value was pending.
        Exception
            That of the task whose future is its value.

        Notes
        -----
        Two messages to the manager and their answers; a large value is mapped, or fetched from a
        worker. A task that reads it is not pure: submit it with ``pure=False``.
        """
        check_timeout(timeout_s)
        return self._read(self._open("read"), timeout_s)[0]

    def set(self, value: T | Future[T]) -> None:
        """Give it a value.

        Parameters
        ----------
        value
            The value. For a future it is the future's value: who reads it waits for that, and gets
            the error if its task has failed.

        Notes
        -----
        A message to the manager and its answer. A small value is kept by the manager. A large one
        is a block, of which another worker gets a replica within seconds, if there is one; it
        stays for as long as the variable has it.
        """
        client = self._open("set")
        self._store(client, value, None)

    def update(self, function: Callable[[T], T]) -> T:
        """Set it to ``function(value)`` and return that, as if nobody else set it meanwhile.

        Parameters
        ----------
        function
            Called in this process, and again if the variable was set in the meantime: without side
            effects. While it has no value, it is given the default; without one, `update` waits.
        """
        client = self._open("update")
        while True:
            value, version = self._read(client, None)
            changed = function(value)
            if self._store(client, changed, version):
                return changed

    def delete(self) -> None:
        """Take its value away, if it has one: it has the default, or none, until it is set."""
        client = self._open("delete")
        answer = _native.manager.delete_variable(client.manager, self.name)
        self._check(answer, client, f"the end of {self.name!r}")

    def _read(self, client: LocalClient, timeout_s: float | None) -> tuple[T, int]:
        """Return the value and its version, 0 for the default."""
        waits = isinstance(self.default, Unset)
        end = end_of(timeout_s)
        entry = _native.manager.SharedItem.read(
            client.manager, self.name, waits, client.task_worker
        )
        try:
            wanted = f"a value of the variable {self.name!r}"
            version = self._await(entry, client, timeout_s, wanted)
            if entry.item is None:
                return _copied(self.default), 0  # type: ignore[return-value]
            future: Future[T] = client.manager.watch(*entry.item)
        finally:
            entry.leave()
        self._await_value(future, end, timeout_s, "the value of the variable")
        return future.result(), version

    def _store(self, client: LocalClient, value: T | Future[T], expected: int | None) -> bool:
        future = as_future(client, value)
        answer = _native.manager.set_variable(client.manager, self.name, future, expected)
        self._check(answer, client, f"the variable {self.name!r} to be set", future)
        return answer[0] == "stored"

    def _kind(self) -> str:
        return "a variable"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, self.name, self.default)

    def __repr__(self) -> str:
        return f"<variable {self.name!r}>"


def _copied(default: T) -> T:
    """Return a default for one caller, who may change it; what can't be copied is given itself."""
    try:
        return copy.deepcopy(default)
    except Exception:
        return default
