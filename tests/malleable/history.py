"""A job that goes through a history, and compares its data with one process's.

Words: the history, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from freestone import malleable
from freestone.malleable import Method, Request, Source, Status
from freestone.malleable.arrays import Run
from tests.malleable.histories import Data, History, is_same, replay, step, whole, work

MAX_STEPS = 200_000


class Asked(Source):
    """Resizes from given steps on, each when the one before is over."""

    world: malleable.World

    def __init__(self, resizes: list[tuple[int, int, str]]) -> None:
        self._resizes = resizes

    def left(self) -> list[tuple[int, int, str]]:
        """Return those that are not over; one that is called off begins anew."""
        over = [record for record in self.world.resizes if not record.error.startswith("called")]
        return self._resizes[len(over) :]

    def ask(self, status: Status) -> Request | None:
        """Return the next one that is due."""
        left = self.left()
        if left and status.step >= left[0][0]:
            return Request(left[0][1], Method.parse(left[0][2]))
        return None


def register(world: malleable.World, data: Data, rows: int) -> malleable.Array:
    """Register one of the history's arrays."""
    add = world.constant if data.kind == "constant" else world.variable
    return add(data.name, lambda start, stop: whole(data, rows)[start:stop])


def in_order(everyone: list[list[Run]]) -> list[Any]:
    """Return the rows of all ranks, run by run, in their order."""
    runs = [run for theirs in everyone for run in theirs]
    return [run.local for run in sorted(runs, key=lambda run: run[:2])]


def main() -> None:
    """Go through the history."""
    history = History.of(json.loads(sys.argv[1]))
    asked = Asked(history.resizes)
    config = malleable.Config(rows=history.rows, targets=asked, timeout_s=120, **history.settings)
    arrays: dict[str, malleable.Array] = {}
    with malleable.World(config) as world:
        asked.world = world
        trace: Any = world.replicated("trace", [])
        for number, loop in enumerate(history.loops):
            new = [data for data in history.data if data.loop == number]
            arrays |= {data.name: register(world, data, history.rows) for data in new}
            changing = [array for array in arrays.values() if array.kind == "variable"]

            def between(changing: list[malleable.Array] = changing) -> int:
                for run in (run for array in changing for run in array.runs):
                    work(run.local)
                return int(world.comm.allreduce(1))

            if loop.by == "once":
                assert world.once(between) >= 1
            elif not world.is_joining:
                between()
            is_last = number == len(history.loops) - 1
            for index in world.steps(MAX_STEPS if is_last else loop.steps):
                for run in (run for array in changing for run in array.runs):
                    step(run.local, index)
                assert len(set(world.comm.allgather(len(trace.value)))) == 1
                trace.value.append((number, index))
                if is_last and not asked.left():
                    break
                if loop.is_left and not is_last and index == loop.steps - 1:
                    break
        found = {name: world.comm.gather(array.runs) for name, array in arrays.items()}
        sizes = (world.size, [record.error for record in world.resizes])
    if world.rank == 0:
        wanted = replay(history, trace.value)
        for data, want in zip(history.data, wanted, strict=True):
            assert is_same(in_order(found[data.name]), want), (
                f"{data} is not what one process finds"
            )
        print(json.dumps({"sizes": sizes, "trace": trace.value}))


if __name__ == "__main__":
    main()
