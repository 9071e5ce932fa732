"""The flags with which DAPHNE names an HDFS."""

from __future__ import annotations

import argparse
import os

from freestone.errors import UsageError

__all__ = ["add_flags", "apply"]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Describe the flags, which are those of DAPHNE."""
    group = parser.add_argument_group("HDFS, for names that end in .hdfs")
    group.add_argument(
        "--enable-hdfs", action="store_true", help="ask the server before anything else"
    )
    group.add_argument(
        "--hdfs-ip", metavar="HOST:PORT", help="its address; HDFS_ADDRESS by default"
    )
    group.add_argument("--hdfs-username", metavar="USER", help="who reads and writes")


def apply(arguments: argparse.Namespace) -> None:
    """Set what was given, also for workers that this process starts."""
    from freestone.io.stores.hdfs import ADDRESS, HdfsPlace

    if arguments.hdfs_username is not None:
        os.environ["HADOOP_USER_NAME"] = arguments.hdfs_username
    if arguments.hdfs_ip is not None:
        host, sign, _ = arguments.hdfs_ip.partition(":")
        # DAPHNE's own default.
        os.environ[ADDRESS] = arguments.hdfs_ip if sign else f"{host}:9000"
    if arguments.enable_hdfs:
        if not os.environ.get(ADDRESS):
            raise UsageError(f"--enable-hdfs knows no server; give --hdfs-ip or set {ADDRESS}")
        HdfsPlace.of("hdfs:///").is_folder()
