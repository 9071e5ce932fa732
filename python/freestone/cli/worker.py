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
    if not arguments.manager.startswith("unix:"):
        raise UsageError(f"the manager's address {arguments.manager!r} must be like unix:PATH")
    keywords = {key: getattr(arguments, key) for key in ("executors", "memory", "disk")}
    config = Config.load(keywords)
    folder = os.path.dirname(arguments.manager.removeprefix("unix:"))
    own = f"joined-{os.getpid()}"
    memory_dir = os.path.join(folder, f"memory-{own}")
    shared = f"/dev/shm/freestone-{os.getuid()}"
    if os.path.isdir(shared) and os.access(shared, os.W_OK):
        memory_dir = os.path.join(shared, os.path.basename(folder), own)
    memory_root = os.path.dirname(os.path.dirname(memory_dir))
    settings = {
        "manager": arguments.manager,
        "access": arguments.access,
        "folder": folder,
        "memory-dir": memory_dir,
        "disk-dir": os.path.join(folder, f"disk-{own}"),
        "executors": config.executors or len(os.sched_getaffinity(0)),
        "memory": config.memory or shutil.disk_usage(memory_root).free // 2,
        "disk": config.disk if config.disk is not None else shutil.disk_usage(folder).free // 2,
        "gpus": config.gpus or 0,
        "spin-us": int(config.spin_us),
        "inline-nbytes": config.inline_nbytes,
    }
    if config.cache is not None:
        settings["cache"] = config.cache
    os.environ.setdefault("FREESTONE__PYTHON_PATH", json.dumps(sys.path))
    return [word for key, value in settings.items() for word in (f"--{key}", str(value))]
