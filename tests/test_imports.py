"""What a program loads that it doesn't need."""

from __future__ import annotations

import subprocess
import sys

COSTLY = {"numpy", "asyncio", "multiprocessing", "pyarrow", "rich", "dask", "ssl"}
CALLS = """
import sys
import freestone as fs

with fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as cluster:
    assert cluster.submit(pow, 2, 10).result() == 1024
    print(*set(sys.modules) & {costly!r})
    print(*cluster.submit(lambda: set(sys.modules) & {costly!r}).result())
"""


def test_calls_of_plain_values_load_nothing_costly_in_the_program_and_in_executors() -> None:
    words = [sys.executable, "-c", CALLS.format(costly=COSTLY)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
