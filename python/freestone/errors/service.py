"""Errors of clusters that several programs use."""

from __future__ import annotations

from collections.abc import Sequence

from freestone.errors.base import did_you_mean
from freestone.errors.data import ClusterError
from freestone.errors.usage import UsageError

__all__ = ["ConnectError", "NameTakenError", "NotPublishedError"]


class ConnectError(ClusterError, ConnectionError):
    """A program can't use a cluster, or has lost it.

    Attributes
    ----------
    cluster : str
        Its name or address.
    reason : str
        Why.
    """

    slug = "connect"
    cluster: str
    reason: str

    def __init__(self, *, cluster: str, reason: str) -> None:
        super().__init__(
            f"this program is not connected to the cluster {cluster}: {reason}; see 'freestone "
            "list' for those that are served on this machine",
            cluster=cluster,
            reason=reason,
        )


class NameTakenError(UsageError, ValueError):
    """A name belongs to something else.

    Attributes
    ----------
    what : {"cluster", "block", "actor"}
        What has it.
    name : str
        The name.
    """

    slug = "name-taken"
    what: str
    name: str

    def __init__(self, *, what: str, name: str) -> None:
        cures = {
            "cluster": f"choose another, or end that one: freestone stop {name}",
            "actor": f"use it, cluster.actor({name!r}), or end it by its close()",
            "block": "choose another, or replace it: publish(..., replace=True)",
        }
        super().__init__(
            f"another {what} has the name {name!r}; {cures[what]}", what=what, name=name
        )


class NotPublishedError(UsageError, KeyError):
    """No block is published under a name.

    Attributes
    ----------
    name : str
        What was asked for.
    published : tuple of str
        What there is.
    """

    slug = "not-published"
    name: str
    published: tuple[str, ...]

    def __init__(self, *, name: str, published: Sequence[str]) -> None:
        known = tuple(published)
        there = ", ".join(known) or "nothing"
        hint = did_you_mean(name, known)
        super().__init__(
            f"nothing is published as {name!r}{hint}; there is {there}", name=name, published=known
        )
