"""What a call that waits takes of the program's memory, in a process of its own."""

import os
import subprocess
import sys

PROGRAM = """
import os, resource, sys
import freestone as fs

CALLS = 200_000

def occupied():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

def wait(path):
    with open(path) as pipe:
        return pipe.read()

def same(value):
    return value

if __name__ == "__main__":
    with fs.Cluster(workers=1, executors=1) as cluster:
        first = cluster.submit(wait, sys.argv[1])
        warm = cluster.map(same, range(-1000, 0))
        cluster.explain(warm[-1])
        before = occupied()
        futures = cluster.map(same, range(CALLS))
        # Answered after all calls are in the manager's tables.
        cluster.explain(futures[-1])
        print((occupied() - before) / CALLS)
        first.cancel()
        del futures
"""

MAX_NBYTES = 440
"""What one may take, the future in Python included; 397 are measured."""


def test_a_queued_call_is_small(tmp_path):
    script, pipe = tmp_path / "program.py", tmp_path / "pipe"
    script.write_text(PROGRAM)
    os.mkfifo(pipe)
    command = [sys.executable, str(script), str(pipe)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert 200 < float(ended.stdout) < MAX_NBYTES
