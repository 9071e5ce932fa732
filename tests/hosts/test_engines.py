"""Each host for real: Dask, MPI and Ray on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import EngineMissingError
from freestone.hosts import engine
from freestone.hosts.dask import DaskHost
from freestone.testing import check_host
from tests.mpi import mpiexec
from tests.waiting import until

from .conftest import count

SMALL = {"memory": "64MiB", "disk": "64MiB"}


def total(*values: np.ndarray) -> float:
    return float(sum(value.sum() for value in values))


def check(cluster: fs.Cluster, workers: int) -> None:
    """Run calls on all workers, and move blocks between them."""
    assert until(lambda: count(cluster) == workers)
    numbers = range(1, workers + 1)
    made = [cluster.submit(np.full, 50_000, n, worker=n) for n in numbers]
    expected = 50_000 * sum(numbers)
    sums = [cluster.submit(total, *made, worker=n, pure=False) for n in numbers]
    assert [future.result(60) for future in sums] == [expected] * workers
    assert np.array_equal(made[-1].result(), np.full(50_000, workers))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    # Leaves a file open in each of its workers now and then, which is not ours to mend.
    local = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        local_directory=str(tmp_path),
        memory_limit="1GiB",
    )
    with local, distributed.Client(local) as client:
        yield client


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_dask_with_workers_that_come_and_go(client: Any) -> None:
    with fs.Cluster.on_dask(client, **SMALL) as cluster:
        check(cluster, 2)
        first = set(client.scheduler_info(n_workers=-1)["workers"])
        client.cluster.scale(3)
        assert until(lambda: count(cluster) == 3)
        held = cluster.submit(np.arange, 50_000, worker=3)
        cluster.wait([held], 60)
        # The worker of Dask that came last goes with ours, which hands over what only it holds.
        newest = set(client.scheduler_info(n_workers=-1)["workers"]) - first
        client.retire_workers(list(newest))
        assert until(lambda: count(cluster) == 2)
        assert cluster.submit(np.sum, held).result(60) == sum(range(50_000))
    assert until(lambda: not _children_of_dask(client))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_host_of_dask_passes_the_kit(client: Any) -> None:
    check_host(lambda: DaskHost(client), workers=2)


def _children_of_dask(client: Any) -> list[int]:
    def children() -> int:
        import psutil

        here = psutil.Process()
        return sum("freestone" in " ".join(child.cmdline()) for child in here.children(True))

    return [count for count in client.run(children).values() if count]


MPI = """
    import numpy as np
    import freestone as fs

    with fs.Cluster.on_mpi(memory="64MiB", disk="64MiB") as cluster:
        cluster.wait_for_workers(2, timeout_s=60)
        futures = [cluster.submit(np.full, 50_000, n, worker=n) for n in (1, 2)]
        sums = [cluster.submit(np.add, *futures, worker=n, pure=False) for n in (1, 2)]
        print("sums", [int(future.result(60).sum()) for future in sums])
"""


def program(tmp_path: Path, ranks: int, code: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mpi4py")
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(code))
    return mpiexec(ranks, sys.executable, str(path), timeout_s=100)


def test_mpi(tmp_path: Path) -> None:
    done = program(tmp_path, 3, MPI)
    assert done.returncode == 0, done.stderr
    assert "sums [150000, 150000]" in done.stdout


def test_mpi_with_one_rank_is_reported(tmp_path: Path) -> None:
    done = program(tmp_path, 1, MPI)
    assert "rank 0 runs no calls" in done.stderr
    assert "mpiexec -n 3" in done.stderr


def test_mpi_with_a_wrong_setting_ends_all_ranks(tmp_path: Path) -> None:
    done = program(tmp_path, 3, "import freestone as fs\nfs.Cluster.on_mpi(colour='red')")
    assert done.returncode != 0
    assert "unknown setting 'colour'" in done.stderr


RAY = """
    import numpy as np
    import ray
    import freestone as fs

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    with fs.Cluster.on_ray(memory="64MiB", disk="64MiB") as cluster:
        made = cluster.submit(np.full, 50_000, 2, worker=1)
        print("slots", cluster.slots, "sum", int(made.result(60).sum()))
    ray.shutdown()
"""


def test_ray(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(RAY))
    env = os.environ | {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    words = [sys.executable, str(program)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=110, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "slots 2 sum 100000" in done.stdout


def test_ray_that_is_not_initialised_is_reported() -> None:
    pytest.importorskip("ray")
    with pytest.raises(EngineMissingError, match=r"ray\.init"):
        fs.Cluster.on_ray()


def test_an_engine_that_is_not_installed_is_reported_with_its_cure() -> None:
    with pytest.raises(EngineMissingError, match="pip install nothing") as caught:
        engine.require("there_is_no_such_module", "Nothing", "pip install nothing")
    assert caught.value.engine == "Nothing"


def test_missing_slurm_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineMissingError, match="there is no sbatch"):
        fs.Cluster.on_slurm(2)
