"""What a worker runs: a job, which is a Snakemake of its own for a few files.

To import this module takes about a second, which executors spend once: they fork for each job.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from snakemake.cli import get_argument_parser, main

__all__ = ["MAX_OUTPUT_NBYTES", "run_job"]

MAX_OUTPUT_NBYTES = 1 << 20
"""Of what a job prints where it has no log in common with the program, the end comes back."""

_POLL_INTERVAL_S = 0.2

# Loads Snakemake's plugins.
get_argument_parser()
# What Snakemake imports when it reads a Snakefile: a tenth of a second, in each job.
for _module in ("smart_open", "snakemake.storage", "yte"):
    with contextlib.suppress(ImportError):
        importlib.import_module(_module)


def run_job(
    command: str, folder: str | None, environment: Mapping[str, str], log: str | None
) -> tuple[int, bytes]:
    """Run a job in this process, which is a fork made for it and ends afterwards.

    Parameters
    ----------
    command : str
        The command line by which Snakemake starts itself for the job.
    folder : str, optional
        Where to run it; by default in an empty folder, which goes with the job.
    environment : mapping of str to str
        Variables besides those of the worker.
    log : str, optional
        The file for what it prints.

    Returns
    -------
    tuple of int and bytes
        With what status it ended; without a `log`, the end of what it printed.

    Notes
    -----
    A command that is nothing but a Snakemake of this interpreter runs in this process: it takes
    about 50 ms for a small Snakefile, where a new one takes a second. Others run in a shell.
    """
    _end_with_executor()
    os.environ.update(environment)
    # Snakemake leaves to the end of its interpreter, which a fork does not have, what it made here.
    with tempfile.TemporaryDirectory(prefix="snakemake-job-") as scratch:
        os.environ["TMPDIR"] = tempfile.tempdir = scratch
        printed = Path(log or os.path.join(scratch, "printed"))
        if folder is None:
            folder = os.path.join(scratch, "folder")
            os.mkdir(folder)
        os.chdir(folder)
        _print_to(printed)
        words = shlex.split(command)
        if words[:3] == [sys.executable, "-m", "snakemake"]:
            status = _run_here(words[3:])
        else:
            status = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL).returncode
        os.chdir("/")
        return status, b"" if log else printed.read_bytes()[-MAX_OUTPUT_NBYTES:]


def _end_with_executor() -> None:
    """End this process, and those that it starts, when the executor is gone.

    Its worker was lost then, so that the job runs again elsewhere and writes to the same files.
    """
    executor = os.getppid()

    def watch() -> None:
        while os.getppid() == executor:
            time.sleep(_POLL_INTERVAL_S)
        # That of the executor, which begins a group.
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def _print_to(path: Path) -> None:
    """Have this process and those that it starts print to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "wb", closefd=False), write_through=True)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "wb", closefd=False), write_through=True)


def _run_here(words: list[str]) -> int:
    sys.argv = ["snakemake", *words]
    # As `python -m` has it.
    sys.path.insert(0, os.getcwd())
    try:
        main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
