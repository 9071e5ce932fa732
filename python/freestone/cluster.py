"""Clusters: where calls go."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, overload

from freestone import _native, functions, hosts
from freestone.commands import Command, run_command
from freestone.compat import offer_joblib
from freestone.config import Config, Settings
from freestone.definitions import Definitions
from freestone.engines import OnEngines
from freestone.environments import Prepared, adapt
from freestone.errors import ClosedError, ConfigurationError
from freestone.files import File, fetch_block
from freestone.future import Future
from freestone.members import Members
from freestone.observe import trace
from freestone.options import (
    DEFAULTS,
    CallOptions,
    Categories,
    Isolation,
    Keep,
    changed,
    native_options,
)
from freestone.questions import Questions
from freestone.ranks import OnRanks
from freestone.usage import refuse_ambiguous, rows
from freestone.waiting import Callbacks, DoneAndNotDone, as_completed, gather, wait

if TYPE_CHECKING:
    import concurrent.futures

    from freestone.observe.progress import Progress

__all__ = ["Cluster", "as_completed", "current", "wait"]

K = TypeVar("K")
T = TypeVar("T")

_open: list[Cluster] = []
_scheduler: Callable[..., Any] | None = None


def _forget_all() -> None:
    """In a child of this process, which has no manager: its clusters are closed there."""
    while _open:
        _open.pop()._forget()


os.register_at_fork(after_in_child=_forget_all)


def offer_get(function: Callable[..., Any]) -> None:
    """Have `Cluster.get` call `function`: it is made of what stands above this module."""
    global _scheduler
    _scheduler = function


def current() -> Cluster | None:
    """Return the cluster that was opened last and is still open, or None."""
    return _open[-1] if _open else None


class Cluster(OnEngines, OnRanks, Members, Definitions, Questions):
    """Workers that run calls and hold blocks, and the manager that leads them.

    Parameters
    ----------
    workers
        How many workers to start on this machine; one by default. Workers share nothing but
        sockets, as if each were a node.
    executors
        Processes per worker that run calls; by default the machine's cores are shared out.
    memory, disk
        What each worker may hold in memory and on disk: bytes, or a text such as ``"2GiB"``.
    host
        An engine that starts workers elsewhere; see `on_dask`, `on_mpi`, `on_ray`, `on_slurm`.
        On this machine there is then one worker, which keeps blocks and runs nothing.
    **settings
        All other settings of `freestone.config.Config`.

    Raises
    ------
    ConfigurationError
        For an unknown or wrong setting.
    ClusterStartError
        When the workers don't start.

    Examples
    --------
    >>> import freestone as fs
    >>> with fs.Cluster(executors=2) as cluster:
    ...     cluster.submit(pow, 2, 10).result()
    1024
    """

    def __init__(self, *, host: hosts.Host | None = None, **settings: Unpack[Settings]) -> None:
        self.config: Config = Config.load(settings)
        self._host = host
        self._resizing = threading.Lock()
        self._functions: dict[tuple[bytes, str, bool], int] = {}
        self._large: dict[int, tuple[int | None, Future]] = {}
        self._home: int | None = None
        self._categories = Categories()
        self._files: dict[str, Future] = {}
        self._tags: dict[str, weakref.WeakSet[Future]] = {}
        self._callbacks = Callbacks()
        home = self.config if host is None else hosts.engine.home_of(self.config, host)
        self._site = hosts.local.Site.create(home)
        self.started: float = time.time()
        self._manager = _native.Manager(
            socket=self._site.socket,
            key=self._site.access.key,
            owner=weakref.ref(self),
            future=Future,
            spin_us=int(self.config.spin_us),
            inline_nbytes=self.config.inline_nbytes,
            transfers_in=self.config.transfers_in,
            transfers_out=self.config.transfers_out,
            silence_s=self.config.silence_s,
            trace=trace.check(self.config.trace),
            listen=self._site.listening,
        )
        try:
            self._site.start(self.address, self._joined, self._settle_at)
            self._settle_at(self._site.home)
            self._site.serve(self._answer)
            self._start_host()
        except BaseException:
            self._abandon()
            raise
        _open.append(self)
        atexit.register(self.close)
        offer_joblib()
        self._progress = self._show_progress() if self.config.progress else None

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
            Any callable. Its code goes to each worker once.
        *args, **kwargs
            Its arguments. Futures and files in them, however deep, become their values.
        name
            What people see; the function's name by default.
        priority
            Calls of larger priority run first.
        resources
            What it takes while it runs: ``cores`` (1 by default), ``gpus``, ``memory``, ``disk``
            (bytes, or a text such as ``"1GiB"``). One that takes more memory than it says, besides
            what its executor had before, is ended: `MemoryExceededError`. So is one whose temporary
            files take more of the disk: `DiskExceededError`.
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
        if options != DEFAULTS:
            refuse_ambiguous(function, changed(options), len(args))
        future: Future[T] = self._submit(function, args, kwargs, options)
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
        return self._map(function, calls, options)

    def _map(
        self,
        function: Callable[..., T],
        calls: Iterable[tuple[Any, ...]],
        options: Mapping[str, Any],
    ) -> list[Future[T]]:
        function, first, options, tag = adapt(function, options)
        number, native = self._prepare(function, options)
        first = (*self._carried(number), *first)
        if first:
            calls = ((*first, *args) for args in calls)
        futures: list[Future[T]] = self._manager.map(number, calls, native)
        self._tag(tag, futures)
        return futures

    def _submit(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        options: Mapping[str, Any],
        outputs: int = 1,
    ) -> Any:
        function, first, options, tag = adapt(function, options)
        number, native = self._prepare(function, options, outputs)
        first = (*self._carried(number), *first)
        future = self._manager.submit(number, (*first, *args), kwargs, native)
        self._tag(tag, future if isinstance(future, tuple) else (future,))
        return future

    def _tag(self, tag: str | None, futures: Iterable[Future]) -> None:
        if tag is not None:
            self._tags.setdefault(tag, weakref.WeakSet()).update(futures)

    def _prepare(
        self,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        outputs: int = 1,
        *,
        as_block: bool = True,
    ) -> tuple[int, _native.Options]:
        options = dict(options)
        name, hoist = options.pop("name", None), options.pop("hoist", True)
        native = self._native_options(options, outputs)
        return self._define(function, name, hoist, as_block=as_block), native

    def _native_options(self, options: dict[str, Any], outputs: int) -> _native.Options:
        self._require_open("submit a call")
        self._require_cache(options.get("keep"))
        resources = options.pop("resources", None)
        if options.get("category") is not None:
            options["category"] = self._categories.number(options["category"], resources or {})
        if options.get("retries") is None:
            options["retries"] = self.config.retries
        return native_options(tuple((resources or {}).items()), outputs, tuple(options.items()))

    def _call(
        self, number: int, args: tuple[Any, ...], options: dict[str, Any], outputs: int
    ) -> Any:
        """Submit a call of a function that was defined; several outputs are a tuple."""
        given = (*self._carried(number), *args)
        return self._manager.submit(number, given, None, self._native_options(options, outputs))

    def _reduce(
        self,
        function: Callable[..., Any],
        blocks: Sequence[Any],
        arity: int,
        commutes: bool,
        options: Mapping[str, Any],
    ) -> Future:
        number, native = self._prepare(function, options, as_block=False)
        futures = [block if isinstance(block, Future) else self.put(block) for block in blocks]
        result: Future = self._manager.reduce(number, futures, arity, commutes, native)
        return result

    def _reduce_defined(
        self,
        number: int,
        futures: list[Future],
        arity: int,
        commutes: bool,
        options: dict[str, Any],
    ) -> Future:
        """Combine blocks by a function that was defined and takes up to `arity` values."""
        native = self._native_options(options, 1)
        result: Future = self._manager.reduce(number, futures, arity, commutes, native)
        return result

    def get(self, graph: Any, keys: Any, **options: Any) -> Any:
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
        if _scheduler is None:
            raise RuntimeError("import freestone.graph first: it has what runs Dask graphs")
        return _scheduler(self, graph, keys, **options)

    def command(
        self,
        command: str | Sequence[str],
        *,
        inputs: Mapping[str, Any] | None = None,
        outputs: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
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
        args = (command, dict(inputs or {}), tuple(outputs), dict(env or {}))
        options.setdefault("name", command if isinstance(command, str) else " ".join(command))
        made = self._submit(run_command, args, {}, options, outputs=1 + len(outputs))
        futures = made if outputs else (made,)
        return Command(futures[0], dict(zip(outputs, futures[1:], strict=True)))

    # -- blocks -----------------------------------------------------------------------------

    def put(self, value: T, *, keep: Keep = "task") -> Future[T]:
        """Make a value a block, named by its content.

        Notes
        -----
        A large value is copied once, into the cache of the worker on this machine.
        """
        self._require_open("put a value")
        self._require_cache(keep)
        if isinstance(value, File):
            return self._block_of(value)
        future: Future[T] = self._manager.put(value, keep)
        return future

    def scatter(self, values: Iterable[T], *, keep: Keep = "task") -> list[Future[T]]:
        """Make each of some values a block; see `put`."""
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
        """Return the values of futures, in their shape; see `freestone.waiting.gather`."""
        return gather(futures, errors=errors)

    def cancel(self, futures: Iterable[Future] | Future = (), *, tag: str | None = None) -> None:
        """Cancel tasks, also those that run, and all that depends on them.

        Parameters
        ----------
        futures
            A future, or some.
        tag
            Besides, all calls that were submitted with this tag and are still referred to.
        """
        cancelled = [futures] if isinstance(futures, Future) else list(futures)
        if tag is not None:
            cancelled += self._tags.pop(tag, ())
        self._manager.cancel(cancelled)

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
    ) -> Iterable[Future[T]]:
        """Yield futures as they are done; see `freestone.as_completed`."""
        return as_completed(futures, timeout_s)

    def _block_of(self, file: File) -> Future:
        file.check()
        known = self._files.get(file.name)
        if known is not None:
            return known
        future: Future
        if file.is_remote:
            future = self._submit(fetch_block, (file.path, file.name), {}, {"keep": "session"})
        else:
            future = self._manager.adopt(
                file.path, bytes.fromhex(file.name), file.nbytes, file.checksum, file.basename
            )
        self._files[file.name] = future
        return future

    def executor(self) -> concurrent.futures.Executor:
        """Return a `concurrent.futures.Executor` whose calls run here."""
        from freestone.compat.concurrent import Executor

        return Executor(self)

    def _replay(self, future: Future) -> Any:
        definition, args, kwargs = self._manager.call_of(future)
        return functions.load(definition)(*args, **(kwargs or {}))

    # -- the end ----------------------------------------------------------------------------

    def close(self) -> None:
        """End the run: workers end, blocks go, pending futures fail with `ClosedError`."""
        if self in _open:
            _open.remove(self)
        atexit.unregister(self.close)
        if self._progress is not None:
            self._progress.stop()
        self._write_trace()
        self._abandon()

    def _abandon(self) -> None:
        self._site.start_closing()
        self._manager.close()
        self._callbacks.close()
        if self._host is not None:
            self._host.close()
        self._site.close()

    def _forget(self) -> None:
        atexit.unregister(self.close)
        self._manager.forget()
        self._site.forget()

    def _show_progress(self) -> Progress[Future]:
        from freestone.observe.progress import progress

        return progress(self).start()

    def _write_trace(self) -> None:
        if self.config.trace is not None and not self.closed:
            trace.leave(self.config.trace, self._manager)

    def _require_open(self, action: str) -> None:
        if self.closed:
            raise ClosedError(action)

    def _require_cache(self, keep: str | None) -> None:
        if keep == "forever" and self.config.cache is None:
            problem = "keep='forever' needs a folder: open the cluster with cache=..., a path"
            raise ConfigurationError(problem, key="cache", origin="default")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # `dask.config`, whose scheduler may be `get`, is copied by libraries.

    def __repr__(self) -> str:
        from freestone.observe.reprs import cluster_text

        return cluster_text(self)

    def _repr_html_(self) -> str:
        from freestone.observe.reprs import cluster_html

        return cluster_html(self)
