"""The native half: manager, worker and executor. Not for users; see `freestone.Cluster`."""

from collections.abc import Iterable
from typing import Any, Literal, final

from typing_extensions import disjoint_base

# fmt: off
__all__ = [
    "CsvIndex", "Drawing", "Event", "EventBuffer", "EventInvitation", "EventMeeting",
    "EventMemory", "EventRank", "EventWorld", "Filled", "FutureBase", "Group", "Hold", "Manager",
    "MappedBuffer", "Options", "OwnedBuffer", "OwnedFolder", "RowBlocks", "Stored",
    "VectorMemory", "Watch", "checksum", "coo_draw", "coo_merge", "coo_offsets", "coo_reduce",
    "coo_transpose", "copy_rows", "copy_triangle", "csr_panel", "csr_product",
    "csr_product_sizes", "csr_transpose", "csv_cells", "csv_format_columns", "csv_format_dense",
    "csv_infer", "csv_read_columns", "csv_read_dense", "csv_read_triples", "csv_write_columns",
    "csv_write_dense", "current_rank", "encoding_owner", "encoding_place", "fill_block",
    "fresh_claims", "io_count", "io_moved", "is_folder_in_use", "layout_block_transfers",
    "layout_crossing", "layout_even_out", "layout_moved", "layout_reassign", "layout_relabel",
    "layout_relabel_nodes", "layout_transfers", "load_input", "make_identity", "meet_ranks",
    "memory_nodes", "mtx_read", "name_file", "run_executor", "run_pipeline", "run_worker",
    "sample", "set_current_rank", "sweep_folders",
]
# fmt: on

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
        silence_s: float,
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
    def put(self, value: Any, keep: str = "task", name: bytes | None = None) -> Any: ...
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
    def retire(self, workers: list[int]) -> None: ...
    def collect(self, futures: list[Any]) -> int: ...
    def disperse(self, collection: int) -> None: ...
    def balance(self) -> None: ...
    def take_records(self) -> list[dict[str, Any]]: ...
    def take_columns(self) -> list[tuple[int, dict[str, tuple[bytes, bytes | None, bytes]]]]: ...
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
class Filled:
    """A block that a call has written into its node's cache, and returns."""

@final
class OwnedFolder:
    """A folder with a marker, whose lock is held until it is removed or this process ends."""

    @staticmethod
    def create(parent: str) -> OwnedFolder: ...
    @staticmethod
    def take(path: str) -> OwnedFolder: ...
    @property
    def path(self) -> str: ...
    def remove(self) -> None: ...
    def forget(self) -> None: ...

def sweep_folders(parent: str) -> int: ...
def is_folder_in_use(path: str) -> bool: ...

@final
class Hold:
    """Keeps a file block in place while a `freestone.File` lives."""

