"""State that the programs and tasks of a cluster share by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from freestone.client.locks import Lock, semaphore
from freestone.client.queues import Queue
from freestone.client.usage import refuse_unknown
from freestone.client.variables import UNSET, Variable
from freestone.errors.habits import OF_ACTOR
from freestone.errors.keywords import suggest_keywords

if TYPE_CHECKING:
    from typing import TypeVar

    from freestone.client.actors import Actor
    from freestone.client.local import LocalClient

    T = TypeVar("T")

__all__ = ["SharedState"]


@suggest_keywords
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
            For ``with`` and ``async with``. As an argument of a task, or in its function, it is the
            same lock there.

        Raises
        ------
        LockTimeoutError
            By ``with``: when others had it for all the time.
        LockHeldError
            By ``with``: in a thread that has it already; by ``async with``, in such a coroutine.
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

    @overload
    def variable(self, name: str) -> Variable[Any]: ...
    @overload
    def variable(self, name: str, *, default: T) -> Variable[T]: ...
    def variable(self, name: str, *, default: Any = UNSET) -> Variable[Any]:
        """Return a variable that all programs and tasks of the cluster read and set.

        Parameters
        ----------
        name
            By which all of them mean the same one. Locks and queues have names of their own.
        default
            What it is while nobody has set it. Without one, who reads it then waits.

        Returns
        -------
        Variable
            With `get`, `set`, `update` and `delete`. As an argument of a task, or in its function,
            it is the same variable there.

        Notes
        -----
        It keeps its value until `delete`, or the end of the cluster, also after the program that
        has set it. The value outlives any worker, see `Variable.set`.

        Examples
        --------
        >>> import freestone as fs
        >>> def add(k):
        ...     fs.current().variable("sum", default=0).update(lambda sum: sum + k)
        >>> with fs.Cluster(executors=2) as cluster:
        ...     _ = cluster.gather(cluster.map(add, range(10)))
        ...     cluster.variable("sum").get()
        45
        """
        return Variable(self.client, name, default)

    def queue(self, name: str, maxsize: int = 0) -> Queue[Any]:
        """Return a queue into which all programs and tasks of the cluster put, and take from.

        Parameters
        ----------
        name
            By which all of them mean the same one. Locks and variables have names of their own.
        maxsize
            How many items it has room for, the same everywhere; 0 for any number.

        Returns
        -------
        Queue
            With `put`, `get`, `qsize`, `close`, `delete`, and ``for item in queue``. As an argument
            of a task, or in its function, it is the same queue there.

        Raises
        ------
        ValueError
            If `maxsize` is no whole number from 0 to 4,294,967,295.

        Notes
        -----
        What is put first is taken first, by who has waited for longest. What a task has taken goes
        back to its place if the task does not come to its end, see `Queue.get`. Items stay until
        they are taken, `delete`, or the end of the cluster, also after the program that has put
        them.

        Examples
        --------
        >>> import freestone as fs
        >>> def total(queue):
        ...     return sum(queue)
        >>> with fs.Cluster(executors=2) as cluster:
        ...     queue = cluster.queue("numbers")
        ...     future = cluster.submit(total, queue, pure=False)
        ...     for k in range(10):
        ...         queue.put(k)
        ...     queue.close()
        ...     future.result()
        45
        """
        return Queue(self.client, name, maxsize)

    @overload
    def actor(self, kind: str, /) -> Actor[Any]: ...
    @overload
    def actor(
        self,
        kind: type[T],
        /,
        *args: Any,
        name: str | None = None,
        restarts: int = 0,
        checkpoint: int | None = None,
        resources: Mapping[str, int | str] | None = None,
        worker: int | None = None,
        **kwargs: Any,
    ) -> Actor[T]: ...
    def actor(
        self,
        kind: type[T] | str,
        /,
        *args: Any,
        name: str | None = None,
        restarts: int = 0,
        checkpoint: int | None = None,
        resources: Mapping[str, int | str] | None = None,
        worker: int | None = None,
        **kwargs: Any,
    ) -> Actor[T]:
        """Make an object that lives in one process of the cluster, or return one that has a name.

        Parameters
        ----------
        kind
            Its class; or the name of an actor that there is.
        *args, **kwargs
            What the class is called with. Futures in them, however deep, become their values.
        name
            By which all programs and tasks find it: ``cluster.actor("name")``. It lives on when
            this program ends, until it is closed.
        restarts
            How often it is made anew when its process or its worker is lost.
        checkpoint
            After how many calls its state is saved, by pickle. When it is made anew it has that
            state, and does the calls since then again. Without one it begins with its class, and
            does only what has no result yet.
        resources
            What its calls take while they run; one core by default.
        worker
            The number of the worker where it lives; else the cluster chooses.

        Returns
        -------
        Actor
            ``actor.method(x)`` gives a future at once. As an argument of a task it is the same
            actor there.

        Raises
        ------
        NameTakenError
            When there is an actor of this name.
        ActorMissingError
            When `kind` is a name that no actor has.

        Notes
        -----
        It does one call at a time, those of each program in the order in which it submitted them;
        an async method is run to its end. What a method raises is its future's; the actor lives on.
        While it waits for calls it takes no resources but custom ones. Without a name it ends once
        its program no longer refers to it, after the calls that were submitted, and with its
        program. See `Actor.close`.

        Examples
        --------
        >>> import freestone as fs
        >>> class Counter:
        ...     def __init__(self, value=0):
        ...         self.value = value
        ...     def add(self, number):
        ...         self.value += number
        ...         return self.value
        >>> with fs.Cluster(executors=1) as cluster:
        ...     counter = cluster.actor(Counter, 10)
        ...     futures = [counter.add(k) for k in range(3)]
        ...     cluster.gather(futures)
        [10, 11, 13]
        """
        from freestone.client import actors

        if isinstance(kind, str):
            if args or kwargs or name or restarts or checkpoint or resources or worker is not None:
                problem = f"actor({kind!r}) finds an actor by its name, and takes nothing else"
                raise TypeError(f"{problem}; to make one, give its class: actor(Class, ...)")
            return actors.find(self.client, kind)
        if kwargs:
            known = ("name", "restarts", "checkpoint", "resources", "worker")
            refuse_unknown(kind, kwargs, known, call="actor", hints=OF_ACTOR)
        options = {"resources": resources, "worker": worker}
        return actors.make(self.client, kind, args, kwargs, name, restarts, checkpoint, options)
