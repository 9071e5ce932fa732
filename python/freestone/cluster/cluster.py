"""Clusters: the workers that a program starts, on this machine or by an engine."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, Self, Unpack

from freestone import _native
from freestone.client.local import LocalClient
from freestone.cluster import open_clusters
from freestone.cluster.control import answer
from freestone.cluster.members import Members
from freestone.cluster.session import Session
from freestone.compat import offer_joblib
from freestone.config import Config, Settings
from freestone.errors import ClusterStartError, UsageError
from freestone.errors.habits import OF_WAITING
from freestone.errors.keywords import suggesting
from freestone.hosts.local import LocalWorkers

if TYPE_CHECKING:
    from freestone.client.future import Future
    from freestone.hosts import Access, Host
    from freestone.observe.dashboard import Dashboard
    from freestone.observe.journal import Journal
    from freestone.observe.progress import Progress
    from freestone.observe.reprs import ClusterView
    from freestone.observe.spans import Spans

__all__ = ["Cluster"]


@suggesting(OF_WAITING)
class Cluster(Session):
    """Workers that run calls and hold blocks, and their manager.

    Parameters
    ----------
    workers
        How many workers to start on this machine; one by default. Workers share nothing but
        sockets, as if each were a node.
    executors
        Processes per worker that run calls; by default the machine's cores are shared out.
    memory, disk
        How many bytes of blocks each worker's cache may hold in memory and on disk: a number, or a
        text such as ``"2GiB"``. What calls may take besides, ``resources={"memory": "1GiB"}`` of
        `submit`, is of all the memory that the machine has, whatever these are.
    host
        An engine that starts workers elsewhere; see `on`, `on_dask`, `on_mpi`, `on_ray`,
        `on_slurm`.
        On this machine there is then one worker, which keeps blocks and runs nothing.
    **settings
        All other settings of `freestone.config.Config`.

    Raises
    ------
    ConfigurationError
        For an unknown or wrong setting.
    ClusterStartError
        When the workers don't start.

    Examples
    --------
    >>> import freestone as fs
    >>> with fs.Cluster(executors=2) as cluster:
    ...     cluster.submit(pow, 2, 10).result()
    1024
    """

    def __init__(
        self, *given: Never, host: Host | None = None, **settings: Unpack[Settings]
    ) -> None:
        if given:
            raise TypeError(
                f"Cluster() takes settings by their names, as in fs.Cluster(workers=2), and got "
                f"{given[0]!r:.80}; to use a cluster that runs, fs.connect(name)"
            )
        config = Config.load(settings)
        home = config if host is None else _home_of(config, host)
        # Which `freestone serve` names; it is no setting, as a program's own cluster ends with it.
        journal = os.environ.pop("FREESTONE__JOURNAL", None)
        kept = None if journal is None else Path(journal)
        self._site = LocalWorkers.create(home, kept)
        try:
            client = LocalClient(
                config,
                socket=self._site.socket,
                key=self._site.access.key,
                listen=self._site.listening,
                trace=_is_traced(config),
                journal=journal,
            )
        except BaseException as error:
            # With a journal its folders have blocks of workers that wait for the next process.
            if journal is None:
                self._site.close()
            if isinstance(error, OSError):
                raise ClusterStartError(str(error)) from error
            raise
        super().__init__(client)
        for certificate in self._site.revoked:
            _native.manager.revoke_certificate(client.manager, certificate)
        client.logs.start()
        self._host = host
        self._members = Members(client, self._site, host)
        self._journal: Journal | None = None
        self.started: float = time.time()
        self._stop: Callable[[], object] | None = None
        self._progress: Progress[Future] | None = None
        self._dashboard: Dashboard | None = None
        try:
            if config.spans:
                client.spans = _spans(client)
            if config.trace is not None:
                self._journal = self._write_trace(config.trace)
            self._members.start()
            self._site.serve(lambda question: answer(self, question))
            self._members.start_host()
            offer_joblib()
            self._progress = self._show_progress() if config.progress else None
            self._dashboard = self._serve_dashboard() if config.dashboard else None
            open_clusters.enter(self)
            atexit.register(self.close)
        except BaseException:
            open_clusters.leave(self)
            self._close_shown()
            self._end(in_order=False)
            raise

    # -- engines ------------------------------------------------------------------------------

    @classmethod
    def on(
        cls, host: str, options: Mapping[str, Any] | None = None, **settings: Unpack[Settings]
    ) -> Self:
        """Open a cluster whose workers a host of another package starts.

        Parameters
        ----------
        host
            Its name: an entry point in ``freestone.hosts`` of a package that is installed.
        options
            Those of the host.
        **settings
            Those of `Cluster`; `executors`, `memory` and `disk` are each worker's.

        Raises
        ------
        UsageError
            When no package offers the host, or it does not take these options.
        PluginError
            When the package's host can't be used.
        """
        from freestone.hosts.engine import make_host

        return cls(host=make_host(host, options or {}), **settings)

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

        This call does not return on the other ranks: they end with the cluster.

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
            How many jobs. They start when Slurm schedules them; calls wait for the first.
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

    # -- workers ------------------------------------------------------------------------------

    def resize(self, workers: int) -> None:
        """Set the number of workers on this machine.

        Parameters
        ----------
        workers
            The number of workers that this program starts; at least 1. Workers that joined from
            elsewhere do not count and stay.

        Raises
        ------
        ConfigurationError
            For less than 1, or when an engine starts the workers.
        ClusterStartError
            When new workers don't start.

        Notes
        -----
        Growing returns when all have joined, about 0.3 s for each. Unless `executors`, `memory`
        and `disk` were given, a new worker has what it would have if there had been as many from
        the start, and at most half of what the others leave of the machine. Shrinking drains the
        youngest ones, as `retire` does, and returns at once; the first stays, as it holds the
        program's blocks.

        Blocks of collections are balanced among the workers' executors while calls run, from
        worker to worker, with the fewest bytes: joining workers get their share, blocks of
        leaving workers go to those that have least, and blocks of one blocking stay together.
        ``statistics().moving`` counts the blocks in transfer; `split` finds them where they are.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster(executors=1, memory="64MiB") as cluster:
        ...     cluster.resize(2)
        ...     len(cluster.statistics().workers)
        2
        """
        self._members.resize(workers)

    def retire(self, worker: int) -> None:
        """Drain a worker: it finishes its calls, hands over what only it holds, and ends.

        Parameters
        ----------
        worker
            Its number: 3 for ``worker-3``.

        Raises
        ------
        UsageError
            When there is no such worker; when it is the last one that this program has started,
            which keeps what the program puts; or when no other worker is there to take its blocks.
        ClosedError
            When the cluster is closed.

        Warns
        -----
        RuntimeWarning
            When no other worker runs calls and none can join from elsewhere.
        """
        self._members.retire(worker)

    def wait_for_workers(self, workers: int, timeout_s: float | None = None) -> None:
        """Wait until at least so many workers run calls.

        Parameters
        ----------
        workers
            The minimum number. Workers without executors, such as the program's own on an
            engine, and workers that are being drained do not count.
        timeout_s
            How long to wait, in seconds; forever by default.

        Raises
        ------
        WorkersMissingError
            A `TimeoutError`: when there are fewer by then.
        ClosedError
            When the cluster is closed, before or meanwhile.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster(workers=2, executors=1) as cluster:
        ...     cluster.wait_for_workers(2, timeout_s=60)
        """
        self._members.wait_for(workers, timeout_s)

    @property
    def folder(self) -> str:
        """Where the cluster keeps its sockets and logs while it runs."""
        return str(self._site.folder)

    @property
    def address(self) -> str:
        """Where workers join: ``unix:PATH``, or ``tcp://HOST:PORT`` if it listens there."""
        return self.client.address

    @property
    def access(self) -> str:
        """The path of the access file with which workers join; whoever has it owns the cluster."""
        return str(self._site.access_file)

    def grant_access(self, member: str, path: str | os.PathLike[str]) -> None:
        """Write an access file for somebody, who can be shut out again.

        Parameters
        ----------
        member
            A name of your choice, for `revoke_access`.
        path
            Where to write the file, readable by you alone. It is given to `freestone.connect` and
            ``freestone worker --access``, and is valid for `access_days`, as the cluster's own.

        Raises
        ------
        UsageError
            When the member has access, the cluster does not listen for other machines, or the
            file can't be written; then nobody has gained access.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster(executors=1, listen="tcp://127.0.0.1:0") as cluster:
        ...     cluster.grant_access("alice", "alice.json")
        ...     cluster.granted_access()
        ['alice']
        """
        access = self.access_for(member)
        try:
            access.write(path)
        except UsageError:
            self.revoke_access(member)
            raise

    def access_for(self, member: str) -> Access:
        """Return what stands in a member's access file; see `grant_access`."""
        self.client.require_open("grant access to it")
        return self._site.grant(member)

    def revoke_access(self, member: str) -> None:
        """Shut out a member whom `grant_access` has let in.

        Its programs' futures fail, what only they need is cancelled, and its workers end: what they
        held is made again elsewhere. Its file is of no use any more, at any worker.

        Raises
        ------
        UsageError
            When no such member has access.
        """
        self.client.require_open("revoke access to it")
        _native.manager.revoke_certificate(self.client.manager, self._site.members.revoke(member))

    def granted_access(self) -> list[str]:
        """Return the members whom `grant_access` has let in."""
        return self._site.members.granted

    @property
    def name(self) -> str | None:
        """The name under which other programs find it, if it was shared."""
        return self._site.name

    def share(self, name: str, *, stop: Callable[[], object] | None = None) -> None:
        """Let other programs of this user use this cluster, by a name, while it is open.

        Parameters
        ----------
        name
            What they give to `freestone.connect`; letters, digits, ``.``, ``_`` and ``-``.
        stop
            Called, on a thread, when ``freestone stop`` asks for the end of this program. By
            default it is refused.

        Raises
        ------
        NameTakenError
            When a running cluster of this machine has the name.
        UsageError
            When it can't be a name, or the cluster has one.

        Notes
        -----
        On this machine they need no more than the name. With ``listen=`` those of other machines
        join with the file that `access` names. What they had made ends with this cluster, and so
        with this program; `freestone serve` starts one that outlives it.

        Examples
        --------
        >>> import freestone as fs
        >>> with fs.Cluster(executors=1) as cluster:
        ...     cluster.share("analysis")
        ...     with fs.connect("analysis") as same:
        ...         same.submit(pow, 2, 10).result()
        1024
        """
        self.client.require_open("share it")
        self._stop = stop
        self._site.share(name)

    def stop(self) -> bool:
        """Ask the program that shares the cluster to end it; whether it may be asked."""
        if self._stop is not None:
            self._stop()
        return self._stop is not None

    @property
    def dashboard_link(self) -> str | None:
        """The address of the live page, on the manager's machine, or None without one.

        Whoever has it may watch the cluster, cancel its tasks and retire its workers.
        """
        return None if self._dashboard is None else self._dashboard.link

    # -- the end ------------------------------------------------------------------------------

    def close(self) -> None:
        """End the run: workers end, blocks go, pending futures fail with `ClosedError`."""
        open_clusters.leave(self)
        atexit.unregister(self.close)
        self._close_shown()
        # Who still watches gets all that happened.
        self.client.recorder.poll()
        journal, self._journal = self._journal, None
        try:
            if journal is not None:
                journal.close()
        finally:
            self._end(in_order=True)

    def _close_shown(self) -> None:
        if self._progress is not None:
            self._progress.stop()
        if self._dashboard is not None:
            self._dashboard.close()

    def _end(self, *, in_order: bool) -> None:
        spans, self.client.spans = self.client.spans, None
        if spans is not None:
            spans.close()
        if self._journal is not None:
            self._journal.discard()
        self._site.start_closing()
        self.client.close()
        if self._host is not None:
            self._host.close()
        self._site.close(in_order=in_order)

    def forget(self) -> None:
        """In a child of this process, which has no manager: the cluster is closed there."""
        open_clusters.leave(self)
        atexit.unregister(self.close)
        if self._dashboard is not None:
            self._dashboard.forget()
        if self._journal is not None:
            self._journal.forget()
        self.client.manager.forget()
        self._site.forget()

    def _show_progress(self) -> Progress[Future]:
        from freestone.observe.progress import progress

        return progress(self).start()

    def _write_trace(self, path: str) -> Journal:
        from freestone.observe.journal import Journal

        return Journal(path, self.client.recorder)

    def _serve_dashboard(self) -> Dashboard | None:
        from freestone.observe.dashboard import Dashboard

        hosts = self.config.dashboard_hosts
        return Dashboard.start(self, tuple(hosts.split(",")) if hosts else ())

    def _view(self) -> ClusterView:
        view = super()._view()
        link = None if view.closed else self.dashboard_link
        if link is None:
            return view
        from freestone.observe.dashboard import notebook_link

        return replace(view, page=link, notebook_page=notebook_link(link))

    def __enter__(self) -> Self:
        self.client.require_open("enter it again")
        open_clusters.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        await asyncio.to_thread(self.close)


def _home_of(config: Config, host: Host) -> Config:
    from freestone.hosts.engine import home_of

    return home_of(config, host)


def _is_traced(config: Config) -> bool:
    if config.trace is None:
        return False
    from freestone.observe.trace import check

    return check(config.trace)


def _spans(client: LocalClient) -> Spans:
    from freestone.observe.spans import Spans

    return Spans(client.recorder)
