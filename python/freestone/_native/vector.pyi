"""Kernels and fused pipelines of arrays."""

from typing import Any, final

__all__ = [
    "Drawing",
    "VectorMemory",
    "coo_merge",
    "coo_offsets",
    "coo_reduce",
    "coo_transpose",
    "copy_rows",
    "copy_triangle",
    "csr_panel",
    "csr_product",
    "csr_product_sizes",
    "csr_transpose",
    "memory_nodes",
    "run_pipeline",
    "sample",
]

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
