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
    # As the paper has it, too.
    group.add_argument("--hdfs-address", dest="hdfs_ip", help=argparse.SUPPRESS)
    group.add_argument("--hdfs-username", metavar="USER", help="who reads and writes")


def apply(*, enable: bool, address: str | None, user: str | None) -> None:
    """Set what was given, also for workers that this process starts.

    Parameters
    ----------
    enable
        Whether to ask the server before anything else.
    address
        Its ``host:port``, or a service of ``hdfs-site.xml``; DAPHNE's port if there is none.
    user
        Who reads and writes.
    """
    if not enable and address is None and user is None:
        return
    from freestone.io.stores.hdfs import ADDRESS, HdfsLocation
    from freestone.io.stores.webhdfs import is_service

    if user is not None:
        os.environ["HADOOP_USER_NAME"] = user
    if address is not None:
        host = address.removeprefix("hdfs://").rstrip("/")
        is_whole = ":" in host or is_service(host, os.environ)
        os.environ[ADDRESS] = host if is_whole else f"{host}:{PORT}"
    if enable:
        if not os.environ.get(ADDRESS):
            raise UsageError(f"--enable-hdfs knows no server; give --hdfs-ip or set {ADDRESS}")
        HdfsLocation.of("hdfs:///").is_folder()
