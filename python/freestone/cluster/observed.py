"""What a program asks about a run: figures, explanations, logs and profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from freestone import functions
from freestone.client.future import Future
from freestone.client.remote import RemoteClient
from freestone.client.tasks import Task
from freestone.cluster.members import no_worker
from freestone.errors import UsageError
from freestone.errors.keywords import suggest_keywords

if TYPE_CHECKING:
    from freestone.client.local import LocalClient
    from freestone.observe.explain import Explanation
    from freestone.observe.figures import Statistics
    from freestone.observe.logs import Logs
    from freestone.observe.profile import Profile

__all__ = ["Observed"]


@suggest_keywords
class Observed:
    """Tells what a cluster did and does; a part of `Session`."""

    client: LocalClient

    def statistics(self) -> Statistics:
        """Return the run's figures so far."""
        return self.client.statistics()

    def explain(self, future: Future) -> Explanation:
        """Tell why a task waits, or where and when it ran; print it to read it."""
        return self.client.explain(future)

    def logs(self, of: Future | str | int | None = None) -> Logs:
        """Return what tasks printed and logged; print it to read it.

        Parameters
        ----------
        of
            A future, or a worker: ``"worker-1"`` or its number. By default all of this program's
            tasks, in the order in which they printed last.

        Returns
        -------
        freestone.observe.logs.Logs
            Pieces of text with their task, worker and stream; `str` joins them. What a task has
            printed is there when its result is, and when it has crashed.

        Raises
        ------
        TypeError
            For something else than a future or a worker.
        UsageError
            When there is no such worker, and none that has left printed anything.

        Notes
        -----
        That is what went to standard output and standard error, also by C code and child processes.
        Of each task the first 32 KiB and the last 96 KiB are kept, of all together 16 MiB; each
        executor may print 256 KiB at once and 64 KiB per second, and the last 16 KiB of what a task
        prints beyond that. A line says what is missing, and where.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster(executors=1, logs="none") as cluster:
        ...     future = cluster.submit(print, "hello")
        ...     future.result()
        ...     print(cluster.logs(future), end="")
        hello
        """
        if of is None:
            return self.client.logs.logs()
        if isinstance(of, Future):
            return self.client.logs.logs(name=of.name)
        if isinstance(of, str | int) and not isinstance(of, bool):
            return self._logs_of_worker(of if isinstance(of, str) else f"worker-{of}")
        raise TypeError(f"logs() takes a future or a worker, not {type(of).__name__}")

    def _logs_of_worker(self, worker: str) -> Logs:
        found = self.client.logs.logs(worker=worker)
        if not found and not self.client.closed:
            there = [one["worker"] for one in self.client.workers()]
            if worker not in there:
                raise no_worker(worker, there)
        return found

    def profile(self, of: Future | Callable[..., Any] | str | None = None) -> Profile:
        """Return where calls spent their time, on clusters with ``profile=True``.

        Parameters
        ----------
        of
            A future, also of a task that runs; a function, or the name that its tasks have. By
            default all tasks.

        Returns
        -------
        freestone.observe.profile.Profile
            `print` shows the functions that took most, a notebook a flame graph. ``to_html(path)``
            and ``to_speedscope(path)`` write files.

        Raises
        ------
        TypeError
            For something else.
        UsageError
            When this program has opened the cluster without ``profile=``.

        Notes
        -----
        Executors look each 20 ms (or as often as ``profile=`` says, in seconds) at the stack of the
        thread that runs a call, and report once a second and at the call's end. Waiting counts as
        computing does. Native code counts for the line that called it; threads that a call starts
        are not seen. 20,000 stacks are kept apart, 1,000 for each task, and those of the tasks that
        were sampled last, 20,000 in all; others are summed up as ``(other stacks)``. The program
        that opened the cluster sees all programs' tasks, and those that tasks submit; another one
        sees its own.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster(executors=1, profile=True) as cluster:
        ...     future = cluster.submit(sum, range(1_000_000))
        ...     future.result()
        ...     profile = cluster.profile(future)
        499999500000
        """
        self._require_profile()
        logs = self.client.logs
        logs.take()
        if of is None:
            return logs.samples.all("all tasks", of_others=True)
        if isinstance(of, Future):
            return logs.samples.task(of.name, f"task {of.label}")
        if callable(of):
            of = of.label if isinstance(of, Task) else functions.label_of(of)
        if isinstance(of, str):
            return logs.samples.function(of, of_others=True)
        raise TypeError(
            f"profile() takes a future, a function or its name, not {type(of).__name__}"
        )

    def _require_profile(self) -> None:
        # Only its own process knows the settings of another program's cluster.
        is_own = not isinstance(self.client, RemoteClient)
        if is_own and not self.client.config.profile:
            raise UsageError("calls are not profiled: open the cluster with profile=True")
