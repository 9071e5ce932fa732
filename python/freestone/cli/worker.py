"""Join a running cluster as one more worker."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys

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

    if not os.path.isfile(arguments.access):
        raise FileMissingError(arguments.access)
    keywords = {key: getattr(arguments, key) for key in ("executors", "memory", "disk")}
    config = Config.load(keywords)
    folder = _folder_of(arguments.manager)
    own = f"joined-{os.getpid()}"
    memory_dir = _memory_dir(folder, own)
    room = shutil.disk_usage(os.path.dirname(os.path.dirname(memory_dir))).free
    settings = {
        "manager": arguments.manager,
        "access": arguments.access,
        "folder": folder,
        "memory-dir": memory_dir,
        "disk-dir": os.path.join(folder, f"disk-{own}"),
        "executors": config.executors or len(os.sched_getaffinity(0)),
        "ram": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "memory": config.memory or room // 2,
        "disk": config.disk if config.disk is not None else shutil.disk_usage(folder).free // 2,
        "gpus": config.gpus or 0,
        "cache": config.cache,
        "transfers-in": config.transfers_in,
        "transfers-out": config.transfers_out,
        "spin-us": int(config.spin_us),
        "inline-nbytes": config.inline_nbytes,
    }
    os.environ.setdefault("FREESTONE__PYTHON_PATH", json.dumps(sys.path))
    given = {key: value for key, value in settings.items() if value is not None}
    return [word for key, value in given.items() for word in (f"--{key}", str(value))]


def _folder_of(manager: str) -> str:
    kind, _, path = manager.partition(":")
    if kind != "unix":
        raise UsageError(f"the manager's address {manager!r} must be like unix:PATH")
    if not os.path.exists(path):
        raise UsageError(f"no cluster listens at {manager!r}; see 'freestone status'")
    return os.path.dirname(os.path.abspath(path))


def _memory_dir(folder: str, own: str) -> str:
    """Choose a folder that goes with the cluster's."""
    shared = f"/dev/shm/freestone-{os.getuid()}"
    if os.path.isdir(shared) and os.access(shared, os.W_OK):
        return os.path.join(shared, os.path.basename(folder), own)
    return os.path.join(folder, "memory", own)
