"""The native half: manager, worker and executor. Not for users; see `freestone.Cluster`."""

from collections.abc import Iterable
from typing import Any, Literal, final

from typing_extensions import disjoint_base

__all__ = [
    "Event",
    "EventBuffer",
    "EventMemory",
    "EventRank",
    "FutureBase",
    "Group",
    "Hold",
    "Manager",
    "MappedBuffer",
    "Options",
    "Stored",
    "Watch",
    "current_rank",
    "encoding_owner",
    "encoding_place",
    "fresh_claims",
    "load_input",
    "make_identity",
    "name_file",
    "run_executor",
    "run_worker",
    "set_current_rank",
]

@disjoint_base
class FutureBase:
    """A reference to a block; the block is needed for as long as it lives."""

    def __new__(cls) -> FutureBase: ...
    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def nbytes(self) -> int | None: ...
    def done(self) -> bool: ...
    def _wait(self, timeout_s: float | None = None) -> bool: ...
    def _failure(self) -> dict[str, Any] | None: ...
    def _value(self, timeout_s: float | None = None) -> Any: ...
    def _owner(self) -> Any: ...
    def __reduce__(self) -> Any: ...

@final
class Options:
    """How a call is to be run, in the form in which it travels."""

    def __new__(
        cls,
        *,
        cores: int = 1,
        gpus: int = 0,
        memory: int = 0,
        disk: int = 0,
        isolation: str = "shared",
        keep: str = "task",
        timeout_s: float | None = None,
        retries: int = 0,
        priority: int = 0,
        worker: int | None = None,
        near: int | Literal["input"] | None = None,
        pure: bool = True,
        outputs: int = 1,
        replicas: int = 1,
        category: int = 0,
    ) -> Options: ...

@final
class Manager:
    """A cluster's manager: a thread that never holds the interpreter."""

    def __new__(
        cls,
        *,
        socket: str,
        key: str,
        owner: Any,
        future: type[FutureBase],
        spin_us: int,
        inline_nbytes: int,
        transfers_in: int,
        transfers_out: int,
        trace: bool,
        listen: tuple[str, str, tuple[str, str]] | None = None,
    ) -> Manager: ...
    @property
    def address(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def set_home(self, worker: int, memory: tuple[str, int], disk: tuple[str, int]) -> None: ...
    def define(self, label: str, name: bytes, definition: bytes) -> int: ...
    def submit(
        self,
        function: int,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any] | None,
        options: Options,
    ) -> Any: ...
    def map(
        self, function: int, arguments: Iterable[tuple[Any, ...]], options: Options
    ) -> list[Any]: ...
    def put(self, value: Any, keep: str = "task") -> Any: ...
    def adopt(self, path: str, name: bytes, nbytes: int, checksum: int, basename: str) -> Any: ...
    def reduce(
        self, function: int, futures: list[Any], arity: int, commutes: bool, options: Options
    ) -> Any: ...
    def call_of(
        self, future: FutureBase
    ) -> tuple[bytes, tuple[Any, ...], dict[str, Any] | None]: ...
    def cancel(self, futures: list[Any]) -> None: ...
    def who_has(self, futures: list[Any]) -> list[list[str]]: ...
    def locate(self, futures: list[Any]) -> tuple[bytes, bytes, bytes]: ...
    def explain(self, future: FutureBase) -> dict[str, Any]: ...
    def statistics(self) -> dict[str, Any]: ...
    def retire(self, worker: int) -> None: ...
    def take_records(self) -> list[dict[str, Any]]: ...
    def close(self) -> None: ...
    def forget(self) -> None: ...

@final
class Watch:
    """Tells which futures are settled, in the order in which they are."""

    def __new__(cls) -> Watch: ...
    def add(self, future: FutureBase, key: int) -> None: ...
    def push(self, key: int) -> None: ...
    def take(self, timeout_s: float) -> list[int]: ...

@final
class MappedBuffer:
    """Some bytes of a mapped block, read-only."""

    def __len__(self) -> int: ...

