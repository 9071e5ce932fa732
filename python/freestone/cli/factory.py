"""Keep between min and max workers of a cluster in a batch system."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freestone.cli.clusters import chosen_cluster
from freestone.cli.output import Output
from freestone.errors import UsageError

if TYPE_CHECKING:
    from freestone.hosts.batch import Batch

__all__ = ["configure", "execute"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the words of this command."""
    parser.add_argument("--cluster", metavar="ADDRESS", help="its address, folder or id")
    parser.add_argument("--min", type=int, default=0, help="workers to keep at least")
    parser.add_argument("--max", type=int, required=True, help="workers to keep at most")
    parser.add_argument(
        "--batch", choices=["slurm", "local"], default="slurm", help="where workers are jobs"
    )
    parser.add_argument(
        "--submit",
        metavar="LINE",
        help="for any other batch system: hands in a job, such as 'qsub -b y {command}'",
    )
    parser.add_argument("--executors", type=int, default=1, help="of each worker")
    parser.add_argument("--memory", help="memory tier of each worker")
    parser.add_argument("--disk", help="disk tier of each worker")
    parser.add_argument("--folder", help="for the access file and logs; nodes must see it")
    parser.add_argument("--every", type=float, default=5.0, metavar="S", help="seconds per look")
    parser.add_argument(
        "--patience",
        type=float,
        default=60.0,
        metavar="S",
        help="before shrinking, and until a job of --submit that did not join counts as ended",
    )
    parser.add_argument("options", nargs="*", help="for sbatch, after --")


def execute(arguments: argparse.Namespace, output: Output) -> int:
    """Look at the cluster again and again, until it ends or SIGTERM or Ctrl-C comes."""
    if not 0 <= arguments.min <= arguments.max:
        problem = f"--min {arguments.min} and --max {arguments.max} do not go together"
        raise UsageError(f"{problem}; min is at least 0 and at most max")
    if arguments.max == 0:
        raise UsageError("--max 0 keeps no worker at any time; the most to keep is at least 1")
    cluster = chosen_cluster(arguments.cluster)
    folder = _folder(arguments)
    try:
        batch = _batch(arguments, Path(cluster["folder"]) / "access.json", folder)
        _keep(arguments, batch, cluster["folder"], output)
    finally:
        (folder / "access.json").unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            # Logs stay.
            folder.rmdir()
    return 0


def _folder(arguments: argparse.Namespace) -> Path:
    base = Path(arguments.folder) if arguments.folder else Path.home() / ".freestone"
    folder = base.absolute() / f"factory-{os.getpid()}-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700, parents=True)
    return folder


def _batch(arguments: argparse.Namespace, access_file: Path, folder: Path) -> Batch:
    from freestone.hosts.access import Access
    from freestone.hosts.batch import LocalBatch, SlurmBatch, SubmitBatch

    access = Access.read(access_file)
    given = {key: getattr(arguments, key) for key in ("executors", "memory", "disk")}
    words = [
        word
        for key, value in given.items()
        if value is not None
        for word in (f"--{key}", str(value))
    ]
    if arguments.submit is None and arguments.batch == "local":
        return LocalBatch(access, words)
    if access.identity is None:
        problem = f"the cluster listens at {access.address}, which other machines can't reach"
        raise UsageError(f"{problem}; open it with listen='tcp://HOST:0'")
    path = access.write(folder / "access.json")
    if arguments.submit is not None:
        return SubmitBatch(path, words, arguments.submit)
    options = [f"--cpus-per-task={arguments.executors}", *arguments.options]
    return SlurmBatch(path, words, options)


def _keep(arguments: argparse.Namespace, batch: Batch, folder: str, output: Output) -> None:
    from freestone.hosts.factory import Factory
    from freestone.observe.control import ask

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())

    def retire(worker: int) -> None:
        ask(folder, {"ask": "retire", "worker": worker})

    factory = Factory(
        batch, retire, arguments.min, arguments.max, arguments.executors, arguments.patience
    )
    try:
        while not stop.is_set():
            try:
                statistics: dict[str, Any] = ask(folder, {"ask": "status"})["statistics"]
            except OSError:
                # The cluster was closed; so are its workers.
                return
            plan = factory.look(statistics, time.monotonic())
            if plan.lost:
                message = f"freestone: {plan.lost} jobs did not join in time and count as ended"
                print(f"{message}; see why in the batch system's logs", file=sys.stderr, flush=True)
            if plan.submitted or plan.retired:
                message = f"{plan.jobs} jobs, {plan.wanted} wanted: "
                message += f"{plan.submitted} submitted, {len(plan.retired)} let go"
                output.show(_data(plan), partial(str, message))
                sys.stdout.flush()
            stop.wait(arguments.every)
    finally:
        batch.close()


def _data(plan: Any) -> dict[str, Any]:
    return {
        "wanted": plan.wanted,
        "jobs": plan.jobs,
        "submitted": plan.submitted,
        "retired": list(plan.retired),
        "lost": plan.lost,
    }
