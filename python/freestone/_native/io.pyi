"""CSV and Matrix Market: bytes to numbers and back."""

from typing import Any, final

__all__ = [
    "CsvIndex",
    "OwnedBuffer",
    "csv_cells",
    "csv_format_columns",
    "csv_format_dense",
    "csv_infer",
    "csv_read_columns",
    "csv_read_dense",
    "csv_read_triples",
    "csv_write_columns",
    "csv_write_dense",
    "io_count",
    "io_moved",
    "mtx_read",
]

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
    @property
    def blanks(self) -> int: ...
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
