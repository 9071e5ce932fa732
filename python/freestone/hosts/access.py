"""The access file: where a cluster is, and proof that one belongs to it."""

from __future__ import annotations

import json
import os
import secrets
import stat
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from freestone import _native
from freestone.errors import FileMissingError, UsageError

__all__ = ["Access"]


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
        Its certificate and private key, in PEM; None if it listens on a unix socket only.
    path : tuple of str
        Where the program finds its modules: machines with the same file system find them there.
    """

    address: str
    key: str
    identity: tuple[str, str] | None = None
    path: tuple[str, ...] = ()

    @classmethod
    def make(cls, days: int | None) -> Access:
        """Make the key, and a certificate good for some days if `days` is not None."""
        identity = None if days is None else _native.tls.make_identity(days)
        return cls("", secrets.token_hex(16), identity, tuple(map(os.path.abspath, sys.path)))

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
        """Write a file that only this user can read."""
        path = Path(path)
        # A new file, so that nobody has it open, whatever mode an old one had.
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(self.text())
        return path

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
