"""State that the programs and tasks of a cluster share by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from freestone.client.locks import Lock, semaphore

if TYPE_CHECKING:
    from freestone.client.local import LocalClient

__all__ = ["SharedState"]


class SharedState:
    """What is known by the same name in every program and task that uses a cluster."""

    client: LocalClient

    def lock(self, name: str, *, timeout_s: float | None = None) -> Lock:
        """Return a lock that one task or thread has at a time, in all programs and tasks.

        Parameters
        ----------
        name
            By which all of them mean the same one.
        timeout_s
            How long ``with`` waits for it, in seconds; None waits for as long as it takes.

        Returns
        -------
        Lock
            For ``with``. As an argument of a task, or in its function, it is the same lock there.

        Raises
        ------
        LockTimeoutError
            By ``with``: when others had it for all the time.
        LockHeldError
            By ``with``: in a thread that has it already.
        SharedKindError
            By ``with``: while the name is a semaphore's.

        Notes
        -----
        Who came first goes first. The lock goes to the next when its block ends, and when what had
        it ends otherwise: the task ends, fails, is cancelled or times out; its executor or worker
        is lost; the program dies. A task that waits for it takes no cores, as one that waits for a
        future. To enter a free one costs a message to the manager and its answer.

        Examples
        --------
        >>> import freestone as fs
        >>> def count(path, lock):
        ...     with lock:
        ...         number = int(open(path).read()) + 1
        ...         open(path, "w").write(str(number))
        >>> with fs.Cluster(executors=2) as cluster:
        ...     lock = cluster.lock("count")
        """
        return Lock(self.client, name, None, timeout_s)

    def semaphore(self, name: str, n: int, *, timeout_s: float | None = None) -> Lock:
        """Return a semaphore that `n` tasks or threads have at a time; see `lock`.

        Raises
        ------
        ValueError
            If `n` is no whole number from 1 to 4,294,967,295, or `timeout_s` no seconds.
        SharedKindError
            By ``with``: while the name is a lock's, or a semaphore's with another `n`.

        Examples
        --------
        >>> import freestone as fs
        >>> def query(key):
        ...     with fs.current().semaphore("database", 4):
        ...         return key * 2
        >>> with fs.Cluster(executors=2) as cluster:
        ...     cluster.gather(cluster.map(query, range(3)))
        [0, 2, 4]
        """
        return semaphore(self.client, name, n, timeout_s)
