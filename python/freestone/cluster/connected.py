"""Clusters of other processes, as programs use them."""

from __future__ import annotations

import atexit
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Unpack

from freestone.client.remote import RemoteClient
from freestone.cluster import members, open_clusters
from freestone.cluster.cluster import Cluster
from freestone.cluster.own_worker import OwnWorker
from freestone.cluster.session import Session
from freestone.compat import offer_joblib
from freestone.config import Config, Settings
from freestone.errors import ConnectError, UsageError
from freestone.errors.habits import OF_WAITING
from freestone.errors.keywords import suggesting
from freestone.hosts.access import Access
from freestone.hosts.folders import killed_clusters, runtime_dir
from freestone.observe import control

__all__ = ["Connected", "connect"]

_SCHEMES = ("unix:", "tcp:")


@suggesting(OF_WAITING)
class Connected(Cluster):
    """A cluster of another process, from `freestone.connect`.

    Parameters
    ----------
    client
        What speaks to its manager.
    access_file
        The file with which it was found.
    own
        The worker that keeps this program's blocks, if it has one of its own.
    """

    def __init__(self, client: RemoteClient, access_file: Path, own: OwnWorker | None) -> None:
        Session.__init__(self, client)
        client.logs.start()
        self._own = own
        self._dashboard = None
        self._access_file = access_file
        open_clusters.enter(self)
        atexit.register(self.close)
        offer_joblib()

    @property
    def name(self) -> str | None:
        """What it was called when this program connected."""
        return self._remote.cluster

    @functools.cached_property
    def dashboard_link(self) -> str | None:
        """The address of the live page that the cluster's process serves on its machine.

        None if it serves none, or if this program has only a copy of the access file.
        """
        try:
            link: str | None = control.ask(self.folder, {"ask": "page"}).get("page")
        except (OSError, ValueError):
            return None
        return link

    @property
    def _remote(self) -> RemoteClient:
        client = self.client
        assert isinstance(client, RemoteClient)
        return client

    @property
    def folder(self) -> str:
        """Where the access file is: on the machine of the cluster, its sockets and logs, too."""
        return str(self._access_file.parent)

    @property
    def access(self) -> str:
        """The path of the access file with which this program found it."""
        return str(self._access_file)

    def wait_for_workers(self, workers: int, timeout_s: float | None = None) -> None:
        """Wait until at least so many workers run calls; see `Cluster.wait_for_workers`."""
        members.wait_for(self.client, workers, timeout_s)

    def resize(self, workers: int) -> None:
        """Refuse: workers are started by the process that serves the cluster."""
        raise self._elsewhere("resize it", "add workers with 'freestone worker'")

    def retire(self, worker: int) -> None:
        """Refuse: workers are let go by the process that serves the cluster."""
        raise self._elsewhere("retire a worker", f"run 'freestone retire worker-{worker}' there")

    def share(self, name: str, *, stop: Callable[[], object] | None = None) -> None:
        """Refuse: the cluster is shared already."""
        raise self._elsewhere("share it", f"other programs connect as this one did: {self.name!r}")

    def access_for(self, member: str) -> Access:
        """Refuse: members are let in and shut out by the process that serves the cluster."""
        raise self._elsewhere(f"grant access to {member!r}", "run 'freestone access grant' there")

    def revoke_access(self, member: str) -> None:
        """Refuse: members are let in and shut out by the process that serves the cluster."""
        raise self._elsewhere(f"shut {member!r} out", "run 'freestone access revoke' there")

    def granted_access(self) -> list[str]:
        """Refuse: the process that serves the cluster knows them."""
        raise self._elsewhere("ask who has access", "run 'freestone access list' there")

    def stop(self) -> bool:
        """Refuse: only the process that serves the cluster ends it."""
        raise self._elsewhere("end it", f"run 'freestone stop {self.name}' there")

    def _elsewhere(self, action: str, cure: str) -> UsageError:
        problem = f"can't {action}: another process serves the cluster {self.name!r}"
        return UsageError(f"{problem}; {cure}")

    def close(self) -> None:
        """End the connection, not the cluster.

        What this program submitted and nobody else needs is cancelled, and its futures fail with
        `ClosedError`; what was published or detached goes on.
        """
        self._leave()
        self.client.close()
        if self._own is not None:
            self._own.end()
            self._own = None

    def forget(self) -> None:
        """In a child of this process, which is not connected: the cluster is closed there."""
        self._leave()
        self.client.manager.forget()
        if self._own is not None:
            self._own.forget()

    def _leave(self) -> None:
        open_clusters.leave(self)
        atexit.unregister(self.close)