def encoding_owner() -> Any: ...
def encoding_place(place: str) -> bool: ...
def load_input(position: int) -> Any: ...
def make_identity(days: int) -> tuple[str, str]: ...
def fill_block(source: Any, offset: int, nbytes: int, stream: bytes) -> Filled | None: ...
def checksum(buffer: Any) -> int: ...
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
    stopped_s: float,
    transfers_in: int,
    transfers_out: int,
    scrub_nbytes_s: int,
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
        settings: dict[str, Any],
    ) -> EventRank: ...
    @staticmethod
    def threads(ranks: int, *, arena: int, settings: dict[str, Any]) -> list[EventRank]: ...
    def set_owner(self, owner: Any) -> None: ...
    @property
    def rank(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    @property
    def has_joined(self) -> bool: ...
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
    def when_readable(self, descriptor: int, id: str) -> None: ...
    def when_memory_below(self, nbytes: int, id: str) -> None: ...
    def when_load_above(self, load: float, id: str) -> None: ...
    def stop(self, id: str) -> int: ...
    def is_submitted(self, name: str) -> bool: ...
    def remove(self, name: str) -> int: ...
    def drain(self) -> None: ...
    def report(self) -> str: ...
    def fail(self, error: BaseException, label: str) -> None: ...
    def finish(self) -> list[str]: ...

@final
class EventWorld:
    """The ranks that ``mpiexec`` started, for one run."""

    def __new__(cls, folders: list[str], comm: int | None, timeout_s: float) -> EventWorld: ...
    @staticmethod
    def is_here() -> bool: ...
    @property
    def rank(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    def start(self, settings: dict[str, Any]) -> EventRank: ...
    def exchange(self, own: bytes, round: int | None = None) -> list[bytes]: ...
    def end(self) -> None: ...

@final
class EventMeeting:
    """Where the ranks of a run that connect by TCP meet."""

    def __new__(cls, address: str, identity: tuple[str, str]) -> EventMeeting: ...
    @property
    def address(self) -> str: ...
    def hold(self, ranks: int, patience_s: float) -> None: ...

@final
class EventInvitation:
    """What this process's environment says of a run that is to be joined."""

    @staticmethod
    def from_environment() -> EventInvitation | None: ...
    @property
    def ranks(self) -> int: ...
    def accept(self, patience_s: float, settings: dict[str, Any]) -> EventRank: ...

def meet_ranks(
    address: str,
    identity: tuple[str, str],
    rank: int,
    ranks: int,
    patience_s: float,
    settings: dict[str, Any],
) -> EventRank: ...
def current_rank() -> Any: ...
def set_current_rank(rank: Any | None) -> None: ...

_Moves = list[tuple[int, int, int, int]]

@final
class RowBlocks:
    """Rows dealt to places in order, one contiguous block each; a block may be empty."""

    def __new__(cls, offsets: Iterable[int]) -> RowBlocks: ...
    @staticmethod
    def even(rows: int, places: int) -> RowBlocks: ...
    @staticmethod
    def weighted(rows: int, weights: Iterable[float]) -> RowBlocks: ...
    @staticmethod
    def by_load(offsets: Iterable[int], places: int) -> RowBlocks: ...
    @property
    def places(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def offsets(self) -> list[int]: ...
    def of(self, place: int) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...

def layout_transfers(before: RowBlocks, after: RowBlocks) -> _Moves: ...
def layout_relabel(
    before: RowBlocks,
    after: RowBlocks,
    *,
    offsets: Iterable[int] | None = None,
    may_stay: Iterable[bool] | None = None,
) -> tuple[list[int], _Moves]: ...
def layout_relabel_nodes(
    before: RowBlocks,
    after: RowBlocks,
    may_stay: Iterable[bool],
    node_of: Iterable[int],
    *,
    offsets: Iterable[int] | None = None,
) -> tuple[list[int], _Moves]: ...
def layout_moved(moves: _Moves, *, offsets: Iterable[int] | None = None) -> int: ...
def layout_crossing(
    moves: _Moves, node_of: Iterable[int], *, offsets: Iterable[int] | None = None
) -> tuple[int, int]: ...
def layout_even_out(owners: bytes, weights: bytes, shares: list[int]) -> bytes: ...
def layout_reassign(owners: Iterable[int], places: int) -> list[int]: ...
def layout_block_transfers(
    blocks: RowBlocks, before: Iterable[int], after: Iterable[int]
) -> _Moves: ...

# Arrays are objects with the buffer protocol, which type checkers know from Python 3.12 on.
_Arrays = tuple[Any, Any, Any]

def run_pipeline(
    shape: Any, inputs: Any, structure: Any, instructions: Any, outputs: Any, options: Any
) -> list[Any]: ...
def memory_nodes() -> list[int]: ...
def copy_rows(source: Any, target: Any, workers: int) -> None: ...
def copy_triangle(source: Any, target: Any, lower: bool, inner: bool, workers: int) -> None: ...
def coo_merge(name: str, code: int, left: _Arrays, right: _Arrays, out: _Arrays) -> int: ...
def coo_transpose(code: int, width: int, source: _Arrays, out: _Arrays) -> None: ...
def coo_reduce(name: str, code: int, across: int, at: Any, cells: Any, out: Any) -> None: ...
def coo_offsets(rows: Any, out: Any) -> None: ...
def coo_draw(
    code: int, shape: tuple[int, int], range: tuple[float, float], seed: int, out: _Arrays
) -> None: ...
def csr_panel(code: int, left: _Arrays, right: Any, width: int, workers: int, out: Any) -> None: ...
def csr_transpose(code: int, source: _Arrays, out: _Arrays) -> None: ...
def csr_product_sizes(
    code: int, left: _Arrays, right: _Arrays, width: int, workers: int, out: Any
) -> None: ...
def csr_product(
    code: int, left: _Arrays, right: _Arrays, width: int, workers: int, out: _Arrays
) -> None: ...

@final
class VectorMemory:
    """Memory for a large result, kept for another one when it is let go."""

    def __new__(cls, nbytes: int, policy: str, node: int) -> VectorMemory: ...
    def __len__(self) -> int: ...

@final
class Drawing:
    """The cells of a random matrix, drawn in order."""

    def __new__(
        cls, code: int, count: int, low: Any, high: Any, sparsity: float, seed: int
    ) -> Drawing: ...
    def copy(self) -> Drawing: ...
    def fill(self, out: Any) -> None: ...

def sample(code: int, out: Any, range: float, again: bool, seed: int) -> None: ...

@final
class OwnedBuffer:
    """Bytes of the native module, as a read-only buffer."""

    def __len__(self) -> int: ...

@final
class CsvIndex:
    """Where the lines of a CSV file begin."""

    @staticmethod
    def scan(source: Any, delimiter: int, threads: int) -> CsvIndex: ...
    @staticmethod
    def decode(bytes: bytes) -> CsvIndex | None: ...
    def encode(self) -> bytes: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def lines(self) -> int: ...
    @property
    def kinds(self) -> int: ...
    def offset_of(self, source: Any, line: int) -> int: ...

def csv_cells(rows: bytes, delimiter: int) -> list[list[tuple[bytes, bool]]]: ...
def csv_infer(
    source: Any,
    index: CsvIndex,
    *,
    columns: int,
    delimiter: int,
    start: int,
    stop: int,
    threads: int,
) -> list[int]: ...
def csv_read_dense(
    source: Any,
    index: CsvIndex,
    out: Any,
    *,
    code: str,
    columns: int,
    delimiter: int,
    skip: int,
    start: int,
    threads: int,
) -> None: ...
def csv_read_columns(
    source: Any,
    index: CsvIndex,
    *,
    codes: list[str],
    delimiter: int,
    start: int,
    stop: int,
    threads: int,
) -> list[tuple[int, list[tuple[OwnedBuffer, OwnedBuffer, OwnedBuffer, int]]]]: ...
def csv_read_triples(
    source: Any,
    index: CsvIndex,
    *,
    code: str,
    cells: int,
    shape: tuple[int, int],
    delimiter: int,
    start: int,
    stop: int,
    threads: int,
) -> list[tuple[OwnedBuffer, OwnedBuffer, OwnedBuffer]]: ...
def csv_format_dense(
    data: Any,
    *,
    code: str,
    columns: int,
    first: int = 0,
    delimiter: int,
    decimals: int | None = None,
    width: int | None = None,
) -> OwnedBuffer: ...
def csv_write_dense(
    path: str,
    offset: int,
    data: Any,
    *,
    code: str,
    columns: int,
    first: int = 0,
    delimiter: int,
    threads: int,
    unit: int = 1,
    decimals: int | None = None,
    width: int | None = None,
) -> int: ...
def csv_format_columns(
    columns: list[Any], rows: int, *, delimiter: int, decimals: int | None = None
) -> OwnedBuffer: ...
def csv_write_columns(
    path: str,
    offset: int,
    columns: list[Any],
    rows: int,
    *,
    delimiter: int,
    threads: int,
    unit: int = 1,
    decimals: int | None = None,
) -> int: ...
def io_count(*, read: int = 0, written: int = 0) -> None: ...
def io_moved() -> tuple[int, int]: ...
def mtx_read(
    source: Any,
    start: int,
    stop: int,
    *,
    code: str,
    positions: bool,
    values: int,
    shape: tuple[int, int],
    threads: int,
) -> list[tuple[OwnedBuffer, OwnedBuffer, OwnedBuffer]]: ...
