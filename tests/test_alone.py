"""Each part works in a program that uses nothing else, where no test has loaded what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import freestone as fs

def main():
    with fs.Cluster(executors=1, memory="64MiB", disk="64MiB", dashboard=False) as cluster:
        x = fs.Array.from_numpy(np.arange(12.0).reshape(6, 2), 2)
        {statement}

if __name__ == "__main__":
    main()
"""
STATEMENTS = {
    "calls": "assert cluster.gather(cluster.map(abs, [-1, -2])) == [1, 2]",
    "reductions": "assert fs.reduce(max, cluster.map(abs, [-1, -2])).result() == 2",
    "fused expressions": "assert float((x * 2).sum().compute()) == 132",
    "numpy by Dask": "assert np.corrcoef(x, rowvar=False).compute().shape == (2, 2)",
    "dask": "assert x.to_dask().sum().compute(scheduler=cluster.get) == 66",
    "persisted": "assert cluster.persist(x.to_dask() + 1).sum().compute() == 78",
    "bags": "assert fs.Bag.from_items([3, 4], 1).map(abs).compute() == [3, 4]",
    "frames": "assert fs.Frame.from_table({'a': [1, 2]}, 1).select('a').to_polars().height == 2",
    "queries": "assert len(fs.sql('select a from f', f=fs.Frame.from_table({'a': [1]}, 1))) == 1",
    "partitions": "assert sum(len(part) for part in fs.split(x)) == 3",
    "ranks": "assert cluster.spmd(lambda rank: rank.id, 1) == [0]",
    "executors": "assert list(cluster.executor().map(abs, [-1])) == [1]",
    "nested": "assert cluster.submit(lambda: fs.current().submit(abs, -1).result()).result() == 1",
}


@pytest.mark.parametrize("part", STATEMENTS)
def test_a_part_works_alone(part: str, tmp_path: Path) -> None:
    path = tmp_path / "alone.py"
    path.write_text(PROGRAM.format(statement=STATEMENTS[part]))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
