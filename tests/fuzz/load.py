"""Real load for a soak: clusters and ranks that work, of whose processes some are killed.

``python -m tests.fuzz.load KIND FOLDER SEED SECONDS``; what is wrong goes into ``FOLDER/report``, a
line of JSON each.
"""

from __future__ import annotations

import contextlib
import json
import operator
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import freestone as fs
from freestone import events as ev
from freestone.errors import InputLostError
from tests.collections.fuzz import Case, problem_of
from tests.outside import fuzz_graphs

__all__ = ["LOADS"]

MAX_POLL_INTERVAL_S = 2.0


def calls(folder: Path, seed: int, until: float) -> None:
    """Give a cluster all kinds of work; a worker or an executor dies meanwhile."""
    first, killed = seed, list[int]()
    with fs.Cluster(workers=3, executors=2, memory="256MiB", disk="1GiB") as cluster:
        while time.monotonic() < until:
            seed += 1
            job = random.Random(seed).choice(list(JOBS))
            ended = threading.Event()
            killer = threading.Thread(target=_kill, args=(cluster, seed, ended, killed))
            killer.start()
            try:
                wrong = JOBS[job](cluster, seed)
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
            ended.set()
            killer.join()
            if wrong:
                _note(folder, seed, f"{job} on a cluster whose processes die: {wrong}")
    print(f"{seed - first} jobs, {len(killed)} processes killed")


def _kill(cluster: fs.Cluster, seed: int, ended: threading.Event, killed: list[int]) -> None:
    """End a process of a cluster after a while, but never the program's own worker.

    A value that was put, and that only that worker has, is lost with it.
    """
    choose = random.Random(seed)
    if ended.wait(choose.random() * MAX_POLL_INTERVAL_S):
        return
    workers = [each for each in cluster.statistics().workers if each.folder[-2:] != "/0"]
    with contextlib.suppress(IndexError, psutil.Error):
        process = psutil.Process(choose.choice(workers).pid)
        if choose.random() < 0.6:
            process = choose.choice(process.children(recursive=True))
        process.send_signal(signal.SIGKILL)
        killed.append(process.pid)


def _part(seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 1000, 200_000)


def _sums(cluster: fs.Cluster, seed: int) -> str | None:
    """Blocks that are made, changed and reduced."""
    seeds = [seed * 100 + number for number in range(40)]
    doubled = cluster.map(np.multiply, cluster.map(_part, seeds), [2] * len(seeds))
    found = fs.reduce(operator.add, doubled).result()
    return _difference(found, sum(2 * _part(each) for each in seeds))


def _puts(cluster: fs.Cluster, seed: int) -> str | None:
    """Values of the program's own, that calls take."""
    values = [_part(seed + number) for number in range(8)]
    futures = cluster.map(np.sort, [cluster.put(each) for each in values])
    wrong = (_difference(f.result(), np.sort(v)) for f, v in zip(futures, values, strict=True))
    return next(filter(None, wrong), None)


def _small(cluster: fs.Cluster, seed: int) -> str | None:
    """Many calls that take no time."""
    numbers = list(range(seed, seed + 3000))
    found = [each.result() for each in cluster.map(operator.neg, numbers)]
    return _difference(found, [-each for each in numbers])


def _ways(steps: int, seed: int) -> int:
    """Count the ways up stairs, one or two at a time, by tasks that wait for tasks."""
    here = fs.current()
    if steps < 2 or here is None:
        return 1
    return sum(here.gather(here.map(_ways, [steps - 1, steps - 2], [seed] * 2)))


def _nested(cluster: fs.Cluster, seed: int) -> str | None:
    """Tasks that submit tasks, and wait for them."""
    found = [each.result() for each in cluster.map(_ways, range(9), [seed] * 9)]
    return _difference(found, [1, 1, 2, 3, 5, 8, 13, 21, 34])


def _commands(cluster: fs.Cluster, seed: int) -> str | None:
    """Command lines with files."""
    made = [
        cluster.command(f"echo {seed + number} > out", outputs=["out"]).outputs["out"]
        for number in range(8)
    ]
    found = [each.result().read_text() for each in made]
    return _difference(found, [f"{seed + number}\n" for number in range(8)])


def _expressions(cluster: fs.Cluster, seed: int) -> str | None:
    """Expressions of arrays, against NumPy."""
    cases = (Case.drawn(str(seed * 100 + number)) for number in range(5))
    wrong = (f"{problem}\n{case.program()}" for case in cases if (problem := problem_of(case)))
    return next((each for each in wrong if not each.startswith("refused\n")), None)


def _graphs(cluster: fs.Cluster, seed: int) -> str | None:
    """Dask graphs, against `dask.get`."""
    wrong = (fuzz_graphs.problem_of(cluster, seed * 100 + number) for number in range(5))
    return next(filter(None, wrong), None)


