"""What can be asked of a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from freestone.errors import ClosedError, UsageError
from freestone.future import Future
from freestone.observe.figures import Explanation, Statistics

if TYPE_CHECKING:
    from freestone import _native, hosts

__all__ = ["Questions", "offer_answer"]

_offered: dict[str, Callable[[Any, dict[str, Any]], dict[str, Any]]] = {}


def offer_answer(kind: str, function: Callable[[Any, dict[str, Any]], dict[str, Any]]) -> None:
    """Have questions of a kind answered by what stands above this module.

    Parameters
    ----------
    kind
        What the question's ``ask`` says.
    function
        Called with the cluster and the question.
    """
    _offered[kind] = function


class Questions:
    """A cluster's figures, and where things are."""

    if TYPE_CHECKING:
        _manager: _native.Manager
        _site: hosts.local.Site
        _tags: dict[str, WeakSet[Future]]
        started: float

        def retire(self, worker: int) -> None:
            """Let a worker go."""

        def cancel(self, futures: Iterable[Future] = (), *, tag: str | None = None) -> None:
            """Cancel tasks."""

    def statistics(self) -> Statistics:
        """Return the run's figures so far."""
        if self.closed:
            raise ClosedError("ask for its statistics")
        return Statistics.from_dict(self._manager.statistics())

    def explain(self, future: Future) -> Explanation:
        """Tell why a task waits, or where and when it ran; print it to read it."""
        if not isinstance(future, Future):
            kind = type(future).__name__
            raise TypeError(f"explain() takes a future, not {future!r:.80} ({kind})")
        return Explanation.from_dict(self._manager.explain(future))

    @property
    def slots(self) -> int:
        """How many calls run at once."""
        return sum(worker["slots"] for worker in self._manager.statistics()["workers"])

    @property
    def folder(self) -> str:
        """Where the cluster keeps its sockets and logs while it runs."""
        return str(self._site.folder)

    @property
    def address(self) -> str:
        """Where workers join: ``unix:PATH``, or ``tcp://HOST:PORT`` if it listens there."""
        return self._manager.address

    @property
    def access(self) -> str:
        """The path of the access file with which workers join; whoever has it owns the cluster."""
        return str(self._site.access_file)

    @property
    def closed(self) -> bool:
        """Whether it has ended."""
        return bool(self._manager.closed)

    def who_has(self, futures: Iterable[Future] | Future) -> dict[str, list[str]]:
        """Return for each block, by name, the workers that hold it.

        A small value lies with the manager and stands with no worker.
        """
        futures = [futures] if isinstance(futures, Future) else list(futures)
        workers = self._manager.who_has(futures)
        return dict(zip((future.name for future in futures), workers, strict=True))

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        if question.get("ask") in _offered:
            return _offered[question["ask"]](self, question)
        if question.get("ask") == "retire":
            # Who asks chose from a list: the worker may have ended since.
            with contextlib.suppress(UsageError):
                self.retire(int(question["worker"]))
        if question.get("ask") == "cancel":
            tagged = list(self._tags.get(question["tag"], ()))
            self.cancel(tag=question["tag"])
            return {"cancelled": len(tagged)}
        return {"statistics": self._manager.statistics(), "started": self.started}
