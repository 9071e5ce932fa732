"""What Slurm reports: nodes, companions and jobs that wait."""

from __future__ import annotations

import math
import os
import re
import subprocess
from dataclasses import dataclass, field

__all__ = [
    "Companion",
    "Queue",
    "SlurmError",
    "Waiting",
    "call",
    "nodes_of",
    "read_queue",
    "seconds",
]

_TIMEOUT_S = 10.0
# What ties a process to its job; a companion is a job of its own.
_OWN = ("SLURM_CONF", "SLURM_TIME_FORMAT")
_TIME = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)$")


class SlurmError(Exception):
    """A command of Slurm's failed or did not answer."""


@dataclass(frozen=True)
class Companion:
    """A job that holds a node for this one.

    Attributes
    ----------
    job, state, node : str
        Its number, its state as Slurm writes it, and the node; empty until there is one.
    left_s : float
        Until it ends.
    has_steps : bool
        Whether something runs in it.
    """

    job: str
    state: str
    node: str
    left_s: float = math.inf
    has_steps: bool = False


@dataclass(frozen=True)
class Waiting:
    """A job that waits.

    Attributes
    ----------
    job, user, reason : str
        Its number, whose it is, and what it waits for, as Slurm writes it.
    partitions : frozenset of str
        Where it may run.
    nodes : int
        How many nodes it needs.
    names, features : frozenset of str
        The nodes, and the features of nodes, that it asks for.
    """

    job: str
    user: str
    reason: str
    partitions: frozenset[str]
    nodes: int = 1
    names: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Queue:
    """What Slurm reports at one time.

    Attributes
    ----------
    companions : list of Companion
        The oldest first.
    waiting : list of Waiting
        In Slurm's order.
    partitions : dict of str to frozenset of str
        By node, where it is.
    features : dict of str to frozenset of str
        By node.
    idle : frozenset of str
        Nodes on which nothing runs.
    """

    companions: list[Companion]
    waiting: list[Waiting]
    partitions: dict[str, frozenset[str]]
    features: dict[str, frozenset[str]] = field(default_factory=dict)
    idle: frozenset[str] = frozenset()


def read_queue(companions: str) -> Queue:
    """Return what Slurm reports; four commands at most.

    Parameters
    ----------
    companions : str
        What companions are named.

    Raises
    ------
    SlurmError
        If a command fails: then nothing is known, which is not as if there were nothing.
    """
    partitions: dict[str, frozenset[str]] = {}
    features, idle = {}, set()
    for line in call("sinfo", "-h", "-N", "-o", "%N|%R|%t|%f").splitlines():
        node, partition, state, its = line.split("|")
        partitions[node] = partitions.get(node, frozenset()) | {partition}
        features[node] = _names(its)
        if state == "idle":
            idle.add(node)
    held = [
        line.split("|")
        for line in call("squeue", "-h", f"--name={companions}", "-o", "%i|%T|%N|%L").splitlines()
    ]
    busy = _with_steps([job for job, *_ in held])
    found = [
        Companion(job, state, node, seconds(left), job in busy) for job, state, node, left in held
    ]
    lines = call("squeue", "-h", "-t", "PD", "-o", "%i|%u|%r|%P|%D|%n|%f").splitlines()
    return Queue(
        sorted(found, key=lambda one: int(one.job)),
        [_waiting(line) for line in lines],
        partitions,
        features,
        frozenset(idle),
    )


def _with_steps(jobs: list[str]) -> set[str]:
    """Return those of some jobs in which something runs."""
    if not jobs:
        return set()
    steps = call("squeue", "-h", "-s", f"--jobs={','.join(jobs)}", "-o", "%i").split()
    return {step.split(".")[0] for step in steps if not step.endswith(".extern")}


def _waiting(line: str) -> Waiting:
    job, user, reason, partitions, nodes, names, features = line.split("|", 6)
    # A number of nodes is also written as 2-4, or 1K.
    digits = re.match(r"\d+", nodes)
    return Waiting(
        job,
        user,
        reason,
        _names(partitions),
        int(digits[0]) if digits else 1,
        frozenset(nodes_of(names)) if names not in ("", "(null)") else frozenset(),
        _names(features),
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(re.split(r"[,&]", text)) - {"", "(null)"}


def nodes_of(text: str) -> list[str]:
    """Return the names that a list of Slurm's means, such as ``n[1-3,7]``."""
    return call("scontrol", "show", "hostnames", text).split() if "[" in text else text.split(",")


def seconds(text: str) -> float:
    """Return a duration as Slurm writes it, such as ``1-02:03:04``; infinite where it has none."""
    found = _TIME.match(text)
    if found is None:
        return math.inf
    days, hours, minutes, rest = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + rest)


def call(*words: str, timeout_s: float = _TIMEOUT_S) -> str:
    """Return what a command of Slurm's prints.

    Raises
    ------
    SlurmError
        If it fails, or does not end in time.
    """
    try:
        done = subprocess.run(
            words,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlurmError(f"{words[0]}: {error}") from error
    if done.returncode != 0:
        raise SlurmError(f"{words[0]}: {_last_line(done.stderr)} (status {done.returncode})")
    # salloc reports what it has granted there.
    return f"{done.stdout}{done.stderr if words[0] == 'salloc' else ''}".strip()


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SLURM_") or name in _OWN
    }
