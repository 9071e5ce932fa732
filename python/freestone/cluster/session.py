"""What a program does with a cluster, whoever started its workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, Unpack, overload

from freestone.client.commands import Command, arguments, run_command
from freestone.client.environments import Prepared
from freestone.client.files import File
from freestone.client.future import Future
from freestone.client.graphs import offer_scheduler
from freestone.client.options import DEFAULTS, CallOptions, Isolation, Keep, changed
from freestone.client.streams import Stream
from freestone.client.usage import refuse_ambiguous, refuse_unknown, rows
from freestone.client.waiting import AsCompleted, DoneAndNotDone, as_completed, gather, wait
from freestone.cluster.everywhere import Everywhere
from freestone.cluster.observed import Observed
from freestone.cluster.shared import SharedState
from freestone.cluster.streaming import Streaming
from freestone.errors.habits import OF_CLUSTER, OF_WAITING, missing_attribute
from freestone.errors.keywords import suggesting

if TYPE_CHECKING:
    import concurrent.futures

    from freestone.client.interface import Client
    from freestone.client.local import LocalClient
    from freestone.config import Config
    from freestone.observe.reprs import ClusterView

__all__ = ["Session"]

_NONE: Any = object()
K = TypeVar("K")
T = TypeVar("T")


def _get(client: Client, graph: Any, keys: Any, **options: Any) -> Any:
    # It loads NumPy, which tasks that submit tasks can do without.
    from freestone.graph import get

    return get(client, graph, keys, **options)


offer_scheduler(_get)


@suggesting(OF_WAITING)
class Session(SharedState, Streaming, Observed, Everywhere):
    """Submits calls to a cluster, holds blocks there, and asks about them.

    Parameters
    ----------
    client
        What speaks to its manager.
    """

    def __init__(self, client: LocalClient) -> None:
        self.client: LocalClient = client

    @property
    def config(self) -> Config:
        """The settings."""
        return self.client.config

    # -- calls ------------------------------------------------------------------------------

    def submit(
        self,
        function: Callable[..., T],
        /,
        *args: Any,
        name: str | None = None,
        priority: int = 0,
        resources: Mapping[str, int | str] | None = None,
        retries: int | None = None,
        timeout_s: float | None = None,
        isolation: Isolation = "shared",
        keep: Keep = "task",
        pure: bool = True,
        hoist: bool = True,
        worker: int | None = None,
        replicas: int = 1,
        environment: File | Prepared | None = None,
        env: Mapping[str, str] | None = None,
        tag: str | None = None,
        category: str | None = None,
        **kwargs: Any,
    ) -> Future[T]:
        """Submit a call; its future comes back at once.

        Parameters
        ----------
        function
            Any callable. Its code goes to each worker once. One that is async is run to its end.
        *args, **kwargs
            Its arguments. Futures and files in them, however deep, become their values.
        name
            What people see; the function's name by default.
        priority
            Calls of larger priority run first. A few that a worker was sent ahead, so that it need
            not wait for its next one, are not overtaken.
        resources
            What it takes while it runs: ``cores`` (1 by default), ``gpus``, ``memory``, ``disk``
            (bytes, or a text such as ``"1GiB"``), and custom resources of workers by their names,
            such as ``{"licence": 1}``, which it holds also while it waits for other calls; if no
            worker has them, it fails with `UnschedulableError`. One that takes more memory than it
            says, besides what its executor had before, is ended: `MemoryExceededError`. So is one
            whose temporary files take more of the disk: `DiskExceededError`.
        retries
            How often it may raise or time out before it fails for good.
        timeout_s
            The longest that one attempt may run, in seconds.
        isolation
            ``"shared"``: in a resident executor. ``"fork"``: in a child of it, so that nothing
            it does to its process outlasts the call. ``"process"``: in a new interpreter.
        keep
            How long the result stays when no future and no task needs it any more: ``"task"``
            (not at all: it goes within about 0.1 s), ``"session"``, ``"worker"``, or ``"forever"``
            (on disk, for later runs, in the folder that the setting `cache` names).
        pure
            Whether equal calls have equal results, so that one that was made before is not made
            again while its result is there.
        hoist
            Whether modules that the function imports are imported before its first call.
        worker
            The number of the worker to run it on; by default where it can start soonest. If that
            worker is gone, the call fails with `WorkerAbsentError`.
        replicas
            On how many workers its result should be, unless it is small: what is lost with one
            need not be made again. By default 1; where workers are lost, the cluster makes a second
            replica by itself of what would take longer to make again than to copy.
        environment
            An archive (`fs.file`) of a virtual environment or of conda-pack, which has cloudpickle
            in it: the function runs under its Python. It goes to each node once and is unpacked
            there once.
        env
            Environment variables that are set while the function runs.
        tag
            A word by which `cancel` finds the call.
        category
            A word for calls that take about as much memory. The cluster measures them, and gives
            each what the largest so far took and a quarter more; one that takes more is tried again
            with all of a worker. The first three get all of a worker each.

        Returns
        -------
        Future

        Notes
        -----
        Costs some microseconds. A large argument becomes a block, which is sent only once.
        """
        options: dict[str, Any] = {
            "name": name,
            "priority": priority,
            "resources": resources,
            "retries": retries,
            "timeout_s": timeout_s,
            "isolation": isolation,
            "keep": keep,
            "pure": pure,
            "hoist": hoist,
            "worker": worker,
            "replicas": replicas,
        }
        if environment is not None or env is not None or tag is not None:
            options |= {"environment": environment, "env": env, "tag": tag}
        if category is not None:
            options["category"] = category
        if kwargs:
            refuse_unknown(function, kwargs, CallOptions.__annotations__)
        if options == DEFAULTS:
            # Which need no check.
            options = DEFAULTS
        else:
            refuse_ambiguous(function, changed(options), len(args))
        future: Future[T] = self.client.submit(function, args, kwargs, options)
        return future

    def map(
        self,
        function: Callable[..., T],
        /,
        *iterables: Iterable[Any],
        **options: Unpack[CallOptions],
    ) -> list[Future[T]]:
        """Submit a call for each element, as the builtin `map` does.

        Parameters
        ----------
        function
            Any callable.
        *iterables
            The arguments; the shortest decides how many calls there are.
        **options
            Those of `submit`.
        """
        calls = rows(iterables)
        refuse_ambiguous(function, options, len(iterables))
        return self.client.map(function, calls, options)

    def get(self, graph: Any, keys: Any = _NONE, **options: Any) -> Any:
        """Run a Dask graph: a scheduler for Dask.

        Parameters
        ----------
        graph
            What a collection gives as its graph, or a dict of keys to tasks, old-style or new.
        keys
            The keys whose values are wanted, in lists of any nesting.
        **options
            ``stack``, a `freestone.graph.Stack`, or its fields one by one.

        Returns
        -------
        object
            The value, or tuples of values in the nesting of `keys`. Large arrays in it are
            read-only views of the node's cache.

        Raises
        ------
        MissingKeyError
            When a key is not in the graph.
        CycleError
            When tasks wait for each other.
        NotSerializableError
            When what a task is made of, or its result, can't be sent.
        Exception
            What a task raised, with notes that say where.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster() as cluster:
        ...     cluster.get({"x": 1, "y": (pow, "x", 2)}, "y")
        1

        ``array.sum().compute(scheduler=cluster.get)`` does it for a collection, and
        ``dask.config.set(scheduler=cluster.get)`` for all of them.
        """
        if keys is _NONE:
            raise TypeError(
                "get() runs a graph of Dask's and takes the keys that are wanted; to wait for the "
                "values of futures, cluster.gather(futures)"
            )
        return _get(self.client, graph, keys, **options)

    def __call__(self, graph: Any, keys: Any, **options: Any) -> Any:
        """Run a Dask graph, as `get` does: ``x.compute(scheduler=cluster)``."""
        return self.get(graph, keys, **options)

    def persist(self, *collections: Any, **options: Any) -> Any:
        """Compute collections of Dask's and leave their blocks on the workers.

        Parameters
        ----------
        *collections
            Arrays, dataframes, bags and delayed values of Dask's, and what is made of them, such as
            xarray's datasets; also in lists, tuples and dicts.
        **options
            Those of `get`, such as ``keep="forever"``, by which the same graph finds its blocks in
            later runs; and ``traverse`` and ``optimize_graph`` of `dask.persist`.

        Returns
        -------
        object
            A collection of the same kind whose graph holds futures of the blocks, not tasks; a
            tuple if several were given. Whatever is computed of it by `get` runs where they are.
            They go when the collection, and all that was made of it, is gone.

        Raises
        ------
        TypeError
            When there is no collection of Dask's.
        Exception
            What `get` raises. After the cluster is closed, what is computed of the collection
            raises `ClosedError`.

        Notes
        -----
        Waits until all blocks are made; no value goes through this program. Collections that are
        persisted together are computed together: what several need is computed once. On another
        scheduler the blocks are fetched into this program.

        ``x.persist(scheduler=cluster.get)`` is the same.

        Examples
        --------
        >>> import dask.array as da
        >>> import freestone as fs
        >>> with fs.Cluster(executors=2) as cluster:
        ...     x = cluster.persist(da.arange(1000, chunks=100) ** 2)
        ...     int(x.sum().compute(scheduler=cluster.get))
        332833500
        """
        from freestone.graph import persist

        return persist(self.get, *collections, **options)

    def spmd(
        self,
        main: Callable[..., Any],
        ranks: int | None = None,
        *,
        args: Sequence[Any] = (),
        each: Sequence[Sequence[Any]] | None = None,
        **settings: Any,
    ) -> list[Any]:
        """Run a program as ranks on the workers, all at the same time, and wait for its end.

        Parameters
        ----------
        main : callable
            Called on every rank with its `freestone.events.Rank`, `args`, and its own of `each`.
        ranks : int, optional
            How many; by default one on each executor. Each takes an executor until the end.
        args : sequence
            More arguments, the same on every rank. Futures and blocks in them, however deep, are
            what they stand for: arrays are read-only views of the cache of the rank's node.
        each : sequence of sequences, optional
            More arguments for each rank, by rank: for instance partitions.
        **settings
            ``progress``, ``spin_us``, ``arena``, ``stuck_s``, ``send_timeout_s`` and ``trace`` of
            `freestone.events.run`, and ``workers``: how many tasks of a rank run at the same time.

        Returns
        -------
        list
            What `main` returned on each rank.

        Raises
        ------
        ConfigurationError
            If there are not enough executors for all ranks to run at the same time.
        Exception
            What `freestone.events.run` raises.

        Notes
        -----
        Ranks on one machine exchange events through shared memory; on several, by TCP with mutual
        TLS and a certificate made for the run.

        Examples
        --------
        >>> import freestone as fs
        >>> from freestone import events as ev
        >>> def main(rank, value):
        ...     rank.fire(0, "part", value + rank.id)
        ...     if rank.id == 0:
        ...         return sum(event.data for event in rank.wait([(ev.ALL, "part")]))
        >>> with fs.Cluster(workers=2) as cluster:
        ...     cluster.spmd(main, ranks=2, args=[cluster.submit(pow, 2, 10)])
        [2049, None]
        """
        # It loads all that ranks need.
        from freestone.events.gang import spmd

        return spmd(self.client, main, ranks, args, each, settings)

    def command(
        self,
        command: str | Sequence[str],
        *,
        inputs: Mapping[str, Any] | None = None,
        outputs: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        text: bool = True,
        **options: Any,
    ) -> Command:
        """Run a command line in a folder of its own, with files in and out.

        Parameters
        ----------
        command
            A text for the shell, or a list of words that is run as it is.
        inputs
            What each name in the folder holds: a file, a future of one, bytes or text.
        outputs
            Names of files that it must leave there; each becomes a block.
        env
            Environment variables besides the worker's.
        text
            Whether `stdout` is text, in which bytes that are none are escaped; else it is bytes.
        **options
            Those of `submit`.

        Returns
        -------
        Command
            Has `outputs`, futures by name, and `stdout`, the future of what it printed.

        Raises
        ------
        subprocess.CalledProcessError
            At `result()`, when it ends with another status than 0.
        """
        args = arguments(command, inputs, outputs, env, text)
        options.setdefault("name", command if isinstance(command, str) else " ".join(command))
        made = self.client.submit(run_command, args, {}, options, 1 + len(outputs))
        futures = made if outputs else (made,)
        return Command(futures[0], dict(zip(outputs, futures[1:], strict=True)))

    def executor(self, **options: Any) -> concurrent.futures.Executor:
        """Return a `concurrent.futures.Executor` whose calls run here, with options of `submit`."""
        from freestone.compat.concurrent import Executor

        return Executor(self, **options)

    # -- blocks -----------------------------------------------------------------------------

    def put(self, value: T, *, keep: Keep = "task") -> Future[T]:
        """Make a value a block, named by its content.

        Notes
        -----
        A large value is copied once, into the cache of the worker on this machine.
        """
        return self.client.put(value, keep=keep)

    @overload
    def scatter(  # type: ignore[overload-overlap]
        self, values: Mapping[K, T], *, keep: Keep = "task"
    ) -> dict[K, Future[T]]: ...
    @overload
    def scatter(self, values: Iterable[T], *, keep: Keep = "task") -> list[Future[T]]: ...
    def scatter(self, values: Any, *, keep: Keep = "task") -> Any:
        """Make each of some values a block, see `put`; of a dict, a dict of futures."""
        if isinstance(values, Mapping):
            return {key: self.put(value, keep=keep) for key, value in values.items()}
        is_one = isinstance(values, str | bytes) or hasattr(values, "shape")
        if is_one or not isinstance(values, Iterable):
            raise TypeError(
                f"scatter() takes several values in a list, and got one of type "
                f"{type(values).__name__}; make it a block with put(value)"
            )
        return [self.put(value, keep=keep) for value in values]

    @overload
    def gather(self, futures: Future[T], *, errors: str = "raise") -> T: ...
    @overload
    def gather(self, futures: list[Future[T]], *, errors: str = "raise") -> list[T]: ...
    @overload
    def gather(self, futures: dict[K, Future[T]], *, errors: str = "raise") -> dict[K, T]: ...
    @overload
    def gather(self, futures: Any, *, errors: str = "raise") -> Any: ...
    def gather(self, futures: Any, *, errors: str = "raise") -> Any:
        """Return the values of futures, in their shape; see `freestone.client.waiting.gather`."""
        return gather(futures, errors=errors)

    def cancel(
        self,
        futures: Iterable[Future] | Future | Stream = (),
        *,
        tag: str | None = None,
    ) -> None:
        """Cancel tasks, also those that run, and all that depends on them, before this returns.

        Parameters
        ----------
        futures
            A future, or some; or a stream, whose generator ends.
        tag
            Besides, all calls that were submitted with this tag and are still referred to. Of one
            that no call has had, but another one like it, it warns.
        """
        if isinstance(futures, Stream):
            futures.cancel()
            futures = ()
        cancelled = [futures] if isinstance(futures, Future) else list(futures)
        if tag is not None:
            cancelled += self.client.tagged(tag)
        self.client.cancel(cancelled, waits=True)

    def wait(
        self,
        futures: Iterable[Future[T]],
        timeout_s: float | None = None,
        return_when: str = "ALL_COMPLETED",
    ) -> DoneAndNotDone[T]:
        """Wait for futures; see `freestone.wait`."""
        return wait(futures, timeout_s, return_when)

    def as_completed(
        self, futures: Iterable[Future[T]], timeout_s: float | None = None
    ) -> AsCompleted[T]:
        """Yield futures as they are done; see `freestone.as_completed`."""
        return as_completed(futures, timeout_s)

    def who_has(self, futures: Iterable[Future] | Future) -> dict[str, list[str]]:
        """Return for each block, by name, the workers that hold it.

        A small value lies with the manager and stands with no worker.
        """
        futures = [futures] if isinstance(futures, Future) else list(futures)
        workers = self.client.who_has(futures)
        return dict(zip((future.name for future in futures), workers, strict=True))

    # -- what outlives this program ---------------------------------------------------------

    def publish(self, name: str, future: Future, *, replace: bool = False) -> None:
        """Have a block outlive this program under a name.

        Parameters
        ----------
        name
            By which ``cluster[name]`` gives a future of it, in any program that uses the cluster.
        future
            The block, there or to come: what makes it runs to its end though this program ends.
        replace
            Whether the name may be taken from another block.

        Raises
        ------
        NameTakenError
            When another block has the name.
        InputUnknownError
            When the cluster no longer knows the block.

        Notes
        -----
        The block stays until `unpublish`, or the end of the cluster. With a cluster of this program
        (`freestone.Cluster`) that is the end of the program: see `freestone.connect`.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster() as cluster:
        ...     cluster.publish("power", cluster.submit(pow, 2, 10))
        ...     cluster["power"].result()
        1024
        """
        self.client.publish(name, future, replace=replace)

    def unpublish(self, name: str) -> None:
        """Take a name away; the block goes when no future and no task needs it.

        Raises
        ------
        NotPublishedError
            A `KeyError`: when nothing is published under this name.
        """
        self.client.unpublish(name)

    def published(self) -> list[str]:
        """Return the names of published blocks, in alphabetical order."""
        return self.client.published()

    def __getitem__(self, name: str) -> Future:
        """Return a future of a published block; raises `NotPublishedError`, a `KeyError`."""
        return self.client.find(name)

    @property
    def slots(self) -> int:
        """How many calls run at once."""
        return self.client.slots

    @property
    def closed(self) -> bool:
        """Whether it has ended."""
        return self.client.closed

    def forget(self) -> None:
        """In a child of this process, which has no part in it: it has ended there."""
        self.client.manager.forget()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute("a cluster", name, self, OF_CLUSTER)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a cluster stays in its program; a task submits to its cluster by "
            "freestone.current().submit(), or by calling a task"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # `dask.config`, whose scheduler may be `get`, is copied by libraries.

    def __repr__(self) -> str:
        from freestone.observe.reprs import view_text

        return view_text(self._view())

    def _repr_html_(self) -> str:
        from freestone.observe.reprs import view_html

        return view_html(self._view())

    def _view(self) -> ClusterView:
        from freestone.observe.reprs import ClusterView

        if self.closed:
            return ClusterView(closed=True)
        return ClusterView(closed=False, address=self.client.address, statistics=self.statistics())
