"""Join a running cluster as one more worker."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from freestone.cli.output import Output
from freestone.errors import FileMissingError, UsageError

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("--manager", required=True, metavar="ADDRESS", help="unix:PATH")
    parser.add_argument("--access", required=True, metavar="FILE", help="the cluster's access.json")
    parser.add_argument("--executors", type=int, help="calls that run at once; all cores")
    parser.add_argument("--memory", help="of the memory tier, such as 2GiB")
    parser.add_argument("--disk", help="of the disk tier")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Run a worker until the cluster is closed."""
    words = _words(arguments)
    data = {"pid": os.getpid(), "manager": arguments.manager}
    output.show(data, lambda: f"worker {os.getpid()} joins {arguments.manager}")
    from freestone.worker import main

    main(words)
    return 0


def _words(arguments: argparse.Namespace) -> list[str]:
    """Complete what was given by what the machine has and the settings say."""
    from freestone.config import Config
    from freestone.hosts import local

    if not os.path.isfile(arguments.access):
        raise FileMissingError(arguments.access)
    keywords = {key: getattr(arguments, key) for key in ("executors", "memory", "disk")}
    config = Config.load(keywords)
    folder = _folder_of(arguments.manager)
    node = local.node(config, folder, f"joined-{os.getpid()}")
    for name, value in local.python_path().items():
        os.environ.setdefault(name, value)
    socket = arguments.manager.partition(":")[2]
    return local.worker_words(config, node, socket, arguments.access, folder)


def _folder_of(manager: str) -> Path:
    kind, _, path = manager.partition(":")
    if kind != "unix":
        raise UsageError(f"the manager's address {manager!r} must be like unix:PATH")
    if not os.path.exists(path):
        raise UsageError(f"no cluster listens at {manager!r}; see 'freestone status'")
    return Path(path).absolute().parent
