"""Workers in the ranks of an MPI program."""

from __future__ import annotations

import sys

import pytest

from tests.mpi import mpiexec

PROGRAM = """
import sys, time
from mpi4py import MPI
import freestone as fs
from freestone.hosts import engine

if MPI.COMM_WORLD.rank == 2:
    launch = engine.launch

    def launch_late(*words):
        # When nobody is there any more.
        time.sleep(3)
        return launch(*words)

    engine.launch = launch_late
with fs.Cluster.on_mpi(memory="64MiB", disk="64MiB") as cluster:
    print(cluster.submit(sum, [1, 2]).result(), flush=True)
"""


def test_a_rank_that_comes_when_the_cluster_has_ended_ends_in_good_order() -> None:
    pytest.importorskip("mpi4py")
    ended = mpiexec(3, sys.executable, "-c", PROGRAM)
    assert (ended.returncode, ended.stdout) == (0, "3\n"), ended.stderr
    assert "rank 2: the cluster had ended when its worker came to join it" in ended.stderr
