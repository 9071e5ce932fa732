"""A job that goes through sizes with data of one kind, and computes meanwhile.

Words: a JSON object with `sizes`, `method`, `kind` ("dense" or "csr"), `nbytes`, `share`,
`relabel`, and how many products are the work of a step, `times`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from mpi4py import MPI

from freestone import malleable
from freestone.malleable import Request, Source, Status

REST = 12
PER_ROW = 25


class Chain(Source):
    """One size after another, with some steps of rest in between."""

    def __init__(self, sizes: list[int]) -> None:
        self._sizes = sizes

    def ask(self, status: Status) -> Request | None:
        """Return the next size, once there was some rest."""
        left = self._sizes[status.resizes :]
        last = max(status.asked, 0)
        return Request(left[0]) if left and status.step >= last + REST else None


def resident(key: str) -> int:
    """Return bytes of memory that this process has or had: VmRSS, VmHWM."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    return 0


def loader(kind: str, nbytes: int) -> tuple[Any, int]:
    """Return what makes rows, and how many there are."""
    if kind == "dense":
        rows = nbytes // 64
        return lambda a, b: np.full((b - a, 8), 1.5), rows
    rows = nbytes // (12 * PER_ROW + 8)

    def rows_of(start: int, stop: int) -> Any:
        count = stop - start
        # 10 to 40 non-zeros a row.
        lengths = 10 + (np.arange(start, stop) * 7919) % 31
        pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        columns = np.arange(pointers[-1], dtype=np.int32) % rows
        values = np.ones(pointers[-1])
        return scipy.sparse.csr_array((values, columns, pointers), shape=(count, rows))

    return rows_of, rows


def share_of(array: malleable.Array) -> int:
    """Return the bytes that this rank has of an array."""
    parts = range(len(array.form.parts))
    return sum(last - first for first, last in (array.span(index) for index in parts))


def work() -> None:
    """Compute for a while, by work that has to be done and not by the clock."""
    for _ in range(work.times):  # type: ignore[attr-defined]
        np.dot(work.matrix, work.vector)  # type: ignore[attr-defined]


def main() -> None:
    """Run the chain, and say what was measured."""
    given = json.loads(sys.argv[1])
    base, before = resident("VmRSS"), 0
    load, rows = loader(given["kind"], given["nbytes"])
    work.matrix, work.vector = np.ones((200, 200)), np.ones(200)  # type: ignore[attr-defined]
    work.times = given["times"]  # type: ignore[attr-defined]
    config = malleable.Config(
        rows=rows,
        targets=Chain(given["sizes"]),
        method=given["method"],
        share=given["share"],
        relabel=given["relabel"],
        timeout_s=100,
    )
    with malleable.World(config) as world:
        array = world.constant("A", load)
        steps: Any = world.replicated("steps", [])
        excess: Any = world.replicated("excess", [])
        uses: Any = world.replicated("uses", [])
        for _ in world.steps(1_000_000):
            if world.changed:
                begin = time.perf_counter()
                # What there is of a matrix is put together when it is asked for.
                _ = array.local
                used = world.comm.allreduce(time.perf_counter() - begin, MPI.MAX)
                now = share_of(array)
                over = resident("VmHWM") - base - before - now
                largest = world.comm.allreduce(over, MPI.MAX)
                if world.resizes:
                    excess.value = [*excess.value, largest]
                    uses.value = [*uses.value, used]
                Path("/proc/self/clear_refs").write_text("5")
                before = now
            begin = time.perf_counter()
            work()
            world.comm.allreduce(0)
            steps.value.append((world.size, time.perf_counter() - begin))
            if len(world.resizes) == len(given["sizes"]) and len(steps.value) % REST == 0:
                break
    if world.rank == 0:
        records = [record.as_dict() for record in world.resizes]
        found = {"steps": steps.value, "excess": excess.value, "uses": uses.value}
        print(json.dumps({**found, "resizes": records}))


if __name__ == "__main__":
    main()
