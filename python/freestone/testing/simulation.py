"""Task graphs on a simulated cluster."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Literal, TypeVar

from freestone._native.simulation import simulate_graph
from freestone.testing.expecting import expect

__all__ = ["SimulatedCall", "Simulation", "simulate"]

T = TypeVar("T", int, float)
NS = 1_000_000_000


@dataclass(frozen=True)
class SimulatedCall:
    """A call that began on a simulated worker.

    Parameters
    ----------
    task
        Its task, as `simulate` was given it.
    worker
        The number of the worker. A worker that replaces a lost one has a number of its own.
    start_s, end_s
        Simulated seconds since the submission; `end_s` of a call that was cut off is when it would
        have ended.
    end
        ``"done"``, ``"failed"``, or ``"cut"`` if its worker was lost, or the call was cancelled.
    """

    task: Hashable
    worker: int
    start_s: float
    end_s: float
    end: Literal["done", "failed", "cut"]


@dataclass(frozen=True)
class Simulation:
    """How a simulated run went.

    Parameters
    ----------
    calls
        All calls, in the order in which they began.
    failures
        The wanted tasks whose results did not come, and why.
    makespan_s
        Simulated seconds from the submission to the last result.
    lost
        When which worker was lost: simulated seconds since the submission, and its number.
    """

    calls: tuple[SimulatedCall, ...]
    failures: Mapping[Hashable, str]
    makespan_s: float
    lost: tuple[tuple[float, int], ...]

    @property
    def is_complete(self) -> bool:
        """Whether every wanted result came."""
        return not self.failures

    def counts(self) -> Counter[Hashable]:
        """Return how often each task began."""
        return Counter(call.task for call in self.calls)

    def workers_of(self, task: Hashable) -> list[int]:
        """Return the workers on which a task began, in order."""
        return [call.worker for call in self.calls if call.task == task]


def simulate(
    tasks: Mapping[Hashable, Iterable[Hashable]],
    wanted: Iterable[Hashable] | None = None,
    *,
    workers: int = 4,
    slots: int = 1,
    seed: int = 0,
    duration_s: float | Mapping[Hashable, float] = 1.0,
    nbytes: int | Mapping[Hashable, int] = 1 << 20,
    kills: int | Iterable[tuple[float, int]] = 0,
    replaced_after_s: float | None = 10.0,
    delays_s: tuple[float, float] = (0.0001, 0.001),
    bandwidth: float = 1e9,
    raising: float = 0.0,
    crashes: float = 0.0,
    slow: float = 0.0,
    broken_transfers: float = 0.0,
    retries: int = 0,
) -> Simulation:
    """Run a task graph on a simulated cluster, where workers are lost and messages are late.

    The manager is the one of a real cluster; workers, network and clock are simulated. No task is
    called: each takes the time that is given for it. The same arguments give the same run, on every
    machine.

    Parameters
    ----------
    tasks
        For each task, those whose results it needs. Of a Dask collection ``x``:
        ``x.__dask_graph__().get_all_dependencies()``.
    wanted
        The tasks whose results are asked for; those that no other task needs if None.
    workers, slots
        How many workers there are at first, and how many calls each runs at once.
    seed
        Decides about all that is left to chance.
    duration_s, nbytes
        Seconds that a call takes, and bytes of its result: one for all, or by task; a task that is
        not named takes 1 s and gives 1 MiB. Results of up to 16 KiB are held by the manager, larger
        ones by workers.
    kills
        How many of the first workers are lost, at moments that the seed decides, within the time
        that the work takes at least; or when which one is lost: seconds since the submission, and
        its number from 0.
    replaced_after_s
        Seconds after which a new worker joins for a lost one; None: never.
    delays_s
        The shortest and the longest time that a message takes, in seconds.
    bandwidth
        Bytes per second of a transfer between workers.
    raising, crashes, slow, broken_transfers
        Probabilities that a call raises, that one kills its executor, that one takes ten times as
        long, and that a transfer fails.
    retries
        How often a task that raised is tried again.

    Returns
    -------
    Simulation
        What ran where, how often, and whether every wanted result came.

    Raises
    ------
    ValueError
        If tasks need each other in a circle, or an argument is out of range.
    KeyError
        If a task that is needed, wanted or given a duration or size is not among `tasks`.
    AssertionError
        If freestone itself goes against its contract, or a result comes that was made of the wrong
        inputs: an error of freestone's, which the seed reproduces.

    Notes
    -----
    Takes some tens of microseconds per task.

    Examples
    --------
    >>> run = simulate({"a": [], "b": [], "sum": ["a", "b"]}, workers=2, kills=1, seed=3)
    >>> run.is_complete
    True
    """
    graph = _Graph(tasks, duration_s, nbytes)
    asked = graph.asked(wanted)
    _check_range(1, math.inf, workers=workers, slots=slots, bandwidth=bandwidth)
    _check_range(0, math.inf, replaced_after_s=replaced_after_s or 0, retries=retries)
    _check_range(0, delays_s[1], shortest_delay_s=delays_s[0])
    _check_range(0, 1, raising=raising, crashes=crashes)
    _check_range(0, 1, slow=slow, broken_transfers=broken_transfers)
    losses = _losses(kills, workers, seed, graph.min_makespan_s(workers * slots))
    runs, fates, makespan_ns, violations = simulate_graph(
        graph.calls,
        asked,
        workers=workers,
        slots=slots,
        retries=retries,
        latency_ns=(round(delays_s[0] * NS), round(delays_s[1] * NS)),
        bandwidth=bandwidth,
        losses=[(round(at_s * NS), worker) for at_s, worker in losses],
        replaced_after_ns=None if replaced_after_s is None else round(replaced_after_s * NS),
        raising=raising,
        crashes=crashes,
        slow=slow,
        broken_transfers=broken_transfers,
        seed=seed,
    )
    expect(not violations, f"freestone went against its contract; seed {seed}: {violations}")
    names = graph.names
    outcomes = {names[task]: outcome for task, outcome in zip(asked, fates, strict=True)}
    wrong = [name for name, (fate, _) in outcomes.items() if fate == "wrong"]
    expect(not wrong, f"results were made of the wrong inputs; seed {seed}: {wrong}")
    return Simulation(
        calls=tuple(
            SimulatedCall(names[task], worker, start_ns / NS, end_ns / NS, end)
            for task, worker, start_ns, end_ns, end in runs
        ),
        failures={name: why for name, (fate, why) in outcomes.items() if fate != "ready"},
        makespan_s=makespan_ns / NS,
        lost=tuple(losses),
    )


class _Graph:
    """Tasks, each after those that it needs, in an order that the mapping alone decides."""

    def __init__(
        self,
        tasks: Mapping[Hashable, Iterable[Hashable]],
        duration_s: float | Mapping[Hashable, float],
        nbytes: int | Mapping[Hashable, int],
    ) -> None:
        given = list(tasks)
        index = {name: position for position, name in enumerate(given)}
        _check_known(index, "durations are given for", duration_s)
        _check_known(index, "sizes are given for", nbytes)
        needed = {name: tuple(tasks[name]) for name in given}
        for name in given:
            _check_known(index, f"{name!r} needs", needed[name])
        # By position: an order of names would be another one in every process.
        needs = {index[name]: sorted({index[other] for other in needed[name]}) for name in given}
        try:
            order = list(TopologicalSorter(needs).static_order())
        except CycleError as error:
            circle = [given[position] for position in error.args[1]]
            raise ValueError(f"tasks need each other in a circle: {circle}") from None
        self.names = [given[position] for position in order]
        self.place = {name: at for at, name in enumerate(self.names)}
        self.needs = [[self.place[given[other]] for other in needs[position]] for position in order]
        self.calls = [
            (round(_value(duration_s, name, 1.0) * NS), _value(nbytes, name, 1 << 20), before)
            for name, before in zip(self.names, self.needs, strict=True)
        ]
        if any(duration_ns < 0 or size < 0 for duration_ns, size, _ in self.calls):
            raise ValueError("a duration or a size is negative")

    def asked(self, wanted: Iterable[Hashable] | None) -> list[int]:
        """Return the places of the wanted tasks, or of those that no other needs."""
        if wanted is None:
            needed = {other for each in self.needs for other in each}
            return [place for place in range(len(self.names)) if place not in needed]
        wanted = list(dict.fromkeys(wanted))
        _check_known(self.place, "wanted are", wanted)
        return [self.place[name] for name in wanted]

    def min_makespan_s(self, slots: int) -> float:
        """Return the seconds that the work takes at least: its longest chain, or all slots busy."""
        chains: list[float] = []
        for duration_ns, _, needed in self.calls:
            chains.append(duration_ns / NS + max((chains[other] for other in needed), default=0.0))
        work_s = sum(duration_ns for duration_ns, _, _ in self.calls) / NS
        return max([work_s / slots, *chains])


def _value(given: T | Mapping[Hashable, T], name: Hashable, default: T) -> T:
    return given.get(name, default) if isinstance(given, Mapping) else given


def _check_known(known: Mapping[Hashable, int], what: str, names: object) -> None:
    if isinstance(names, Iterable):
        unknown = [name for name in names if name not in known]
        if unknown:
            raise KeyError(f"{what} {unknown}, which are not among the tasks")


def _check_range(least: float, most: float, **given: float) -> None:
    for name, value in given.items():
        if not least <= value <= most:
            raise ValueError(f"{name}={value!r}; give a number from {least} to {most}")


def _losses(
    kills: int | Iterable[tuple[float, int]], workers: int, seed: int, min_makespan_s: float
) -> list[tuple[float, int]]:
    if not isinstance(kills, int):
        losses = sorted(kills)
        if any(at_s < 0 or not 0 <= worker < workers for at_s, worker in losses):
            raise ValueError(
                f"kills={losses}; times are from 0 s, workers have numbers from 0 to {workers - 1}"
            )
        return losses
    if not 0 <= kills <= workers:
        raise ValueError(f"kills={kills}; of {workers} workers from 0 to {workers} can be lost")
    chance = random.Random(seed)
    return sorted(
        (chance.uniform(0, min_makespan_s), worker)
        for worker in chance.sample(range(workers), kills)
    )
