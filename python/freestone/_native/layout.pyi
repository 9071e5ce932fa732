"""Which rows a rank or worker holds before and after a resize, and who sends what to whom."""

from collections.abc import Iterable
from typing import final

__all__ = [
    "RowBlocks",
    "layout_block_transfers",
    "layout_crossing",
    "layout_even_out",
    "layout_moved",
    "layout_reassign",
    "layout_relabel",
    "layout_relabel_nodes",
    "layout_transfers",
]

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
