"""Trials of task graphs on a simulated cluster."""

from typing import Literal

__all__ = ["simulate_graph"]

_Ran = tuple[int, int, int, int, Literal["done", "failed", "cut"]]

def simulate_graph(
    tasks: list[tuple[int, int, list[int]]],
    wanted: list[int],
    *,
    workers: int,
    slots: int,
    retries: int,
    latency_ns: tuple[int, int],
    bandwidth: float,
    losses: list[tuple[int, int]],
    replaced_after_ns: int | None,
    raising: float,
    crashes: float,
    slow: float,
    broken_transfers: float,
    seed: int,
) -> tuple[list[_Ran], list[tuple[str, str]], int, list[str]]: ...
