"""A worker of a cluster."""

from collections.abc import Mapping, Sequence

__all__ = [
    "run_worker",
    "start_fork_server",
]

def run_worker(
    *,
    manager: str,
    key: str,
    identity: tuple[str, str] | None,
    listen: str | None,
    reconnect_s: float,
    journaled: bool,
    folder: str,
    memory_dir: str,
    disk_dir: str,
    cache: str | None,
    executors: int,
    ram: int,
    memory: int,
    disk: int,
    gpus: int,
    resources: Mapping[str, int],
    spin_us: int,
    stopped_s: float,
    transfers_in: int,
    transfers_out: int,
    scrub_nbytes_s: int,
    links: bool,
    executor_command: list[str],
    fork_server: tuple[int, int, Sequence[str]] | None,
    interruptible: bool,
) -> None: ...
def start_fork_server(command: Sequence[str]) -> tuple[int, int, list[str]]: ...