class _Sums:
    """Adds up numbers; what it gives depends on all calls before."""

    def __init__(self) -> None:
        self.sum = np.zeros(30_000, np.int64)

    def add(self, number: int) -> Any:
        self.sum = self.sum + number
        return self.sum if number % 3 == 0 else int(self.sum[0])


def _actors(cluster: fs.Cluster, seed: int) -> str | None:
    """Calls of an actor, in order, whose state is saved now and then."""
    numbers = [random.Random(seed).randrange(100) for _ in range(200)]
    actor = cluster.actor(_Sums, restarts=100, checkpoint=7)
    try:
        found = [np.ravel(each.result())[0] for each in [actor.add(number) for number in numbers]]
    except InputLostError:
        # A large result, which its worker has taken along.
        return None
    finally:
        actor.close()
    return _difference(found, np.cumsum(numbers))


def _parts(seed: int, count: int) -> Any:
    for number in range(count):
        yield np.full(3 if number % 2 else 30_000, seed + number)


def _streams(cluster: fs.Cluster, seed: int) -> str | None:
    """The elements of a generator, and calls that take them while it runs."""
    taken = [cluster.submit(np.max, part) for part in cluster.stream(_parts, seed, 100)]
    try:
        return _difference(cluster.gather(taken), [seed + number for number in range(100)])
    except InputLostError:
        # A large element, which its worker has taken along before it was used.
        return None


def _difference(found: Any, expected: Any) -> str | None:
    equal = np.array_equal(found, expected)
    return None if equal else f"gives {found!r:.500}, not {expected!r:.500}"


JOBS: dict[str, Callable[[fs.Cluster, int], str | None]] = {
    "sums": _sums,
    "puts": _puts,
    "small calls": _small,
    "nested calls": _nested,
    "commands": _commands,
    "expressions": _expressions,
    "graphs": _graphs,
    "actors": _actors,
    "streams": _streams,
}


def _made(number: int, log: str) -> list[int]:
    with open(log, "a") as file:
        file.write(f"{number}\n")
    return [number] * (10 if number % 2 else 300_000)


def kept(folder: Path, seed: int, until: float) -> None:
    """Keep results forever, and note each that was seen: whoever comes next finds them."""
    seen, log = folder / "seen", folder / "made"
    seen.touch()
    with fs.Cluster(workers=1, executors=1, memory="256MiB", cache=folder / "kept") as cluster:
        for number in [*map(int, seen.read_text().split())][-50:]:
            _ask(cluster, folder, number)
            if log.read_text().split().count(str(number)) > 1:
                _note(folder, number, f"the kept result of {number} was made again")
        number = len(log.read_text().split()) if log.exists() else 0
        number = max(number, *map(int, ["0", *seen.read_text().split()])) + 1000
        while time.monotonic() < until:
            number += 1
            _ask(cluster, folder, number)
            with seen.open("a") as file:
                file.write(f"{number}\n")


def _ask(cluster: fs.Cluster, folder: Path, number: int) -> None:
    found = cluster.submit(_made, number, str(folder / "made"), keep="forever").result()
    wrong = _difference(found, [number] * (10 if number % 2 else 300_000))
    if wrong:
        _note(folder, number, f"a kept result {wrong}")


ROUNDS = 200


def _ring(rank: ev.Rank, values: list[int]) -> int:
    total = 0
    for value in values:
        rank.fire((rank.id + 1) % rank.size, "next", np.full(500, value + rank.id))
        total += int(rank.wait([(ev.ANY, "next")])[0].data.sum())
    return total


def events(folder: Path, seed: int, until: float) -> None:
    """Run ranks that send events around, as processes and as threads."""
    first = seed
    while time.monotonic() < until:
        seed += 1
        choose = random.Random(seed)
        values = [choose.randrange(1000) for _ in range(ROUNDS)]
        ranks, threads = choose.randint(2, 4), choose.random() < 0.5
        found = ev.run(_ring, args=(values,), ranks=ranks, threads=threads)
        before = [(rank - 1) % ranks for rank in range(ranks)]
        expected = [500 * (sum(values) + ROUNDS * rank) for rank in before]
        if found != expected:
            _note(folder, seed, f"{ranks} ranks, threads={threads}: {found}, not {expected}")
    print(f"{seed - first} runs")


def _note(folder: Path, seed: int, text: str) -> None:
    with (folder / "report").open("a") as file:
        file.write(json.dumps({"seed": seed, "text": text}) + "\n")


LOADS = {"calls": calls, "kept": kept, "events": events}

if __name__ == "__main__":
    kind, where, first, seconds = sys.argv[1:]
    os.environ["FREESTONE_PROGRESS"] = "no"
    LOADS[kind](Path(where), int(first), time.monotonic() + float(seconds))
