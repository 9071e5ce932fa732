"""The same from Python: `python.py SCALE events|mpi4py`, two ranks; lines of JSON."""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

SIZES = (8, 1024, 1 << 20)


def turns(nbytes: int, scale: int) -> int:
    """Return how often a payload goes there and back."""
    return scale * (50 if nbytes > 65536 else 1000)


class Turns:
    """How long turns take, in batches: their median is without what else had the processor."""

    BATCHES = 50

    def __init__(self, count: int) -> None:
        self._each = self._left = count // self.BATCHES
        self._seconds: list[float] = []
        self._last = time.perf_counter()

    def end(self) -> None:
        """Note that a turn is over."""
        self._left -= 1
        if self._left == 0:
            now = time.perf_counter()
            self._seconds.append((now - self._last) / self._each)
            self._last, self._left = now, self._each

    def us_one_way(self) -> float:
        """Return how long half of a turn takes."""
        return statistics.median(self._seconds) / 2 * 1e6


def say(name: str, value: float) -> None:
    """Print a figure."""
    print(json.dumps({name: value}), flush=True)


def by_events(rank: Any, scale: int) -> dict[str, float]:
    """Measure events between two ranks."""
    import numpy as np

    from freestone import events as ev

    found = {}
    other = 1 - rank.id
    for nbytes in SIZES:
        data, count = np.ones(nbytes, np.uint8), turns(nbytes, scale)
        measured: list[Turns] = []

        def answer(
            event: Any,
            data: Any = data,
            measured: list[Turns] = measured,
            left: list[int] = [count],  # noqa: B006
        ) -> None:
            left[0] -= 1
            if rank.id == 0:
                measured[0].end()
            if rank.id == 1 or left[0] > 0:
                rank.fire(other, "turn", data)
            else:
                rank.fire(ev.SELF, "done")

        rank.submit(answer, on=[(other, "turn")], persistent=True, name="answer")
        rank.drain()
        if rank.id == 0:
            measured.append(Turns(count))
            rank.fire(1, "turn", data)
            rank.wait([(ev.SELF, "done")])
            found[f"us_{nbytes}"] = measured[0].us_one_way()
        rank.drain()
        rank.remove("answer")
    count = 20_000 * scale
    seen = [0]

    def one(event: Any) -> None:
        seen[0] += event.data

    def many(*events: Any) -> None:
        seen[0] += sum(event.data for event in events)

    for name, task, greedy in (("events", one, False), ("events_greedy", many, True)):
        if rank.id == 1:
            rank.submit(task, on=[(0, "small")], persistent=True, greedy=greedy, name="count")
        rank.drain()
        start = time.perf_counter()
        if rank.id == 0:
            for _ in range(count):
                rank.fire(1, "small", 1)
        rank.drain()
        found[name] = count / (time.perf_counter() - start)
        rank.remove("count")
    return found


def by_mpi4py(scale: int) -> None:
    """Measure messages of mpi4py."""
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    other = 1 - comm.rank
    for nbytes in SIZES:
        data, count = np.ones(nbytes, np.uint8), turns(nbytes, scale)
        comm.Barrier()
        measured = Turns(count)
        for _ in range(count):
            if comm.rank == 0:
                comm.Send(data, other)
            comm.Recv(data, other)
            if comm.rank == 1:
                comm.Send(data, other)
            measured.end()
        if comm.rank == 0:
            say(f"us_{nbytes}", measured.us_one_way())
    count = 20_000 * scale
    comm.Barrier()
    start = time.perf_counter()
    for _ in range(count):
        if comm.rank == 0:
            comm.send(1, other)
        else:
            comm.recv(source=other)
    comm.Barrier()
    if comm.rank == 0:
        say("events", count / (time.perf_counter() - start))


if __name__ == "__main__":
    amount, what = int(sys.argv[1]), sys.argv[2]
    if what == "mpi4py":
        by_mpi4py(amount)
    else:
        from freestone import events

        first = events.run(by_events, ranks=2, args=(amount,))[0]
        for name, value in first.items():
            say(name, value)
