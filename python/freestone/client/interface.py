"""What the surfaces ask of a cluster: the one interface between them and a manager.

See docs/decisions/068-surfaces-use-a-cluster-by-one-interface-client.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from freestone.client.future import Future
from freestone.client.options import Keep

if TYPE_CHECKING:
    from freestone.client.files import File
    from freestone.config import Config
    from freestone.functions import EncodedFunction
    from freestone.observe.explain import Explanation
    from freestone.observe.figures import Statistics

__all__ = ["Client", "HasClient"]


class Client(Protocol):
    """A program's side of a cluster: it submits calls, puts blocks and asks where they are.

    Arrays, graphs, scripts and events use a cluster through these methods alone, so that they work
    with a manager in this process and with one elsewhere. Options are those of `Cluster.submit`,
    and ``near``: the number of the worker near which to run, or ``"input"``.

    Attributes
    ----------
    config : Config
        The cluster's settings.
    """

    config: Config

    @property
    def closed(self) -> bool:
        """Whether the cluster has ended."""

    @property
    def address(self) -> str:
        """Where workers join: ``unix:PATH``, or ``tcp://HOST:PORT`` if it listens there."""

    @property
    def slots(self) -> int:
        """How many calls run at once."""

    def require_open(self, action: str) -> None:
        """Raise `ClosedError`, which names the action, if the cluster has ended."""

    # -- calls ------------------------------------------------------------------------------

    def define(
        self,
        function: Callable[..., Any] | EncodedFunction,
        name: str | None = None,
        *,
        hoist: bool = True,
        as_block: bool = True,
    ) -> int:
        """Return the number of a function, whose code is sent with its first call only.

        A large one becomes a block if `as_block`: it is then the first argument of each call.
        """

    def call(
        self, function: int, args: Sequence[Any], options: Mapping[str, Any], outputs: int = 1
    ) -> Any:
        """Submit a call of a defined function; a future, or a tuple of several."""

    def call_each(
        self, function: int, calls: Iterable[tuple[Any, ...]], options: Mapping[str, Any]
    ) -> list[Future]:
        """Submit a call of a defined function for each tuple of arguments, in one message."""

    def submit(
        self,
        function: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: dict[str, Any] | None = None,
        options: Mapping[str, Any] = {},
        outputs: int = 1,
    ) -> Any:
        """Define a function and submit a call of it; a future, or a tuple of several."""

    def map(
        self,
        function: Callable[..., Any],
        calls: Iterable[tuple[Any, ...]],
        options: Mapping[str, Any] = {},
    ) -> list[Future]:
        """Define a function and submit a call of it for each tuple of arguments."""

    def reduce(
        self,
        function: Callable[..., Any] | int,
        blocks: Sequence[Any],
        arity: int,
        *,
        commutes: bool = False,
        options: Mapping[str, Any] = {},
    ) -> Future:
        """Combine blocks by a function of up to `arity` values, or by its number."""

    def cancel(self, futures: Iterable[Future] | Future, *, waits: bool = False) -> None:
        """Cancel tasks, also those that run, and all that depends on them.

        With `waits` the futures are cancelled once it returns, after an answer of the manager's.
        """

    def subscribe(
        self, future: Future, callback: Callable[[Future], object]
    ) -> Callable[[], object]:
        """Call `callback(future)`, on a thread of the client's, once the future is done.

        What it returns takes that back, unless it has been called.
        """

    def replay(self, future: Future) -> Any:
        """Run the call that made a block again, in this process."""

    # -- blocks -----------------------------------------------------------------------------

    def put(self, value: Any, *, keep: Keep = "task") -> Future:
        """Make a value a block, named by its content."""

    def put_file(self, file: File) -> Future:
        """Make the content of a file a block."""

    def detach(self, futures: Iterable[Future]) -> None:
        """Have calls run to their end, and their results stay, though this program ends."""

    def who_has(self, futures: list[Future]) -> list[list[str]]:
        """Return for each block the workers that hold it, such as ``"worker-3"``."""

    def locate(self, futures: list[Future]) -> tuple[bytes, bytes, bytes]:
        """Return where blocks are, in three arrays of int64 for `partitions.splitting`."""

    def collect(self, futures: list[Future]) -> int:
        """Have the blocks of a collection evened out among workers; the collection's number."""

    def disperse(self, collection: int) -> None:
        """Leave the blocks of a collection where they are from now on."""

    # -- the cluster ------------------------------------------------------------------------

    def workers(self) -> list[dict[str, Any]]:
        """Return the figures of each worker."""

    def statistics(self) -> Statistics:
        """Return the run's figures so far."""

    def explain(self, future: Future) -> Explanation:
        """Tell why a task waits, or where and when it ran."""


class HasClient(Protocol):
    """A cluster as users have it."""

    @property
    def client(self) -> Client:
        """What the surfaces ask it by."""
