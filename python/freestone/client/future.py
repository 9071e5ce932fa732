"""Futures: a client's handles to the outputs of tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, Never

from freestone import _native
from freestone.client.generic import T
from freestone.client.pausing import IN_TASK, paused, until_resolved
from freestone.client.usage import NotAValue
from freestone.errors import ClosedError, FreestoneError, WaitTimeoutError
from freestone.errors.failures import error_of
from freestone.errors.keywords import refuse_keywords

if TYPE_CHECKING:
    from freestone.client.interface import Client
    from freestone.observe.reprs import FutureView

__all__ = ["Future"]

_KEYWORDS = ("timeout_s",)


class Future(_native.manager.FutureBase, NotAValue, Generic[T]):
    """A block that is there or will be: the output of a call, or a value that was put.

    Made by `Cluster.submit` and its like, never by hand. A block is kept for as long as a future
    refers to it. Passed to another call, however deep inside its arguments, it stands for the
    value; the value itself does not travel through this process.
    """

    __slots__ = ()

    @property
    def client(self) -> Client:
        """The client of the cluster that it belongs to."""
        client: Client | None = self._owner()()
        if client is None:
            raise ReferenceError(f"the cluster of {self!r} is gone")
        return client

    def result(self, timeout_s: float | None = None, **unknown: Never) -> T:
        """Wait for the block and return its value.

        Parameters
        ----------
        timeout_s
            How long to wait, in seconds; None waits for as long as it takes.

        Returns
        -------
        object
            The value. Arrays are read-only views of the node's cache: blocks are immutable.

        Raises
        ------
        WaitTimeoutError
            When the time is over; the task goes on.
        Exception
            What the task raised, with the remote traceback as notes, or a `TaskError`.

        Notes
        -----
        A large block is mapped, not copied, if it lies on this machine; otherwise it is fetched
        from a worker once.
        """
        refuse_keywords("result", _KEYWORDS, unknown)
        start = time.monotonic()
        self._wait_or_raise(timeout_s)
        error = self._error()
        if error is not None:
            raise error
        left = None if timeout_s is None else timeout_s - (time.monotonic() - start)
        if not IN_TASK or self._is_inline():
            return self._value(left)  # type: ignore[no-any-return]
        # A block that was lost is made again first.
        with paused(self._wanted()):
            return self._value(left)  # type: ignore[no-any-return]

    def exception(self, timeout_s: float | None = None, **unknown: Never) -> BaseException | None:
        """Wait for the block and return what `result` would raise, or None."""
        refuse_keywords("exception", _KEYWORDS, unknown)
        self._wait_or_raise(timeout_s)
        return self._error()

    def _error(self) -> BaseException | None:
        failure = self._failure()
        if failure is None:
            return None
        if failure["kind"] == "closed" and not int(failure["name"], 16):
            # No manager has said so: its client has found it gone, and knows why.
            return self._end_of_client()
        return error_of(failure | {"label": failure["label"] or self.label})

    def _end_of_client(self) -> FreestoneError:
        client: Client | None = self._owner()()
        try:
            if client is not None:
                client.require_open("wait for a result")
        except FreestoneError as error:
            return error
        return ClosedError("wait for a result")

    def _wanted(self) -> str:
        return f"the result of {self.label!r}"

    def _wait_or_raise(self, timeout_s: float | None) -> None:
        if IN_TASK and not self.done():
            with paused(self._wanted()):
                has_ended = self._wait(timeout_s)
        else:
            has_ended = self._wait(timeout_s)
        if not has_ended:
            raise WaitTimeoutError(timeout_s=timeout_s or 0.0)

    def cancelled(self) -> bool:
        """Tell whether it was cancelled."""
        return self.status == "cancelled"

    def cancel(self) -> bool:
        """Cancel the task, also while it runs, and all that depends on it.

        Returns
        -------
        bool
            Whether it is cancelled: `cancelled` says the same from then on. False if it had ended
            before, and for a value that is being put.
        """
        if not self.done():
            self.client.cancel([self], waits=True)
        return self.cancelled()

    def detach(self) -> Future[T]:
        """Have the call run to its end, and its result stay, though this program ends.

        The result stays in the cluster as with ``keep="session"``: who submits the same call to
        the cluster later is answered by it. Of use with a cluster that outlives its programs, see
        `freestone.connect`. Once this returns, the cluster knows: however this program ends, the
        call goes on.

        Returns
        -------
        Future
            This one.
        """
        self.client.detach([self])
        return self

    def add_done_callback(self, callback: Callable[[Future[T]], object]) -> None:
        """Call `callback` with this future once it is done, on a thread of the cluster's."""
        self.client.subscribe(self, callback)

    def replay(self) -> T:
        """Run the call again, here, in this process: for a debugger.

        Raises
        ------
        InputUnknownError
            When it was not made by a call, or an input is no longer in the cluster.
        """
        value: T = self.client.replay(self)
        return value

    def __await__(self) -> Generator[Any, None, T]:
        import asyncio

        if not self.done():
            try:
                wait = until_resolved(self.client.subscribe, self, self._wanted())
                yield from wait.__await__()
            except asyncio.CancelledError:
                self.client.cancel([self])
                raise
        if self._is_inline() or self.status != "done":
            return self.result()
        # A block of another machine is sent, and one that was lost is made again: the loop goes on.
        return (yield from asyncio.to_thread(self.result).__await__())

    def __repr__(self) -> str:
        from freestone.observe.reprs import view_text

        return view_text(self._view())

    def _repr_html_(self) -> str:
        from freestone.observe.reprs import view_html

        return view_html(self._view())

    def _view(self) -> FutureView:
        from freestone.observe.reprs import FutureView

        return FutureView(status=self.status, label=self.label, name=self.name, nbytes=self.nbytes)
