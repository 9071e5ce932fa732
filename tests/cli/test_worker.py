"""A worker that joins by hand."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import freestone as fs

FREESTONE = [sys.executable, "-c", "import sys; from freestone.cli import main; sys.exit(main())"]


def test_it_joins_runs_calls_and_ends_with_the_cluster(tmp_path: Path) -> None:
    with fs.Cluster(executors=1, memory="64MiB", disk="1GiB") as cluster:
        access = Path(cluster.folder) / "access.json"
        words = ["worker", "--json", "--manager", cluster.address, "--access", str(access)]
        words += ["--executors", "1", "--memory", "64MiB", "--disk", "64MiB"]
        worker = subprocess.Popen([*FREESTONE, *words], stdout=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while len(cluster.statistics().workers) < 2:
            assert worker.poll() is None
            assert time.monotonic() < deadline
        assert cluster.submit(pow, 2, 5, worker=1).result(60) == 32
        folder = Path(cluster.statistics().workers[1].folder)
    reported, _ = worker.communicate(timeout=60)
    assert worker.returncode == 0
    assert f'"manager": "{cluster.address}"' in reported
    assert not folder.exists()


def test_an_address_that_is_none_is_refused() -> None:
    with fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as cluster:
        access = Path(cluster.folder) / "access.json"
        words = ["worker", "--manager", "foo", "--access", str(access)]
        done = subprocess.run([*FREESTONE, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--manager foo: write unix:PATH or tcp://HOST:PORT" in done.stderr
