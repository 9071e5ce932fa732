"""What the synthetic application does."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from freestone.errors import ConfigurationError, did_you_mean
from freestone.malleable.method import Method

__all__ = ["KINDS", "Group", "Phase", "Settings", "Stage"]

Kind = Literal[
    "pi",
    "matvec",
    "p2p",
    "ip2p",
    "wait",
    "bcast",
    "allgatherv",
    "reduce",
    "allreduce",
    "write",
    "read",
]
Capture = Literal["max", "mean", "median"]
KINDS: tuple[str, ...] = get_args(Kind)
COMPUTES = ("pi", "matvec")
USES_FILES = ("write", "read")


@dataclass(frozen=True)
class Stage:
    """A part of an iteration.

    Attributes
    ----------
    kind : str
        ``pi`` (Monte Carlo) and ``matvec`` compute, ``write`` and ``read`` use files in the working
        directory, the others communicate; ``ip2p`` only begins to, and ``wait`` waits for it.
    seconds : float
        How long it takes one process; for communication, from which bytes are derived if none
        are given.
    nbytes : int
        What is sent by all processes together (``allgatherv``), or by each.
    granularity : int
        Samples, rows and columns, or bytes of files, of one operation.
    is_capped : bool
        Repeat the operation until the time is over, in place of a number of times; one that
        communicates, until it is over on rank 0.
    identifier : int
        Of ``ip2p``, and of the ``wait`` that waits for it.
    involved : int
        How many ranks ``write`` and ``read``, the first ones; 0 for all.
    """

    kind: str
    seconds: float = 0.0
    nbytes: int = 0
    granularity: int = 600
    is_capped: bool = False
    identifier: int = 0
    involved: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise wrong("kind", self.kind, f"one of {', '.join(KINDS)}")
        if not self.seconds >= 0:
            raise wrong("seconds", self.seconds, "at least 0")
        if self.nbytes < 0:
            raise wrong("nbytes", self.nbytes, "at least 0")
        if self.granularity < 1:
            raise wrong("granularity", self.granularity, "at least 1")
        if self.involved < 0:
            raise wrong("involved", self.involved, "at least 0")
        if self.kind in COMPUTES and not self.seconds:
            raise wrong("seconds", self.seconds, f"above 0 in a stage of kind {self.kind}")


@dataclass(frozen=True)
class Phase:
    """Iterations that are alike."""

    iterations: int
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class Group:
    """Processes that work together until a resize.

    Attributes
    ----------
    processes : int
        How many.
    iterations : int
        After which the next group follows; the last one runs what is left.
    factor : float
        What part of a compute stage's time each of them takes.
    method : Method or None
        How this group is reached; ``None`` leaves it to the job.
    """

    processes: int
    iterations: int
    factor: float = 1.0
    method: Method | None = None

    def __post_init__(self) -> None:
        for key in ("processes", "iterations"):
            if getattr(self, key) < 1:
                raise wrong(key, getattr(self, key), "at least 1")
        if not self.factor > 0:
            raise wrong("factor", self.factor, "above 0")


@dataclass(frozen=True)
class Settings:
    """A configuration.

    Attributes
    ----------
    phases : tuple of Phase
        What the iterations do, one after the other.
    groups : tuple of Group
        By which processes.
    constant_nbytes, variable_nbytes : int
        Data that is moved while iterations go on, and at the switch.
    is_rigid : bool
        Let all wait for each other after each stage, so that its time is its own.
    capture : {"max", "mean", "median"}
        What of the ranks' times is written down.
    relabel, by_host, share : bool
        See ``freestone.malleable.Config``.
    factors : dict of int to float
        By number of processes, for sweeps.
    """

    phases: tuple[Phase, ...]
    groups: tuple[Group, ...]
    constant_nbytes: int = 0
    variable_nbytes: int = 0
    is_rigid: bool = False
    capture: Capture = "max"
    relabel: bool = True
    by_host: bool = True
    share: bool = True
    factors: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.groups:
            raise wrong("groups", 0, "at least one")
        if not self.phases or not all(phase.stages for phase in self.phases):
            raise wrong("stages", 0, "at least one")
        for phase in self.phases:
            begun = {stage.identifier for stage in phase.stages if stage.kind == "ip2p"}
            for stage in phase.stages:
                if stage.kind == "wait" and stage.identifier not in begun:
                    known = f"that of an ip2p stage of its phase ({sorted(begun) or 'none'})"
                    raise wrong("identifier", stage.identifier, known)
        if self.capture not in get_args(Capture):
            raise wrong("capture", self.capture, f"one of {', '.join(get_args(Capture))}")

    @property
    def iterations(self) -> int:
        """Iterations of all phases."""
        return sum(phase.iterations for phase in self.phases)

    def stages_of(self, iteration: int) -> tuple[Stage, ...]:
        """Return the stages of an iteration, counted over all phases."""
        for phase in self.phases:
            if iteration < phase.iterations:
                return phase.stages
            iteration -= phase.iterations
        return self.phases[-1].stages

    def factor_for(self, processes: int) -> float:
        """Return what part of a compute stage each of so many processes does."""
        known = {group.processes: group.factor for group in self.groups} | self.factors
        return known.get(processes, 1.0 / processes)

    def between(self, before: int, after: int, method: Method) -> Settings:
        """Return the same with one resize, from and to so many processes."""
        first = self.groups[0].iterations
        rest = max(1, self.iterations - first)
        groups = (
            Group(before, first, self.factor_for(before)),
            Group(after, rest, self.factor_for(after), method),
        )
        return dataclasses.replace(self, groups=groups)


def wrong(key: str, value: Any, must: str) -> ConfigurationError:
    """Return the error for a value that makes no sense."""
    problem = f"{key} is {value!r} and must be {must}"
    return ConfigurationError(problem, key=key, origin="configuration")


def check_keys(table: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    """Refuse a key of a table that is not among those that are known."""
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known) or f"; there are {', '.join(known)}"
            problem = f"unknown key {key!r} in {what}{hint}"
            raise ConfigurationError(problem, key=key, origin="configuration")
