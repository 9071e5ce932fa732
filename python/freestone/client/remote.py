"""The client of a manager in another process."""

from __future__ import annotations

import weakref

from freestone import _native
from freestone.client.future import Future
from freestone.client.local import LocalClient
from freestone.config import Config
from freestone.errors import ConnectError

__all__ = ["RemoteClient"]


class RemoteClient(LocalClient):
    """Submits calls to a manager in another process; see `Client`.

    Parameters
    ----------
    config
        This program's settings.
    cluster
        What people call the cluster.
    address, key, identity
        Where its manager listens, what is shown for it, and the cluster's certificate.

    Raises
    ------
    ConnectError
        When no manager answers there, or it refuses this program.
    """

    # What another program named may go at any time, also where a file of equal content is here.
    _is_one_of_many = True

    def __init__(
        self,
        config: Config,
        *,
        cluster: str,
        address: str,
        key: str,
        identity: tuple[str, str] | None,
    ) -> None:
        self.cluster: str = cluster
        try:
            manager = _native.manager.Manager.connect(
                address=address,
                key=key,
                identity=identity,
                owner=weakref.ref(self),
                future=Future,
                spin_us=int(config.spin_us),
                inline_nbytes=config.inline_nbytes,
                reconnect_s=config.reconnect_s,
            )
        except (ConnectionError, ValueError) as error:
            raise ConnectError(cluster=cluster, reason=str(error)) from None
        self._begin(config, manager)

    def require_open(self, action: str) -> None:
        """Raise if this program has ended its connection, or lost it."""
        lost = self.manager.lost
        if lost is not None:
            raise ConnectError(cluster=self.cluster, reason=lost)
        super().require_open(action)

    def _require_cache(self, keep: str | None) -> None:
        """Leave it to the workers, which have that setting of who opened the cluster."""