def connect(
    cluster: str | os.PathLike[str] | None = None,
    *,
    access: str | os.PathLike[str] | None = None,
    **settings: Unpack[Settings],
) -> Cluster:
    """Use a cluster of another process, such as ``freestone serve`` has started.

    Parameters
    ----------
    cluster
        Its name; or the path of its access file; or its address, ``unix:PATH`` or
        ``tcp://HOST:PORT``. By default the only one that is served on this machine.
    access
        The path of its access file, which an address on another machine needs.
    **settings
        Those of `freestone.config.Config` that are this program's: ``retries``, ``spin_us``,
        ``inline_nbytes``, ``folder``, ``reconnect_s``. Workers have those of the process that
        started them. Given ``memory`` or ``disk``, the program has a worker of its own for its
        blocks, of that size.

    Returns
    -------
    Cluster
        Like any other, except that it does not start or end workers, and that its end is that of
        the connection.

    Raises
    ------
    ConnectError
        When no such cluster runs, it speaks another version of the protocol, or the access file
        is that of another.
    FileMissingError, UsageError
        When the access file is not there, can be read by others, or is none.

    Notes
    -----
    On the machine of the cluster the program maps and writes blocks in the cache of its first
    worker, without a copy. Elsewhere it has a worker of its own, in a process that runs no calls:
    values that it puts lie there, and large results are fetched there.

    Several programs use one cluster at the same time. Each has its futures; a call that one has
    submitted answers the same call of another while its result is there. When a program ends or
    dies, what it submitted and nobody else needs is cancelled, and its blocks go; `publish` and
    `Future.detach` have them stay. If the connection to another machine breaks, the program
    reconnects for ``reconnect_s``, and the cluster waits for it so long.

    Examples
    --------
    >>> import freestone as fs
    >>> with fs.Cluster(executors=1) as served:  # or, in a shell: freestone serve --name lab
    ...     with fs.connect(served.access) as cluster:
    ...         cluster.submit(pow, 2, 10).result()
    1024
    """
    config = Config.load(settings)
    path, address, label = _find(config, cluster, access)
    known = Access.read(path)
    try:
        client = RemoteClient(
            config,
            cluster=label,
            address=address or known.address,
            key=known.key,
            identity=known.identity,
        )
    except ConnectError:
        killed = control.left_by(path.parent)
        if killed is None:
            raise
        raise ConnectError(cluster=label, reason=_how_to_go_on(killed)) from None
    own = None
    if client.manager.home is None or "memory" in settings or "disk" in settings:
        try:
            own = OwnWorker(client, known if address is None else known.at(address))
        except BaseException:
            client.close()
            raise
    return Connected(client, path, own)


def _find(
    config: Config,
    cluster: str | os.PathLike[str] | None,
    access: str | os.PathLike[str] | None,
) -> tuple[Path, str | None, str]:
    """Return a cluster's access file, its address if it was given, and what to call it."""
    text = None if cluster is None else os.fspath(cluster)
    if access is not None:
        return Path(access).absolute(), text, text or os.fspath(access)
    if text is not None and (isinstance(cluster, os.PathLike) or _is_file(text)):
        return Path(text).absolute(), None, text
    served = control.find(runtime_dir(config))
    if text is None:
        served = [one for one in served if one.get("name") is not None]
    try:
        found = control.only(served, text)
    except UsageError as error:
        reason = _why_there_is_none(config, text) or str(error)
        raise ConnectError(cluster=text or "of this machine", reason=reason) from None
    return Path(found["folder"]) / "access.json", f"unix:{found['socket']}", text or found.label


def _why_there_is_none(config: Config, wanted: str | None) -> str | None:
    """Return why a cluster is not among those that run, if more is known than that."""
    if wanted is not None and wanted.startswith("tcp:"):
        return "to reach an address on another machine takes access=, its access file"
    if wanted is not None and wanted.startswith("unix:"):
        left = control.left_by(Path(wanted.removeprefix("unix:")).parent)
        return None if left is None else _how_to_go_on(left)
    killed = [name for name in killed_clusters(config) if wanted in (None, name)]
    return _how_to_go_on(killed[0]) if len(killed) == 1 else None


def _how_to_go_on(name: str) -> str:
    cure = f"'freestone serve --name {name}' goes on with it, given the same options"
    return f"the process that served {name!r} was killed; {cure}"


def _is_file(text: str) -> bool:
    return not text.startswith(_SCHEMES) and (os.sep in text or os.path.isfile(text))
