"""What is done on all workers of a cluster at once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from freestone import _native, functions
from freestone.client.named import check_timeout
from freestone.client.nested import NestedClient
from freestone.client.usage import refuse_ambiguous
from freestone.client.waiting import wait
from freestone.cluster.members import no_worker
from freestone.errors import (
    UsageError,
    WaitTimeoutError,
    WorkerAbsentError,
    WorkersMissingError,
)
from freestone.errors.keywords import suggest_keywords
from freestone.observe.workers import worker_number

if TYPE_CHECKING:
    from freestone.client.future import Future
    from freestone.client.local import LocalClient

__all__ = ["Everywhere"]

T = TypeVar("T")

_FIRST = 1 << 20
"""The priority of calls that are to come before others, with room for what they submit."""


@suggest_keywords
class Everywhere:
    """Acts on every worker of a cluster; a part of `Session`."""

    client: LocalClient

    def run(
        self,
        function: Callable[..., T],
        /,
        *args: Any,
        workers: Iterable[int | str] | int | str | None = None,
        timeout_s: float | None = None,
        **kwargs: Any,
    ) -> dict[str, T]:
        """Run a function once on every worker, in one of its executors, and wait for the results.

        Parameters
        ----------
        function
            Any callable, as for `submit`.
        *args, **kwargs
            Its arguments, the same everywhere.
        workers
            On which, by number or name: ``1`` or ``"worker-1"``, or several of them. By default on
            all that run calls now.
        timeout_s
            How long to wait for all of them, in seconds; None waits for as long as it takes.

        Returns
        -------
        dict of str to object
            What it returned on each worker, by the worker's name.

        Raises
        ------
        Exception
            What it raised on the first worker on which it did, once all have ended; a note names
            all of those workers.
        WaitTimeoutError
            When the time is over; what has not ended is cancelled.
        WorkerAbsentError
            When a worker that `workers` names leaves before it has given its result.
        WorkersMissingError
            When no worker runs calls.
        UsageError
            When there is no worker of a name.

        Warns
        -----
        RuntimeWarning
            When another worker leaves before it has given its result, which is then missing.

        Notes
        -----
        It comes before calls that wait for a worker, and waits until an executor is free. What it
        does to its process is seen by later calls in that process only: a worker has several. It
        runs more than once if it ends its process, as any other call.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster(workers=2, executors=1) as cluster:
        ...     cluster.run(pow, 2, 10)
        {'worker-0': 1024, 'worker-1': 1024}
        """
        check_timeout(timeout_s)
        self.client.require_open("run a function on its workers")
        given = {"workers": workers, "timeout_s": timeout_s}
        named = [key for key, value in given.items() if value is not None]
        refuse_ambiguous(function, named, len(args), "run")
        chosen = self._chosen(workers)
        options = {"pure": False, "priority": _FIRST, "retries": 0}
        futures = {
            worker: self.client.submit(
                function, args, kwargs, options | {"worker": worker_number(worker)}
            )
            for worker in chosen
        }
        what = f"cluster.run({functions.label_of(function)})"
        try:
            _wait_for_all(futures, timeout_s, what)
            return _results(futures, what, may_leave=workers is None)
        except BaseException:
            self.client.cancel(futures.values())
            raise

    def upload(self, path: str | os.PathLike[str]) -> tuple[str, ...]:
        """Have calls import a module or package of this program's on every worker.

        Parameters
        ----------
        path
            A module (``.py``), the folder of a package, or a wheel or another zip file of packages.

        Returns
        -------
        tuple of str
            The names of modules and packages that can be imported from now on.

        Raises
        ------
        FileMissingError
            When there is nothing at the path.
        UsageError
            When there is no module in it, or one with the name of one of Python's own, or of what
            freestone runs with; in a task.
        FormatError
            When a zip file is damaged.
        SyntaxError
            When a module is no Python.

        Notes
        -----
        It counts for the calls that this program submits from now on, and for those that they
        submit, on workers that join later, too. They import it before what a worker has installed.
        Each node gets the files once, when such a call comes there first. Uploading another version
        replaces it for calls that are submitted then; calls that were submitted before have theirs,
        and what processes have imported stays apart for each.

        Results of the same call with other uploads are other results. The files stay until the
        cluster ends.

        Examples
        --------
        >>> import freestone as fs
        >>> from pathlib import Path
        >>> with fs.Cluster() as cluster:
        ...     _ = Path("shapes.py").write_text("def area(r): return 3 * r * r")
        ...     cluster.upload("shapes.py")
        ('shapes',)
        """
        self.client.require_open("upload modules")
        if isinstance(self.client, NestedClient):
            raise UsageError("a task can't upload modules; do it in the program")
        from freestone.client import uploads

        package, files = uploads.read(path)
        uploads.send(self.client, package, files)
        self.client.add_package(package)
        return package.modules

    def restart(self, *, timeout_s: float | None = None) -> None:
        """Replace the executors of all workers by new processes, and wait until they take calls.

        All that calls have left in their processes is gone: memory, modules, threads.

        Parameters
        ----------
        timeout_s
            How long to wait for the new executors, in seconds; None waits for as long as it takes.

        Raises
        ------
        WaitTimeoutError
            When a worker has none by then; they are started all the same.
        UsageError
            In a task, which would end itself.

        Notes
        -----
        Calls of this program that have not ended are cancelled, as by `cancel`. Those that another
        program waits for, or that are published or detached, begin again if they had begun, also
        with ``pure=False``. Results that are there stay, and so do queues, variables, and what
        programs hold of locks: they are not in executors. What tasks hold of locks is let go, and
        what they took from queues goes back.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster(executors=1) as cluster:
        ...     before = cluster.run(os.getpid)
        ...     cluster.restart()
        ...     cluster.run(os.getpid) == before
        False
        """
        check_timeout(timeout_s)
        self.client.require_open("restart its executors")
        if isinstance(self.client, NestedClient):
            problem = "a task can't restart the executors of its cluster, which would end it"
            raise UsageError(f"{problem}; do it in the program")
        _native.manager.restart_executors(self.client.manager)
        # Answered after the restart, so that this program's futures know by then.
        if any(one["slots"] and not one["leaving"] for one in self.client.workers()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                self._await_executors(timeout_s)

    def _await_executors(self, timeout_s: float | None) -> None:
        try:
            self.run(os.getpid, timeout_s=timeout_s)
        except WaitTimeoutError as error:
            raise WaitTimeoutError(
                timeout_s=error.timeout_s, pending=error.pending, restarted=True
            ) from None

    def _chosen(self, workers: Iterable[int | str] | int | str | None) -> list[str]:
        there = self.client.workers()
        taking = [one["worker"] for one in there if one["slots"] and not one["leaving"]]
        if workers is None:
            if not taking:
                raise WorkersMissingError(wanted=1, there=0, timeout_s=0.0)
            return taking
        chosen = [_name_of(worker) for worker in _several(workers)]
        for worker in chosen:
            if worker not in taking:
                raise no_worker(worker, taking, "that runs calls")
        return list(dict.fromkeys(chosen))


def _several(workers: Iterable[int | str] | int | str) -> Iterable[int | str]:
    return workers if isinstance(workers, Iterable) and not isinstance(workers, str) else [workers]


def _name_of(worker: int | str) -> str:
    if isinstance(worker, bool) or not isinstance(worker, int | str):
        raise TypeError(f"workers={worker!r:.80}: a worker is its number or its name, 'worker-1'")
    return worker if isinstance(worker, str) else f"worker-{worker}"


def _wait_for_all(futures: dict[str, Future], timeout_s: float | None, what: str) -> None:
    pending = wait(futures.values(), timeout_s).not_done
    if pending:
        late = [worker for worker, future in futures.items() if future in pending]
        error = WaitTimeoutError(timeout_s=timeout_s or 0.0, pending=len(late), cancelled=True)
        error.add_note(f"{what} has no result of {', '.join(late)}, and is cancelled there")
        raise error


def _results(futures: dict[str, Future[T]], what: str, *, may_leave: bool) -> dict[str, T]:
    results: dict[str, T] = {}
    failed: dict[str, Exception] = {}
    gone = []
    for worker, future in futures.items():
        try:
            results[worker] = future.result()
        except WorkerAbsentError as error:
            if may_leave and error.absent == worker and len(futures) > 1:
                gone.append(worker)
            else:
                failed[worker] = error
        except Exception as error:
            failed[worker] = error
    if gone:
        text = f"{what}: {', '.join(gone)} left before there was a result, which is missing"
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    if failed:
        first = next(iter(failed.values()))
        ended = f"; it returned on {', '.join(results)}" if results else ""
        first.add_note(f"{what} failed on {', '.join(failed)}{ended}")
        raise first
    return results
