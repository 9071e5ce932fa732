"""A cluster as a backend of joblib, and so of all of scikit-learn's ``n_jobs``.

    with fs.Cluster(), joblib.parallel_config("freestone"):
        GridSearchCV(SVC(), grid).fit(x, y)

Importing this module makes the backend known to joblib; so does `offer_joblib`, which imports
neither.
"""

from __future__ import annotations

import contextlib
import functools
import io
import pickle
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from joblib import parallel
from joblib._parallel_backends import (
    AutoBatchingMixin,
    FallbackToBackend,
    ParallelBackendBase,
    SequentialBackend,
)

from freestone.client.opened import current
from freestone.errors import UsageError
from freestone.functions import in_executor
from freestone.functions.pickling import Pickler

if TYPE_CHECKING:
    from freestone.client import Client, Future, HasClient

__all__ = ["FreestoneBackend", "register"]

# Smaller arrays travel with the call: a block has a price of its own.
MIN_NBYTES = 100_000


def register() -> None:
    """Make ``joblib.parallel_config("freestone")`` work."""
    parallel.register_parallel_backend("freestone", FreestoneBackend)


class FreestoneBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """Runs joblib's batches as calls of a cluster.

    Parameters
    ----------
    cluster : Cluster, optional
        By default the one that was opened last.
    nesting_level : int, optional
        Set by joblib.
    inner_max_num_threads : int, optional
        The most threads that BLAS and OpenMP may use in a call.
    **options
        Options of ``Cluster.submit`` for every batch.

    Notes
    -----
    Arrays of 100 kB and more, however deep in the arguments, become blocks, once for all calls of
    one ``Parallel`` that refer to the same array; calls see them read-only, as with joblib's own
    memory maps. ``Parallel`` inside a call runs sequentially.
    """

    supports_retrieve_callback = True
    supports_inner_max_num_threads = True
    default_n_jobs = -1

    def __init__(
        self,
        cluster: HasClient | None = None,
        nesting_level: int | None = None,
        inner_max_num_threads: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        # A call may import a module that makes a backend: there it is an error only to use it.
        if cluster is not None:
            self._given: Client | None = cluster.client
        else:
            self._given = None if in_executor() else _current()
        self._options = {"name": "joblib", **options, "pure": False}
        self._pending: dict[int, Future] = {}

    @functools.cached_property
    def _client(self) -> Client:
        return self._given if self._given is not None else _current()

    @functools.cached_property
    def _blocks(self) -> _Blocks:
        return _Blocks(self._client)

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """Tell how many calls run at once: all executors for -1, all but one for -2."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        slots = self._client.slots
        if n_jobs is None:
            return slots
        return max(1, slots + 1 + n_jobs) if n_jobs < 0 else min(n_jobs, slots)

    def configure(
        self,
        n_jobs: int | None = 1,
        parallel: Any = None,
        prefer: str | None = None,
        require: str | None = None,
        **_: Any,
    ) -> int:
        """Prepare for one ``Parallel``; one job runs here."""
        if n_jobs == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        return self.effective_n_jobs(n_jobs)

    def submit(self, func: Any, callback: Callable[[Future], object] | None = None) -> Future:
        """Submit a batch; joblib is called back when it is done."""
        payload, blocks = self._blocks.encode(func.items)
        args = (payload, blocks, self.inner_max_num_threads)
        future: Future = self._client.submit(run_batch, args, {}, self._options)
        self._pending[id(future)] = future
        future.add_done_callback(self._forget)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def _forget(self, future: Future) -> None:
        self._pending.pop(id(future), None)

    def retrieve_result_callback(self, out: Future) -> Any:
        """Give a batch's results, or raise what it raised."""
        return out.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancel all batches, also those that run."""
        self._client.cancel(list(self._pending.values()))
        self._pending.clear()

    def stop_call(self) -> None:
        """Let go of the arrays of one ``Parallel``."""
        self._blocks.clear()

    def terminate(self) -> None:
        """Let go of all; the cluster stays open."""
        self._blocks.clear()
        self.reset_batch_stats()

    def get_nested_backend(self) -> tuple[Any, int | None]:
        """Give the backend of ``Parallel`` inside a call."""
        return SequentialBackend(nesting_level=(self.nesting_level or 0) + 1), None


class _Blocks:
    """The arrays of one ``Parallel``, each put once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[int, tuple[object, Future]] = {}

    def encode(self, items: list[Any]) -> tuple[bytes, list[Future]]:
        """Pickle calls without their large arrays, which stand as positions in the list."""
        used: dict[int, int] = {}
        blocks: list[Future] = []

        class Hoisting(Pickler):
            def persistent_id(_, value: Any) -> int | None:  # noqa: N805
                if not is_large(value):
                    return None
                place = used.get(id(value))
                if place is None:
                    place = used[id(value)] = len(blocks)
                    blocks.append(self._put(value))
                return place

        with io.BytesIO() as file:
            Hoisting(file, protocol=5).dump(items)
            return file.getvalue(), blocks

    def _put(self, value: object) -> Future:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = (value, self._client.put(value))
        return known[1]

    def clear(self) -> None:
        """Let go of them."""
        self._known.clear()


def is_large(value: Any) -> bool:
    """Whether a value is an array that is worth a block."""
    return (
        type(value).__module__ == "numpy"
        and type(value).__name__ == "ndarray"
        and value.nbytes >= MIN_NBYTES
        and not value.dtype.hasobject
    )


def run_batch(payload: bytes, blocks: list[Any], threads: int | None) -> list[Any]:
    """Run a batch in an executor, ``Parallel`` inside of it sequentially."""

    class Placing(pickle.Unpickler):
        def persistent_load(self, place: int) -> Any:
            return blocks[place]

    items = Placing(io.BytesIO(payload)).load()
    with parallel.parallel_config(backend="sequential", n_jobs=1), _limited(threads):
        return [function(*arguments, **keywords) for function, arguments, keywords in items]


@contextlib.contextmanager
def _limited(threads: int | None) -> Iterator[None]:
    if threads is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        yield


def _current() -> Client:
    client = current()
    if client is None:
        raise UsageError(
            "no cluster is open for joblib's calls: open one by 'with freestone.Cluster():', or "
            "give parallel_config('freestone', cluster=...)"
        )
    return client


register()
