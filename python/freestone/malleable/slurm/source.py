"""Carries out what is decided, and logs it."""

from __future__ import annotations

import contextlib
import datetime
import getpass
import json
import os
import re
import shutil
import signal
import socket
import sys
import time
from typing import Any

from freestone.errors import ConfigurationError, EngineMissingError
from freestone.malleable.slurm.deciding import COURTESIES, Courtesy, Decision, Rules, decide
from freestone.malleable.slurm.queue import SlurmError, call, nodes_of, read_queue, seconds
from freestone.malleable.targets import Request, Source, Status, is_whole

__all__ = ["Slurm"]

_PROGRAMS = ("salloc", "scancel", "scontrol", "sinfo", "squeue", "srun")
_GRANTED = re.compile(r"Granted job allocation (\d+)")
_PER_NODE = re.compile(r"(\d+)(?:\(x(\d+)\))?")
_CURE = "start the program in a job of Slurm, by sbatch or salloc"


class Slurm(Source):
    """Take idle nodes, and give them back when another job waits that could use them.

    Parameters
    ----------
    most : int
        Processes at most.
    per_node : int
        Processes that a companion's node takes.
    own : int, optional
        Processes that the job's own nodes take; by default its tasks.
    every_s : float
        From one look at the queue to the next.
    courtesy : str
        For whose waiting jobs a node is given back: ``"all"``, those of ``"others"`` than the user,
        or ``"none"``. Only jobs that wait for nodes, and could run on ours, count.
    account, partition, time_limit, constraint : str, optional
        Of companions, as salloc takes them. By default account, partition and end are the job's.
    leave_s : float
        How long before a companion's end its node is left.
    start_s : float
        How long a granted node may take to start a process. One that does not is given back, and is
        not asked for again for `retry_s`.
    retry_s : float
        How long such a node is left alone.
    log : path, optional
        A file to which each decision is appended, as a line of JSON.

    Raises
    ------
    EngineMissingError
        Outside of a job.
    ConfigurationError
        If a parameter makes no sense.

    Notes
    -----
    A look takes rank 0 some 20 ms, a companion that is granted about 0.2 s. Companions are named
    ``grow-of-`` and the job's number. The job's script cancels them once ``mpiexec`` has ended:
    earlier, ranks would be killed that are about to end.
    """

    def __init__(
        self,
        most: int,
        per_node: int,
        *,
        own: int | None = None,
        every_s: float = 5.0,
        courtesy: Courtesy = "all",
        account: str | None = None,
        partition: str | None = None,
        time_limit: str | None = None,
        constraint: str | None = None,
        leave_s: float = 60.0,
        start_s: float = 10.0,
        retry_s: float = 300.0,
        log: str | os.PathLike[str] | None = None,
    ) -> None:
        self._job = os.environ.get("SLURM_JOB_ID", "")
        lacking = [program for program in _PROGRAMS if shutil.which(program) is None]
        if lacking or not self._job:
            missing = f"no {', '.join(lacking)}" if lacking else "SLURM_JOB_ID is not set"
            raise EngineMissingError(engine="Slurm", missing=missing, cure=_CURE)
        if not is_whole(most, 1) or not is_whole(per_node, 1) or not every_s > 0:
            problem = (
                f"most={most!r}, per_node={per_node!r}, every_s={every_s!r}: the first two are "
                "whole numbers of at least 1, the third is above 0"
            )
            raise ConfigurationError(problem, key="targets", origin="slurm")
        if courtesy not in COURTESIES:
            problem = f"courtesy={courtesy!r}: one of {', '.join(COURTESIES)}"
            raise ConfigurationError(problem, key="targets", origin="slurm")
        environment = os.environ.get
        self._options = {
            "--account": account or environment("SLURM_JOB_ACCOUNT"),
            "--partition": partition or environment("SLURM_JOB_PARTITION"),
            "--time": time_limit,
            "--constraint": constraint,
        }
        self._rules = Rules(
            _own_slots(own),
            most,
            per_node,
            courtesy,
            getpass.getuser(),
            leave_s,
            self._options["--partition"] or "",
            constraint or "",
        )
        self._every_s, self._start_s, self._retry_s = every_s, start_s, retry_s
        self._log, self._logged = log, ""
        self._name = f"grow-of-{self._job}"
        self._looked = 0.0
        self._before: Any = signal.getsignal(signal.SIGTERM)
        # The node that was granted last, and which of all resizes was to use it.
        self._granted: tuple[str, int] = "", -1
        # By node on which no process started, when that was found.
        self._refused: dict[str, float] = {}

    def host(self) -> str:
        """Return the node of the job on which this process is, empty if it is none of those."""
        whole = socket.gethostname()
        names = (whole, whole.split(".")[0], os.environ.get("SLURMD_NODENAME", ""))
        return next((name for name in names if name in self._rules.own), "")

    def agreed(self) -> str:
        """Return how many processes may be asked for, and what for whom."""
        rules = self._rules
        return f"Slurm({rules.most}, {rules.per_node}, courtesy={rules.courtesy!r})"

    def open(self) -> None:
        """Outlive the first signal when a companion is cancelled, to leave its node in order."""
        if not self.host():
            with contextlib.suppress(ValueError):
                self._before = signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def close(self) -> None:
        """Put back what was there before."""
        with contextlib.suppress(ValueError):
            signal.signal(signal.SIGTERM, self._before)

    def ask(self, status: Status) -> Request | None:
        """Return what the queue allows: a node more, or one less for a job that waits."""
        now = time.monotonic()
        if now - self._looked < self._every_s:
            return None
        self._looked = now
        # Rank 0 may have been another process since then.
        node, resizes = self._granted
        if resizes == status.resizes and node not in status.hosts:
            self._refuse(node, status, "the resize onto it failed")
        refused = {node for node, since in self._refused.items() if now - since < self._retry_s}
        try:
            decision = decide(read_queue(self._name), status, self._rules, frozenset(refused))
            for job in decision.release:
                call("scancel", job)
                self._write(status, "release", f"nothing of this job runs in companion {job}")
            return self._carry_out(decision, status, refused)
        except SlurmError as error:
            self._write(status, "stay", f"Slurm does not answer: {error}")
            return None

    def _carry_out(self, decision: Decision, status: Status, refused: set[str]) -> Request | None:
        if decision.action == "stay":
            self._write(status, "stay", decision.why)
            return None
        if decision.action == "shrink":
            self._write(status, "shrink", decision.why, size=decision.size)
            return Request(decision.size, slots=decision.slots)
        # A node of which this job has a part is not granted once more.
        node = self._grow(status, refused | {*decision.slots})
        if not node:
            return None
        self._granted = node, status.resizes + 1
        self._write(status, "grow", decision.why, size=decision.size, node=node)
        slots = {**decision.slots, node: self._rules.per_node}
        return Request(decision.size, slots=slots)

    def _grow(self, status: Status, excluded: set[str]) -> str:
        """Return a node that is granted and starts processes, or nothing."""
        given = {name: value for name, value in self._options.items() if value}
        given.setdefault("--time", self._left())
        options = [f"{name}={value}" for name, value in given.items() if value]
        options.append(f"--exclude={','.join(sorted(excluded))}")
        count = f"--ntasks={self._rules.per_node}"
        words = ["--immediate=1", "--no-shell", "--nodes=1", count, f"--job-name={self._name}"]
        try:
            granted = _GRANTED.search(call("salloc", *words, *options))
        except SlurmError as error:
            self._write(status, "denied", str(error))
            return ""
        if granted is None:
            return ""
        job = granted[1]
        node = call("squeue", "-h", f"--jobs={job}", "-o", "%N")
        try:
            # MPI's launcher ends a job when it can't start something.
            test = ["srun", f"--jobid={job}", "--overlap", "-N1", "-n1", "--mpi=none", "true"]
            call(*test, timeout_s=self._start_s)
        except SlurmError as error:
            call("scancel", job)
            self._refuse(node, status, str(error))
            return ""
        return node

    def _refuse(self, node: str, status: Status, why: str) -> None:
        self._refused[node] = time.monotonic()
        self._write(status, "refuse", f"{node}: {why}", node=node)

    def _left(self) -> str:
        """Return the minutes that the job has left, empty if there is no limit."""
        left_s = seconds(call("squeue", "-h", f"--jobs={self._job}", "-o", "%L"))
        return str(max(1, int(left_s // 60))) if left_s < float("inf") else ""

    def _write(self, status: Status, action: str, why: str, **more: Any) -> None:
        """Append a decision to the log; the same one only once in a row."""
        if self._log is None or f"{action} {why}" == self._logged:
            return
        self._logged = f"{action} {why}"
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        line = {"time": now, "step": status.step, "processes": status.size, "action": action}
        try:
            with open(self._log, "a", encoding="utf-8") as file:
                file.write(json.dumps({**line, "why": why, **more}) + "\n")
        except OSError as error:
            print(f"a decision is not logged: {error}", file=sys.stderr, flush=True)


def _own_slots(own: int | None) -> dict[str, int]:
    """Return how many processes each of the job's own nodes takes."""
    variables = os.environ
    try:
        nodes = nodes_of(variables.get("SLURM_JOB_NODELIST", ""))
        if own is not None:
            each, rest = divmod(own, len(nodes))
            return {node: each + (number < rest) for number, node in enumerate(nodes)}
        counts = _counts(variables.get("SLURM_TASKS_PER_NODE", "1"))
        # A step, as which mpiexec or its ranks may run, has variables of its own tasks.
        of_step = variables.get("SLURM_STEP_TASKS_PER_NODE", "")
        if of_step == variables.get("SLURM_TASKS_PER_NODE") or len(counts) != len(nodes):
            counts = _counts_of_job(variables["SLURM_JOB_ID"], len(nodes))
    except SlurmError as error:
        problem = "the nodes of the job are not known"
        raise EngineMissingError(engine="Slurm", missing=f"{problem}: {error}", cure="") from error
    return dict(zip(nodes, counts, strict=True))


def _counts(text: str) -> list[int]:
    """Return the number of each node that Slurm writes as ``2(x3),1``."""
    return [int(count) for count, times in _PER_NODE.findall(text) for _ in range(int(times or 1))]


def _counts_of_job(job: str, nodes: int) -> list[int]:
    """Return the tasks of a job by node: no more than its processors there have room for."""
    shown = call("scontrol", "--oneliner", "show", "job", job)
    found = dict(re.findall(r"(NumTasks|CPUs/Task)=(\d+)", shown))
    each = int(found.get("CPUs/Task", 1))
    room = [cpus // each for cpus in _counts(os.environ.get("SLURM_JOB_CPUS_PER_NODE", ""))]
    tasks = int(found.get("NumTasks", sum(room) or nodes))
    if len(room) != nodes or sum(room) < tasks:
        room = [tasks] * nodes
    counts = [0] * nodes
    for _ in range(tasks):
        fewest = min(range(nodes), key=lambda node: (counts[node] >= room[node], counts[node]))
        counts[fewest] += 1
    return counts
