"""The flags with which DAPHNE names an HDFS."""

from __future__ import annotations

import argparse
import os

from freestone.errors import UsageError

__all__ = ["add_flags", "apply"]

PORT = 9000
"""DAPHNE's own default."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Describe the flags, which are those of DAPHNE."""
    group = parser.add_argument_group("HDFS, for names that end in .hdfs")
    group.add_argument(
        "--enable-hdfs",
        action="store_const",
        const=True,
        help="ask the server before anything else",
    )
    group.add_argument(
        "--hdfs-ip", metavar="HOST:PORT", help="its address; HDFS_ADDRESS by default"
    )
    group.add_argument("--hdfs-username", metavar="USER", help="who reads and writes")


def apply(*, enable: bool, address: str | None, user: str | None) -> None:
    """Set what was given, also for workers that this process starts.

    Parameters
    ----------
    enable
        Whether to ask the server before anything else.
    address
        Its ``host:port``; DAPHNE's port if there is none.
    user
        Who reads and writes.
    """
    if not enable and address is None and user is None:
        return
    from freestone.io.stores.hdfs import ADDRESS, HdfsPlace

    if user is not None:
        os.environ["HADOOP_USER_NAME"] = user
    if address is not None:
        host, sign, _ = address.partition(":")
        os.environ[ADDRESS] = address if sign else f"{host}:{PORT}"
    if enable:
        if not os.environ.get(ADDRESS):
            raise UsageError(f"--enable-hdfs knows no server; give --hdfs-ip or set {ADDRESS}")
        HdfsPlace.of("hdfs:///").is_folder()
