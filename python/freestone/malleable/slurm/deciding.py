"""From what Slurm reports to a decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from freestone.malleable.slurm.queue import Queue, Waiting
from freestone.malleable.targets import Status

__all__ = ["COURTESIES", "Courtesy", "Decision", "Rules", "decide"]

Courtesy = Literal["all", "others", "none"]
COURTESIES: tuple[Courtesy, ...] = ("all", "others", "none")
# Jobs that wait for other reasons, as for a date, another job or a limit, could not start now.
_FOR_NODES = ("Resources", "Priority")


@dataclass(frozen=True)
class Rules:
    """What a job may take, and whom it makes room for.

    Attributes
    ----------
    own : mapping of str to int
        The job's own nodes, and how many processes each takes.
    most, per_node : int
        Processes at most, and those of a companion's node.
    courtesy : str
        Whose jobs count: ``"all"``, those of ``"others"`` than the user, or ``"none"``.
    user : str
        Who runs this job.
    leave_s : float
        How long before the end of a companion its node is left.
    partition, constraint : str
        Where companions may run; empty for anywhere.
    """

    own: Mapping[str, int]
    most: int
    per_node: int
    courtesy: Courtesy = "all"
    user: str = ""
    leave_s: float = 60.0
    partition: str = ""
    constraint: str = ""


@dataclass(frozen=True)
class Decision:
    """What to do.

    Attributes
    ----------
    action : str
        ``"stay"``; ``"grow"``, if Slurm grants a node; or ``"shrink"``.
    why : str
        For the log.
    size : int
        Processes there are to be.
    slots : dict of str to int
        The nodes that are kept, and how many processes each takes.
    release : tuple of str
        Companions that are of no use.
    """

    action: Literal["stay", "grow", "shrink"]
    why: str
    size: int
    slots: dict[str, int] = field(default_factory=dict)
    release: tuple[str, ...] = ()


def decide(queue: Queue, status: Status, rules: Rules, refused: frozenset[str]) -> Decision:
    """Return what is to be done.

    Parameters
    ----------
    queue : Queue
        What Slurm reports.
    status : Status
        Where the job is; its hosts are named as Slurm names nodes.
    rules : Rules
        What it may do.
    refused : frozenset of str
        Nodes that are not to be taken, since processes did not start there.
    """
    ranks = Counter(status.hosts)
    used = [one for one in queue.companions if one.state == "RUNNING" and ranks[one.node]]
    unused = [one for one in queue.companions if not ranks[one.node]]
    # Processes that leave a node need its companion until they have ended.
    release = tuple(one.job for one in unused if not one.has_steps and one.state != "COMPLETING")
    slots = {**rules.own, **{one.node: rules.per_node for one in used}}

    def shrink(nodes: set[str], why: str) -> Decision:
        kept = {node: count for node, count in slots.items() if node not in nodes}
        size = sum(count for node, count in ranks.items() if node not in nodes)
        return Decision("shrink" if size else "stay", why, max(size, 1), kept, release)

    lost = {node for node in ranks if node in queue.partitions and node not in slots}
    if lost:
        return shrink(lost, f"nothing holds {', '.join(sorted(lost))} for this job any more")
    ending = [one for one in used if one.left_s < rules.leave_s]
    if ending:
        ends = ", ".join(f"companion {one.job} ends in {one.left_s:.0f} s" for one in ending)
        return shrink({one.node for one in ending}, ends)
    # Who waits may have these nodes at the next look; a node that failed may never come back.
    left = ", ".join(one.job for one in unused if one.node not in refused)
    if left:
        return Decision("stay", f"{left} is being given back", status.size, slots, release)
    for job in _counting(queue, rules):
        suitable = [one.node for one in used if _suits(one.node, job, queue)]
        # Slurm starts a job for which idle nodes suffice.
        if 0 < _lacking(job, queue) <= len(suitable):
            newest = suitable[-1]
            return shrink({newest}, f"job {job.job} of {job.user} waits and could use {newest}")
    return _growth(queue, status, rules, refused, slots, release)


def _growth(
    queue: Queue,
    status: Status,
    rules: Rules,
    refused: frozenset[str],
    slots: dict[str, int],
    release: tuple[str, ...],
) -> Decision:
    def stay(why: str) -> Decision:
        return Decision("stay", why, status.size, slots, release)

    more = status.size + rules.per_node
    if more > rules.most:
        return stay(f"{more} processes would be more than {rules.most}")
    idle = [node for node in sorted(queue.idle - refused) if _is_ours(node, queue, rules)]
    if not idle:
        return stay("no node is idle" + (" but where none started" if refused else ""))
    for job in _counting(queue, rules):
        if _lacking(job, queue) <= 0 and any(_suits(node, job, queue) for node in idle):
            return stay(f"job {job.job} of {job.user} waits and could use an idle node")
    return Decision("grow", f"{len(idle)} nodes are idle", more, slots, release)


def _is_ours(node: str, queue: Queue, rules: Rules) -> bool:
    return not rules.partition or rules.partition in queue.partitions[node]


def _counting(queue: Queue, rules: Rules) -> list[Waiting]:
    """Return the jobs that wait for nodes and are those that courtesy is for."""
    if rules.courtesy == "none":
        return []
    others = rules.courtesy == "others"
    return [
        job
        for job in queue.waiting
        if job.reason in _FOR_NODES and not (others and job.user == rules.user)
    ]


def _suits(node: str, job: Waiting, queue: Queue) -> bool:
    is_there = job.partitions & queue.partitions.get(node, frozenset())
    is_named = not job.names or node in job.names
    return bool(is_there) and is_named and job.features <= queue.features.get(node, frozenset())


def _lacking(job: Waiting, queue: Queue) -> int:
    """Return how many nodes a job lacks besides the idle ones."""
    return (len(job.names) or job.nodes) - sum(_suits(node, job, queue) for node in queue.idle)
