"""The client of a manager that runs in this process.

See docs/decisions/002-values-of-the-program-go-to-the-cache-of-a-home-worker.md
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pickle import PicklingError
from typing import TYPE_CHECKING, Any, ClassVar

from freestone import _native, functions
from freestone.client.definitions import Definitions
from freestone.client.environments import adapt
from freestone.client.files import File, fetch_block
from freestone.client.future import Future
from freestone.client.options import (
    DEFAULTS,
    Categories,
    Keep,
    amounts_of,
    check_types,
    native_options,
)
from freestone.client.waiting import A, Callbacks, checked
from freestone.config import Config
from freestone.errors import (
    ClosedError,
    ConfigurationError,
    InputUnknownError,
    NameTakenError,
    NotPublishedError,
    did_you_mean,
)
from freestone.hosts.node import hostname
from freestone.observe.logs import Collector
from freestone.observe.recorder import Recorder

if TYPE_CHECKING:
    from freestone.observe.explain import Explanation
    from freestone.observe.figures import Statistics
    from freestone.observe.spans import Spans

__all__ = ["LocalClient"]

_BATCH = 4096
"""How many calls of a `map` are submitted before an interrupt is noticed."""


class LocalClient:
    """Submits calls to a manager in this process; see `Client`.

    Parameters
    ----------
    config
        The cluster's settings.
    socket, key, listen
        Where workers join, what they show for it, and where those of other machines do.
    trace
        Whether the manager keeps records of what happens.
    journal
        The folder in which it writes what another process needs to go on with it.
    """

    _is_one_of_many: ClassVar[bool] = False

    def __init__(
        self,
        config: Config,
        *,
        socket: str,
        key: str,
        listen: tuple[str, str, tuple[str, str]] | None,
        trace: bool,
        journal: str | None = None,
    ) -> None:
        manager = _native.manager.Manager(
            socket=socket,
            key=key,
            owner=weakref.ref(self),
            future=Future,
            spin_us=int(config.spin_us),
            inline_nbytes=config.inline_nbytes,
            transfers_in=config.transfers_in,
            transfers_out=config.transfers_out,
            silence_s=config.silence_s,
            max_calls=config.max_calls,
            trace=trace,
            listen=listen,
            journal=journal,
        )
        self._begin(config, manager)

    def _begin(self, config: Config, manager: _native.manager.Manager) -> None:
        """Submit to a manager from now on."""
        self.config: Config = config
        self.manager: _native.manager.Manager = manager
        self._definitions = Definitions(self.manager)
        self._categories = Categories()
        # By the name of their content: the file whose path the block has, and the block.
        self._files: dict[str, tuple[File, Future]] = {}
        self._tags: dict[str, weakref.WeakSet[Future]] = {}
        self._callbacks = Callbacks()
        self.logs: Collector = Collector(manager, config.logs)
        # Who records takes no part in showing what tasks print, which may block, unless it has to.
        sampled = self.logs if config.profile else None
        self.recorder: Recorder = Recorder(manager, config.trace is not None, sampled)
        self.spans: Spans | None = None

    @property
    def closed(self) -> bool:
        """Whether the cluster has ended."""
        return bool(self.manager.closed)

    @property
    def address(self) -> str:
        """Where workers join."""
        return self.manager.address

    @property
    def slots(self) -> int:
        """How many calls run at once."""
        return sum(worker["slots"] for worker in self.workers())

    @property
    def holder(self) -> str:
        """Who enters locks by it, for people."""
        return f"a program (process {os.getpid()} on {hostname()})"

    @property
    def task_worker(self) -> int | None:
        """The worker whose loss ends what it holds, if it is the client of tasks."""
        return None

    def require_open(self, action: str) -> None:
        """Raise `ClosedError` if the cluster has ended."""
        if self.closed:
            raise ClosedError(action)

    def set_home(self, worker: int, memory: tuple[str, int], disk: tuple[str, int]) -> None:
        """Put blocks of this program with a worker from now on.

        Parameters
        ----------
        worker
            Its number.
        memory, disk
            The folders of its cache, and how many bytes each may hold.
        """
        self.manager.set_home(worker, memory, disk)

    def close(self) -> None:
        """End the manager: pending futures fail with `ClosedError`."""
        self.manager.close()
        self._callbacks.close()
        self.logs.close()

    # -- calls ------------------------------------------------------------------------------

    def define(
        self,
        function: Callable[..., Any] | functions.EncodedFunction,
        name: str | None = None,
        *,
        hoist: bool = True,
        as_block: bool = True,
    ) -> int:
        """Return the number of a function; see `Client.define`."""
        if isinstance(function, functions.EncodedFunction):
            label = name or function.label
            return self._definitions.define_encoded(function, label, as_block=as_block)
        return self._definitions.define(function, name, hoist=hoist, as_block=as_block)

    def call(
        self, function: int, args: Sequence[Any], options: Mapping[str, Any], outputs: int = 1
    ) -> Any:
        """Submit a call of a defined function."""
        given = (*self._definitions.leading(function), *args)
        made = self.manager.submit(function, given, None, self._native({**options}, outputs))
        return self._submitted(made)

    def call_each(
        self, function: int, calls: Iterable[tuple[Any, ...]], options: Mapping[str, Any]
    ) -> list[Future]:
        """Submit a call of a defined function for each tuple of arguments."""
        return self._map(function, (), calls, self._native({**options}, 1))

    def submit(
        self,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
        options: Mapping[str, Any] = {},
        outputs: int = 1,
    ) -> Any:
        """Define a function and submit a call of it."""
        if options is not DEFAULTS:
            check_types(options)
        function, first, options = adapt(function, options)
        number, native = self._prepare(function, options, outputs)
        first = (*self._definitions.leading(number), *first)
        future = self._submitted(self.manager.submit(number, (*first, *args), kwargs, native))
        tag = options.get("tag")
        if tag is not None:
            self._tag(tag, future if isinstance(future, tuple) else (future,))
        return future

    def map(
        self,
        function: Callable[..., Any],
        calls: Iterable[tuple[Any, ...]],
        options: Mapping[str, Any] = {},
    ) -> list[Future]:
        """Define a function and submit a call of it for each tuple of arguments."""
        check_types(options)
        function, first, options = adapt(function, options)
        number, native = self._prepare(function, options)
        futures = self._map(number, first, calls, native)
        tag = options.get("tag")
        if tag is not None:
            self._tag(tag, futures)
        return futures

    def _map(
        self,
        function: int,
        first: tuple[Any, ...],
        calls: Iterable[tuple[Any, ...]],
        native: _native.manager.Options,
    ) -> list[Future]:
        """Submit a call for each tuple of arguments, which come after the same `first` ones."""
        first = (*self._definitions.leading(function), *first)
        if first:
            calls = ((*first, *args) for args in calls)
        calls, futures = iter(calls), list[Future]()

        def submit(batch: list[tuple[Any, ...]]) -> list[Future]:
            made: list[Future] = self.manager.map(function, batch, native)
            return made

        try:
            while batch := list(islice(calls, _BATCH)):
                # One step of the interpreter, so that an interrupt finds all that was submitted.
                any(map(futures.extend, map(submit, (batch,))))
        except KeyboardInterrupt:
            # Nobody has them.
            self.cancel(futures)
            raise
        if self.spans is not None:
            self.spans.note(futures)
        return futures

    def reduce(
        self,
        function: Callable[..., Any] | int,
        blocks: Sequence[Any],
        arity: int,
        *,
        commutes: bool = False,
        options: Mapping[str, Any] = {},
    ) -> Future:
        """Combine blocks by a function of up to `arity` values."""
        if isinstance(function, int):
            number, native = function, self._native({**options}, 1)
        else:
            number, native = self._prepare(function, options, as_block=False)
        futures = [block if isinstance(block, Future) else self.put(block) for block in blocks]
        result: Future = self._submitted(
            self.manager.reduce(number, futures, arity, commutes, native)
        )
        return result

    def cancel(self, futures: Iterable[Future] | Future, *, waits: bool = False) -> None:
        """Cancel tasks, also those that run, and all that depends on them; see `Client.cancel`."""
        cancelled = checked(futures, "cancel")
        waits = waits and not all(future.done() for future in cancelled)
        self.manager.cancel(cancelled)
        if waits:
            # Answered after the cancellation.
            self.who_has([])

    def tagged(self, tag: str) -> list[Future]:
        """Return the futures of calls with a tag, as far as the program still refers to them."""
        check_types({"tag": tag})
        if tag not in self._tags and (hint := did_you_mean(tag, self._tags)):
            warnings.warn(f"no call has had the tag {tag!r}{hint}", stacklevel=4)
        return list(self._tags.get(tag, ()))

    def cancel_everywhere(self, tag: str) -> int:
        """Cancel the calls with a tag of all programs that use this manager, for each of them.

        Returns
        -------
        int
            How many had not ended. What a program has submitted without the tag goes on for it.
        """
        own = [future for future in self._tags.get(tag, ()) if not future.done()]
        self.cancel(own)
        return len(own) + _native.manager.cancel_tagged(self.manager, tag)

    def subscribe(self, awaited: A, callback: Callable[[A], object]) -> Callable[[], object]:
        """Call `callback(awaited)` once it is resolved; see `Client.subscribe`."""
        return self._callbacks.add(awaited, callback)

    def replay(self, future: Future) -> Any:
        """Run the call that made a block again, in this process."""
        definition, args, kwargs = self.manager.call_of(future)
        _, plain = functions.unwrapped(definition)
        return functions.load(plain)(*args, **(kwargs or {}))

    def _submitted(self, made: Any) -> Any:
        """Return what a call gives, which the span that is current has submitted."""
        if self.spans is not None:
            # A call has the name of its first output.
            self.spans.note([made[0] if isinstance(made, tuple) else made])
        return made

    def _tag(self, tag: str, futures: Iterable[Future]) -> None:
        self._tags.setdefault(tag, weakref.WeakSet()).update(futures)

    def _prepare(
        self,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        outputs: int = 1,
        *,
        as_block: bool = True,
    ) -> tuple[int, _native.manager.Options]:
        options = dict(options)
        name, hoist = options.pop("name", None), options.pop("hoist", True)
        native = self._native(options, outputs)
        return self._definitions.define(function, name, hoist=hoist, as_block=as_block), native

    def _native(self, options: dict[str, Any], outputs: int) -> _native.manager.Options:
        self.require_open("submit a call")
        self._require_cache(options.get("keep"))
        amounts = amounts_of(options.pop("resources", None))
        category = options.pop("category", None)
        if category is not None:
            options["category"] = self._categories.number(category, dict(amounts))
        if options.get("retries") is None:
            options["retries"] = self.config.retries
        return native_options(amounts, outputs, tuple(options.items()))

    def _require_cache(self, keep: str | None) -> None:
        if keep == "forever" and self.config.cache is None:
            problem = "keep='forever' needs a folder: open the cluster with cache=..., a path"
            raise ConfigurationError(problem, key="cache", origin="default")

    def add_package(self, package: functions.Package) -> None:
        """Have calls that are submitted from now on import a package, in place of older ones."""
        others = self._definitions.packages
        replaced = {one for one in others if set(one.modules) <= set(package.modules)}
        # They depend on the files of modules, which may be other ones than before.
        functions.forget_encoded()
        self._definitions.packages = (package, *(one for one in others if one not in replaced))

    # -- blocks -----------------------------------------------------------------------------

    def put(self, value: Any, *, keep: Keep = "task") -> Future:
        """Make a value a block, named by its content."""
        self.require_open("put a value")
        self._require_cache(keep)
        if isinstance(value, File):
            return self.put_file(value)
        try:
            future: Future = self.manager.put(value, keep)
        except (TypeError, AttributeError, PicklingError) as error:
            from freestone.functions.serializing import not_serializable

            raise not_serializable("value", value, "", error) from None
        return future

    def put_file(self, file: File) -> Future:
        """Make the content of a file a block."""
        file.check()
        known = self._files.get(file.name)
        if known is not None and known[0].is_intact:
            return known[1]
        future: Future
        if file.is_remote:
            future = self.submit(fetch_block, (file.path, file.name), {}, {"keep": "session"})
        else:
            # A block has one path. Where a file of this content has lost it, this is another block.
            is_another = known is not None or (self._is_one_of_many and file.stamp is not None)
            name = file.name_here if is_another else file.name
            future = self.manager.adopt(
                file.path, bytes.fromhex(name), file.nbytes, file.checksum, file.basename
            )
        self._files[file.name] = (file, future)
        return future

    # -- what outlives this program ---------------------------------------------------------

    def publish(self, name: str, future: Future, *, replace: bool = False) -> None:
        """Have a block outlive this program under a name; see `Session.publish`."""
        self.require_open("publish a block")
        if not isinstance(name, str):
            raise TypeError(f"the name of a block is text, not {name!r:.80}")
        if not isinstance(future, Future):
            problem = f"publish() takes a future, not {future!r:.80} ({type(future).__name__})"
            raise TypeError(f"{problem}; cluster.put(value) gives one of a value")
        if self.manager.publish(name, future, replace):
            return
        if any(name == title for title, _, _ in self.manager.published()):
            raise NameTakenError(what="block", name=name)
        raise InputUnknownError(label=future.label, name=future.name)

    def unpublish(self, name: str) -> None:
        """Take a name away from its block."""
        self.require_open("take a name away")
        if not self.manager.unpublish(name):
            raise NotPublishedError(name=name, published=self.published())

    def published(self) -> list[str]:
        """Return the names of published blocks."""
        self.require_open("ask what is published")
        return [title for title, _, _ in self.manager.published()]

    def find(self, name: str) -> Future:
        """Return the future of a published block."""
        self.require_open("look for a block")
        known = {title: (block, label) for title, block, label in self.manager.published()}
        if name not in known:
            raise NotPublishedError(name=name, published=list(known))
        future: Future = self.manager.watch(*known[name])
        return future

    def detach(self, futures: Iterable[Future]) -> None:
        """Have calls run to their end though this program ends; see `Future.detach`."""
        self.require_open("detach a call")
        self.manager.detach(list(futures))
        # Answered after that: once this returns, the end of this program does not matter.
        self.manager.who_has([])

    def who_has(self, futures: list[Future]) -> list[list[str]]:
        """Return for each block the workers that hold it."""
        return self.manager.who_has(futures)

    def locate(self, futures: list[Future]) -> tuple[bytes, bytes, bytes]:
        """Return where blocks are."""
        return self.manager.locate(futures)

    def collect(self, futures: list[Future]) -> int:
        """Have the blocks of a collection evened out among workers."""
        return self.manager.collect(futures)

    def disperse(self, collection: int) -> None:
        """Leave the blocks of a collection where they are from now on."""
        self.manager.disperse(collection)

    # -- the cluster ------------------------------------------------------------------------

    def workers(self) -> list[dict[str, Any]]:
        """Return the figures of each worker."""
        workers: list[dict[str, Any]] = self.manager.statistics()["workers"]
        return workers

    def statistics(self) -> Statistics:
        """Return the run's figures so far."""
        from freestone.observe.figures import Statistics

        self.require_open("ask for its statistics")
        return Statistics.from_dict(self.manager.statistics())

    def explain(self, future: Future) -> Explanation:
        """Tell why a task waits, or where and when it ran."""
        if not isinstance(future, Future):
            kind = type(future).__name__
            raise TypeError(f"explain() takes a future, not {future!r:.80} ({kind})")
        found = self.explain_named(future.name, future._arguments())
        if future.cancelled():
            return replace(found, stage="cancelled")
        failure, error = future._failure(), future.exception() if future.done() else None
        if found.stage != "failed" or failure is None or error is None:
            return found
        return found.with_error(error, "" if failure["name"] == future.name else future.label)

    def explain_named(self, name: str, encoded: bytes | None = None) -> Explanation:
        """Tell it of a block by its name, which the program need not refer to.

        Parameters
        ----------
        name
            The block's.
        encoded
            The arguments of the call that makes it, which the manager forgets with the task.
        """
        figures = self.manager.explain(bytes.fromhex(name))
        if figures["arguments"] is None and encoded is not None and figures["label"]:
            figures["arguments"] = (encoded, [])
        from freestone.observe.explain import Explanation

        return Explanation.from_dict({**figures, "slots": self.slots})