@final
class Stored:
    """A result that becomes a block in its worker's cache, however small it is."""

    def __new__(cls, value: Any) -> Stored: ...
    @property
    def value(self) -> Any: ...

@final
class Group:
    """A result that is kept as the names of the call's inputs, not as their bytes.

    Wherever it is an input, it is what ``make(*args)`` returns for the call's arguments.
    """

    def __new__(cls, value: Any, make: Any) -> Group: ...
    @property
    def value(self) -> Any: ...
    @property
    def make(self) -> Any: ...

@final
class Hold:
    """Keeps a file block in place while a `freestone.File` lives."""

def encoding_owner() -> Any: ...
def encoding_place(place: str) -> bool: ...
def load_input(position: int) -> Any: ...
def make_identity(days: int) -> tuple[str, str]: ...
def name_file(path: str) -> tuple[str, int]: ...
def fresh_claims() -> bytes: ...
def run_executor(
    *,
    socket: int,
    page: int,
    memory: tuple[str, int],
    disk: tuple[str, int],
    inline_nbytes: int,
    spin_us: int,
    hooks: Any,
) -> None: ...
def run_worker(
    *,
    manager: str,
    key: str,
    identity: tuple[str, str] | None,
    listen: str | None,
    reconnect_s: float,
    folder: str,
    memory_dir: str,
    disk_dir: str,
    cache: str | None,
    executors: int,
    ram: int,
    memory: int,
    disk: int,
    gpus: int,
    spin_us: int,
    transfers_in: int,
    transfers_out: int,
    links: bool,
    executor_command: list[str],
) -> None: ...

@final
class Event:
    """An event, as a task gets it."""

    @property
    def source(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def persistent(self) -> bool: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def data(self) -> Any: ...

@final
class EventBuffer:
    """The bytes of a payload, where they are; read-only."""

    def __len__(self) -> int: ...

@final
class EventMemory:
    """The memory that the ranks of a node share."""

    def __new__(cls, ranks: int, *, arena: int) -> EventMemory: ...
    @property
    def fd(self) -> int: ...
    def lose(self, rank: int) -> bool: ...

@final
class EventRank:
    """A rank of a run; see `freestone.events.Rank`."""

    @staticmethod
    def open(
        fd: int,
        rank: int,
        ranks: int,
        *,
        arena: int,
        workers: int,
        thread: bool,
        spin_us: int,
        stuck_s: float | None,
    ) -> EventRank: ...
    @staticmethod
    def threads(
        ranks: int,
        *,
        arena: int,
        workers: int,
        thread: bool,
        spin_us: int,
        stuck_s: float | None,
    ) -> list[EventRank]: ...
    def set_owner(self, owner: Any) -> None: ...
    @property
    def rank(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    def submit(
        self,
        function: Any,
        on: list[tuple[Any, str]],
        *,
        persistent: bool,
        greedy: bool,
        name: str | None,
        label: str,
    ) -> None: ...
    def fire(
        self, target: Any, id: str, data: Any, persistent: bool, by_reference: bool
    ) -> None: ...
    def wait(self, on: list[tuple[Any, str]], timeout_s: float | None = None) -> list[Event]: ...
    def retrieve_any(self, on: list[tuple[Any, str]]) -> list[tuple[int, Event]]: ...
    def lock(self, name: str) -> None: ...
    def try_lock(self, name: str) -> bool: ...
    def unlock(self, name: str) -> None: ...
    def after(self, delay_s: float, id: str) -> None: ...
    def every(self, period_s: float, id: str) -> None: ...
    def stop(self, id: str) -> int: ...
    def is_submitted(self, name: str) -> bool: ...
    def remove(self, name: str) -> int: ...
    def drain(self) -> None: ...
    def report(self) -> str: ...
    def fail(self, error: BaseException, label: str) -> None: ...
    def finish(self) -> list[str]: ...

def current_rank() -> Any: ...
def set_current_rank(rank: Any | None) -> None: ...
