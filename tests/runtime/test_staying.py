"""Blocks that stay mapped in executors from one call to the next."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from tests.waiting import until

from .conftest import Opened


def total(table: np.ndarray, _: int) -> float:
    return float(table.sum())


def is_mapped(name: str) -> bool:
    return name in Path("/proc/self/maps").read_text()


def asked(cluster: fs.Cluster, name: str) -> bool:
    return cluster.submit(is_mapped, name, pure=False).result()


def test_a_block_of_many_calls_stays_until_nothing_needs_it(opened: Opened) -> None:
    with opened(executors=1, memory="64MiB") as cluster:
        table = cluster.put(np.ones(100_000))
        name = table.name
        for number in range(2):
            assert cluster.submit(total, table, number).result() == 100_000
        gc.collect()
        assert not asked(cluster, name)
        for number in range(2, 5):
            assert cluster.submit(total, table, number).result() == 100_000
        assert asked(cluster, name)
        before = cluster.statistics().blocks
        del table
        gc.collect()
        assert until(lambda: cluster.statistics().blocks < before)
        assert until(lambda: not asked(cluster, name))


@pytest.mark.parametrize("isolation", ["shared", "fork", "process"])
def test_calls_of_every_isolation_read_it(opened: Opened, isolation: str) -> None:
    with opened(executors=2, memory="64MiB") as cluster:
        table = cluster.put(np.arange(50_000))
        sums = cluster.map(total, [table] * 6, range(6), isolation=isolation)
        assert cluster.gather(sums) == [sum(range(50_000))] * 6


def test_more_than_memory_is_gone_through_again_and_again(opened: Opened) -> None:
    with opened(executors=2, memory="32MiB", disk="1GiB") as small:
        blocks = [small.submit(np.full, 500_000, index) for index in range(15)]
        for turn in range(6):
            sums = small.map(total, blocks, [turn] * len(blocks))
            assert small.gather(sums) == [500_000 * index for index in range(15)]
        extra = [small.submit(np.full, 500_000, -index) for index in range(10)]
        assert [future.result()[0] for future in extra] == [-index for index in range(10)]


def test_what_a_call_keeps_outlives_the_block(opened: Opened) -> None:
    def keep(table: np.ndarray, turn: int) -> float:
        vars(sys)["kept"] = table
        return float(table[turn])

    def look(_: int) -> float:
        return float(vars(sys)["kept"].sum())

    with opened(executors=1, memory="64MiB") as cluster:
        table = cluster.put(np.ones(100_000))
        assert [cluster.submit(keep, table, turn).result() for turn in range(4)] == [1.0] * 4
        del table
        gc.collect()
        others = [cluster.put(np.zeros(100_000) + number) for number in range(1, 5)]
        assert cluster.submit(look, 0).result() == 100_000
        assert [other.result()[0] for other in others] == [1, 2, 3, 4]


def system_calls(process: int, folder: Path, action: Callable[[], object]) -> Counter[str]:
    """Count the system calls that a process makes during an action."""
    out = folder / "calls"
    command = ["strace", "-f", "-o", str(out), "-p", str(process)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        if "attached" not in (first := strace.stderr.readline()):
            pytest.skip(f"strace may not follow processes here: {first}")
        try:
            action()
        finally:
            strace.send_signal(signal.SIGINT)
    lines = [line.split(None, 1)[1] for line in out.read_text().splitlines()]
    return Counter(line.split("(")[0] for line in lines if "(" in line)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_calls_on_small_blocks_make_few_system_calls(tmp_path: Path) -> None:
    """An executor opens, maps and closes nothing for a block that stays."""
    with fs.Cluster(executors=1) as cluster:
        blocks = [cluster.put(np.full(2048, number)) for number in range(100)]

        def call(count: int) -> None:
            cluster.gather(cluster.map(total, blocks * (count // 100), range(count), pure=False))

        call(500)
        executor = cluster.submit(os.getpid, pure=False).result()
        found = system_calls(executor, tmp_path, lambda: call(1000))
    waiting = {"recvfrom", "sched_yield", "futex", "restart_syscall"}
    assert found["sendto"] > 0
    assert sum(found[name] for name in ("openat", "mmap", "munmap", "close", "read")) < 100
    # Results may each have a message; how often an executor looks for calls depends on the machine.
    assert sum(found.values()) - sum(found[name] for name in waiting) < 6000, found
