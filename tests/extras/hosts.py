"""Workers beside those of Dask, and ranks under mpiexec."""

import subprocess
import sys
from pathlib import Path

import freestone as fs

RANKS = """
import freestone.events as ev


def main(rank):
    rank.fire(1 - rank.id, "id", rank.id)
    (event,) = rank.wait([(1 - rank.id, "id")])
    assert event.data == 1 - rank.id


ev.run(main)
"""


if __name__ == "__main__":
    import ray
    from distributed import Client, LocalCluster

    assert ray.__version__
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with (
        LocalCluster(**options) as local,
        Client(local) as client,
        fs.Cluster.on_dask(client, memory="128MiB", disk="128MiB") as cluster,
    ):
        assert cluster.gather(cluster.map(abs, [-1, -2])) == [1, 2]
    Path("ranks.py").write_text(RANKS)
    mpiexec = Path(sys.executable).with_name("mpiexec")
    subprocess.run([mpiexec, "-n", "2", sys.executable, "ranks.py"], check=True)
