"""What runs calls in an executor."""

from typing import Any

__all__ = [
    "begin_wait",
    "encoding_owner",
    "encoding_place",
    "end_wait",
    "fork_sibling",
    "initial_claims",
    "load_input",
    "note_printed",
    "priority",
    "report_profile",
    "run_executor",
]

def encoding_owner() -> Any: ...
def encoding_place(place: str) -> bool: ...
def load_input(position: int) -> Any: ...
def initial_claims() -> bytes: ...
def fork_sibling() -> int: ...
def note_printed() -> None: ...
def priority() -> int | None: ...
def report_profile(samples: bytes) -> None: ...
def begin_wait(what: str) -> int | None: ...
def end_wait(sequence: int) -> None: ...
def run_executor(
    *,
    socket: int,
    page: int,
    memory: tuple[str, int],
    disk: tuple[str, int],
    inline_nbytes: int,
    spin_us: int,
    prints: bool,
    hooks: Any,
) -> None: ...
