"""Clusters on engines that run already: Dask, MPI, Ray, Slurm."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from typing import Unpack

    from freestone.config import Settings
    from freestone.hosts import Host

__all__ = ["OnEngines"]


class OnEngines:
    """The ways to open a cluster whose workers an engine starts."""

    if TYPE_CHECKING:

        def __init__(self, *, host: Host | None = None, **settings: Unpack[Settings]) -> None: ...

    @classmethod
    def on_dask(cls, client: Any, **settings: Unpack[Settings]) -> Self:
        """Open a cluster with a worker beside each of a Dask cluster, now and later.

        Parameters
        ----------
        client
            A `distributed.Client`.
        **settings
            Those of `Cluster`; `executors`, `memory` and `disk` are each worker's.

        Raises
        ------
        EngineMissingError
            When Dask is not installed.
        """
        from freestone.hosts.dask import DaskHost

        return cls(host=DaskHost(client), **settings)

    @classmethod
    def on_mpi(cls, comm: Any = None, **settings: Unpack[Settings]) -> Self:
        """Open a cluster in a program started by `mpiexec`: rank 0 goes on, others are workers.

        The other ranks do not come back from this call: they end when the cluster does.

        Parameters
        ----------
        comm
            An `mpi4py` communicator; by default all ranks.
        **settings
            Those of `Cluster`; `executors` is 1 in each rank by default.

        Raises
        ------
        EngineMissingError
            Without mpi4py, or with fewer than two ranks.
        """
        from freestone.hosts.mpi import MpiHost

        host = MpiHost(comm)
        host.serve()
        try:
            return cls(host=host, **settings)
        except BaseException:
            # Others wait to be told where to join.
            host.close()
            raise

    @classmethod
    def on_ray(cls, **settings: Unpack[Settings]) -> Self:
        """Open a cluster with a worker on each node of the Ray cluster, now and later.

        Parameters
        ----------
        **settings
            Those of `Cluster`; `executors` is by default how many cores Ray says that a node has.

        Raises
        ------
        EngineMissingError
            Without Ray, or if `ray.init()` was not called.
        """
        from freestone.hosts.ray import RayHost

        return cls(host=RayHost(), **settings)

    @classmethod
    def on_slurm(
        cls,
        workers: int,
        *,
        options: Sequence[str] = (),
        share: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> Self:
        """Open a cluster whose workers are jobs of Slurm.

        Parameters
        ----------
        workers
            How many jobs. They start when Slurm lets them; calls wait for the first.
        options
            For `sbatch`, such as ``["--partition=long", "--time=2:00:00"]``.
        share
            A folder that the nodes see as well, for the access file and logs; by default
            ``~/.freestone``.
        **settings
            Those of `Cluster`; `executors` is 1 by default, and a job asks for as many cores.

        Raises
        ------
        EngineMissingError
            Where there is no `sbatch`.
        ClusterStartError
            When Slurm refuses the jobs.
        """
        from freestone.hosts.slurm import SlurmHost

        return cls(host=SlurmHost(workers, options, share), **settings)
