"""The access file: where a cluster is, and proof that one belongs to it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from freestone import _native
from freestone.errors import FileMissingError, UsageError
from freestone.replacing import replaceable

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Access", "Authority"]


class Authority:
    """Makes the identities of a cluster's members, and knows whom it has granted access.

    Parameters
    ----------
    days
        How long they are valid.
    path
        The file in which it is kept, if another process is to go on with it: then it is what
        stands there, if anything does.
    """

    def __init__(self, days: int, path: Path | None = None) -> None:
        self._days, self._path = days, path
        kept = _kept(path)
        self._signing: tuple[str, str] = kept.get("signing") or _native.tls.make_authority(days)
        self._granted: dict[str, str] = dict(kept.get("granted", {}))
        self._revoked: list[str] = list(kept.get("revoked", []))

    def identity(self) -> tuple[str, str]:
        """Return a new member's certificate and private key, in PEM."""
        return _native.tls.make_member(self._signing, self._days)

    def grant(self, member: str) -> tuple[str, str]:
        """Return the identity of a member with a name.

        Raises
        ------
        UsageError
            When it has access.
        """
        if member in self._granted:
            problem = f"{member!r} has access to the cluster; revoke it first, or take another name"
            raise UsageError(problem)
        identity = self.identity()
        self._granted[member] = identity[0]
        self.keep()
        return identity

    def revoke(self, member: str) -> str:
        """Return the certificate by which a member is known that has access no longer.

        Raises
        ------
        UsageError
            When it has none.
        """
        if member not in self._granted:
            there = ", ".join(self.granted) or "nobody"
            raise UsageError(f"access was granted to {there}, and not to {member!r}")
        certificate = self._granted.pop(member)
        self._revoked.append(certificate)
        self.keep()
        return certificate

    @property
    def granted(self) -> list[str]:
        """Who has access."""
        return sorted(self._granted)

    @property
    def revoked(self) -> list[str]:
        """The certificates of those who have access no longer."""
        return list(self._revoked)

    def keep(self) -> None:
        """Write it into its file, if it has one, whose folder is there."""
        if self._path is None:
            return
        about = {"signing": self._signing, "granted": self._granted, "revoked": self._revoked}
        # Whole or not at all: what is cut off would let members in again.
        new = _write_private(self._path.with_suffix(".new"), json.dumps(about))
        os.replace(new, replaceable(self._path))


def _kept(path: Path | None) -> dict[str, Any]:
    if path is None or not path.exists():
        return {}
    try:
        about: dict[str, Any] = json.loads(path.read_text("utf-8"))
        signing = about["signing"]
        return about | {"signing": (str(signing[0]), str(signing[1]))}
    except (ValueError, KeyError, TypeError, IndexError):
        problem = f"{path} is damaged: it says who has access to the cluster"
        raise UsageError(
            f"{problem}; remove it to go on, after which all need new access files"
        ) from None


def _write_private(path: Path, text: str) -> Path:
    """Write a file that only this user can read."""
    # A new file, so that nobody has it open, whatever mode an old one had.
    target = replaceable(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(target)
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    return path


@dataclass(frozen=True, slots=True)
class Access:
    """What a worker needs to join.

    Attributes
    ----------
    address : str
        Where the manager listens: ``unix:PATH`` or ``tcp://HOST:PORT``.
    key : str
        The cluster's key.
    identity : tuple of str, optional
        The member's certificate with that of the cluster's authority, and its private key, in PEM;
        None if the cluster listens on a unix socket only.
    path : tuple of str
        Where the program finds its modules: machines with the same file system find them there.
    """

    address: str
    key: str
    identity: tuple[str, str] | None = None
    path: tuple[str, ...] = ()

    @classmethod
    def make(cls, identity: tuple[str, str] | None) -> Access:
        """Make the key of a cluster, of which this is a member's identity if it needs any."""
        return cls("", os.urandom(16).hex(), identity, tuple(map(os.path.abspath, sys.path)))

    @property
    def cluster(self) -> str:
        """What tells the cluster from others: the same in each process that goes on with it."""
        return hashlib.blake2b(self.key.encode(), digest_size=6).hexdigest()

    def at(self, address: str) -> Access:
        """Return the same for a manager that listens there."""
        return replace(self, address=address)

    def text(self) -> str:
        """Return what stands in the file."""
        about: dict[str, object] = {"address": self.address, "key": self.key, "path": self.path}
        if self.identity is not None:
            about["certificate"], about["private_key"] = self.identity
        return json.dumps(about, indent=1)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write a file that only this user can read.

        Raises
        ------
        UsageError
            If it can't be written.
        """
        # Which takes 4 ms to load, and workers only read.
        from pathlib import Path

        try:
            return _write_private(Path(path), self.text())
        except OSError as error:
            problem = f"the access file {path} can't be written: {error.strerror or error}"
            raise UsageError(f"{problem}; choose another path") from error

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Access:
        """Read a file.

        Raises
        ------
        FileMissingError
            If there is none.
        UsageError
            If others can read it, or it is not an access file.
        """
        try:
            with open(path, encoding="utf-8") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                text = file.read()
        except FileNotFoundError:
            raise FileMissingError(str(path)) from None
        except OSError as error:
            raise UsageError(f"the access file {path} can't be read: {error}") from error
        if mode & 0o077:
            problem = f"others can read the access file {path} (mode {mode:04o})"
            raise UsageError(f"{problem}; whoever has it owns the cluster: chmod 600 {path}")
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, origin: str = "the access file") -> Access:
        """Read what stands in a file."""
        try:
            about = json.loads(text)
            identity = None
            if "certificate" in about:
                identity = (str(about["certificate"]), str(about["private_key"]))
            path = tuple(map(str, about.get("path", ())))
            return cls(str(about.get("address", "")), str(about["key"]), identity, path)
        except (ValueError, KeyError, TypeError, AttributeError):
            problem = f"{origin} is not an access file of a cluster"
            raise UsageError(f"{problem}; a cluster writes one: see cluster.access") from None
