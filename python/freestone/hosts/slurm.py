"""Workers as jobs of Slurm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from freestone.config import Config
from freestone.errors import ClusterStartError, EngineMissingError
from freestone.hosts import engine
from freestone.hosts.access import Access
from freestone.hosts.batch import SlurmBatch

__all__ = ["SlurmHost"]

# How often it is looked whether jobs are left.
_POLL_INTERVAL_S = 5.0


class SlurmHost:
    """Workers of freestone in a job array of Slurm.

    Parameters
    ----------
    workers
        How many.
    options
        Of `sbatch`, such as ``["--partition=long", "--time=2:00:00"]``.
    folder
        Where the access file and the logs go; nodes must see it too. By default one in the home
        folder.

    Notes
    -----
    Jobs wait in Slurm's queue, and calls wait for the first of them: opening the cluster waits
    for none. The process that goes on with a cluster whose process was killed finds its jobs by
    their name, which is the cluster's, and hands in those that lack.
    """

    name = "Slurm"

    def __init__(
        self,
        workers: int,
        options: Sequence[str] = (),
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if workers < 1:
            raise ClusterStartError(f"{workers} workers were asked for; ask for at least 1")
        if shutil.which("sbatch") is None:
            cure = "run this where sbatch works, or use another host"
            raise EngineMissingError(engine=self.name, missing="there is no sbatch", cure=cure)
        base = Path.home() / ".freestone" if folder is None else Path(folder)
        self._base = base.absolute()
        self._folder: Path | None = None
        self._workers = workers
        self._options = list(options)
        self._batch: SlurmBatch | None = None
        self._closing = threading.Event()

    def listen(self) -> str:
        """Listen where the machine of Slurm's controller sees this one."""
        printed = subprocess.run(
            ["scontrol", "show", "config"], capture_output=True, text=True, timeout=60, check=False
        ).stdout
        found = re.search(r"^SlurmctldHost\[0\]\s*=\s*([^\s(]+)(?:\(([^)]+)\))?", printed, re.M)
        return engine.listen_towards((found[2] or found[1]) if found else "")

    def start(self, access: Access, config: Config) -> None:
        """Hand in the jobs that are not there."""
        self._folder = self._base / f"slurm-{access.cluster}"
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = access.write(self._folder / "access.json")
        executors = config.executors or 1
        options = [f"--cpus-per-task={executors}", *self._options]
        words, name = engine.words(config, executors), f"freestone-{access.cluster}"
        self._batch = SlurmBatch(path, words, options, name)
        lacking = self._workers - self._batch.take_up()
        if lacking > 0:
            self._batch.submit(lacking)
        threading.Thread(target=self._watch, name="freestone-slurm", daemon=True).start()

    def joining(self) -> int:
        """Return 0: nobody knows when Slurm starts a job."""
        return 0

    def close(self) -> None:
        """Cancel what is left of the jobs; logs stay if a worker wrote any."""
        self._closing.set()
        if self._batch is not None:
            self._batch.close()
        if self._folder is None:
            return
        (self._folder / "access.json").unlink(missing_ok=True)
        if self._folder.is_dir() and not any(log.stat().st_size for log in self._folder.iterdir()):
            shutil.rmtree(self._folder, ignore_errors=True)

    def _watch(self) -> None:
        """Say so when no job is left, since calls would wait for ever without a word."""
        while not self._closing.wait(_POLL_INTERVAL_S):
            try:
                left = self._batch is not None and self._batch.jobs() > 0
            except ClusterStartError as error:
                print(f"freestone: {error}", file=sys.stderr)
                continue
            if not left and not self._closing.is_set():
                where = f"their logs are in {self._folder}"
                print(f"freestone: all jobs of Slurm have ended; {where}", file=sys.stderr)
                return
