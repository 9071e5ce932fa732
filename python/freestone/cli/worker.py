"""Join a running cluster as one more worker."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from freestone.cli.output import Output
from freestone.errors import JoinError, UsageError

if TYPE_CHECKING:
    from freestone.config import Config
    from freestone.hosts.access import Access
    from freestone.hosts.folders import Folders

__all__ = ["configure", "execute"]

_SETTINGS = ("executors", "memory", "disk", "resources", "profile")


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument(
        "--access",
        required=True,
        metavar="FILE",
        help="the cluster's access file; -: it is the first line of standard input, and the worker "
        "ends when that does",
    )
    parser.add_argument(
        "--manager", metavar="ADDRESS", help="unix:PATH or tcp://HOST:PORT; by default the file's"
    )
    parser.add_argument("--listen", metavar="HOST", help="where peers of other machines connect")
    parser.add_argument("--executors", type=int, help="calls that run at once; all cores")
    parser.add_argument("--memory", help="of the memory tier, such as 2GiB")
    parser.add_argument("--disk", help="of the disk tier")
    parser.add_argument(
        "--resources", metavar="NAME=AMOUNT,...", help="custom resources that its calls share"
    )
    parser.add_argument("--profile", help="sample what calls do: true, or each so many seconds")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Run a worker until the cluster is closed, or SIGTERM or Ctrl-C comes."""
    from freestone.config import Config

    access = _read(arguments.access)
    manager = arguments.manager or access.address
    keywords = {key: getattr(arguments, key) for key in _SETTINGS}
    config = Config.load(keywords)
    if not manager.startswith(("unix:", "tcp://")):
        raise UsageError(f"--manager {manager}: write unix:PATH or tcp://HOST:PORT")
    data = {"pid": os.getpid(), "manager": manager}
    output.show(data, lambda: f"worker {os.getpid()} joins {manager}")
    _run(arguments, config, manager, access)
    return 0


def _read(path: str) -> Access:
    from freestone.hosts.access import Access

    if path != "-":
        return Access.read(path)
    access = Access.parse(sys.stdin.readline(), "the first line of standard input")
    threading.Thread(target=_end_with_input, name="freestone-input", daemon=True).start()
    return access


def _end_with_input() -> None:
    while sys.stdin.readline():
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _run(arguments: argparse.Namespace, config: Config, manager: str, access: Access) -> None:
    """Complete what was given by what the machine has and the settings say."""
    from freestone.hosts.folders import Folders, runtime_dir

    is_near = manager.startswith("unix:")
    if not is_near and access.identity is None:
        problem = f"the access file {arguments.access} has no certificate, which {manager} asks for"
        raise UsageError(f"{problem}; open the cluster with listen=...")
    # Its own folder beside that of the cluster: other containers may have its process id, too.
    folders = Folders.create(_folder_of(manager).parent if is_near else runtime_dir(config))
    try:
        _join(arguments, config, manager, access, folders)
    finally:
        folders.remove()


def _join(
    arguments: argparse.Namespace, config: Config, manager: str, access: Access, folders: Folders
) -> None:
    from freestone.hosts import node as nodes
    from freestone.node.worker import main

    node = nodes.node(config, folders, "joined")
    variables = nodes.python_path(access.path) | nodes.libraries(node.executors)
    for name, value in variables.items():
        os.environ.setdefault(name, value)
    path = access.write(folders.path / "access.json")
    words = nodes.worker_words(config, node, manager, path, folders.path, listen=arguments.listen)
    # One that an engine starts gets the interrupts that are meant for the program.
    words += ["--interruptible", str(int(arguments.access != "-"))]
    try:
        main(words)
    except OSError as error:
        raise JoinError(manager=manager, reason=str(error)) from error


def _folder_of(manager: str) -> Path:
    path = manager.partition(":")[2]
    if not os.path.exists(path):
        raise UsageError(f"no cluster listens at {manager!r}; see 'freestone status'")
    return Path(path).absolute().parent
