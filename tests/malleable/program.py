"""A job that goes through a list of resizes and checks all of its data at every step.

Words: a JSON object with "resizes" ([size, method] each), "seed", "entries" (whether there is a
CSR matrix whose values change), and settings of the World.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import scipy.sparse
from mpi4py import MPI

from freestone import malleable
from freestone.malleable import Method, Request, Source, Status
from freestone.malleable.membership import own_host
from freestone.malleable.moving import direct


class Sequence(Source):
    """One target after another, each when the one before is done."""

    def __init__(self, resizes: list[tuple[int, str | None]]) -> None:
        self.requests = [Request(n, m and Method.parse(m)) for n, m in resizes]

    def ask(self, status: Status) -> Request | None:
        """Return the next one."""
        left = self.requests[status.resizes :]
        return left[0] if left else None


def arrays(seed: int, rows: int) -> dict[str, Any]:
    """Return arrays of all rows: odd shapes and types, and matrices with empty rows."""
    random = np.random.default_rng(seed)
    matrix = scipy.sparse.random(rows, 40, density=0.1, random_state=seed, format="csr")
    keep = scipy.sparse.diags((random.random(rows) < 0.6).astype(float))
    return {
        "wide": random.random((rows, int(random.integers(1, 9)))),
        "bytes": random.integers(0, 255, (rows, 3), dtype=np.uint8),
        "cube": random.integers(0, 9, (rows, 2, 3), dtype=np.int16),
        "matrix": scipy.sparse.csr_array(keep @ matrix),
        "nothing": scipy.sparse.csr_matrix((rows, 7), dtype=np.float32),
    }


def is_same(local: Any, all_rows: Any, start: int, stop: int) -> bool:
    """Tell whether rows are those of the whole, bit for bit."""
    part = all_rows[start:stop]
    if getattr(local, "format", None) == "csr":
        pairs = (
            (local.indptr, part.indptr),
            (local.indices, part.indices),
            (local.data, part.data),
        )
        return type(local) is type(all_rows) and all(
            a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs
        )
    return local.dtype == part.dtype and np.array_equal(local, part)


def refuse_some_copies(world: malleable.World) -> None:
    """Have rows copied in one resize of each method and sent by it in the other, as if refused."""
    reads = direct.reads

    def allowed(*words: Any) -> bool:
        done = len(world.resizes)
        return (done + done // 2) % 2 == 0 and reads(*words)

    direct.reads = allowed


def loading(whole: Any) -> Any:
    """Return what loads rows of an array, which only those do that begin the job."""

    def load(start: int, stop: int) -> Any:
        assert MPI.Comm.Get_parent() == MPI.COMM_NULL
        return whole[start:stop]

    return load


def main() -> None:
    """Run the job."""
    settings = json.loads(sys.argv[1])
    resizes, seed = settings.pop("resizes"), settings.pop("seed", 1)
    rows, has_entries = settings["rows"], settings.pop("entries", False)
    reported: list[str] = []
    config = malleable.Config(
        targets=Sequence(resizes),
        timeout_s=60,
        on_resize=lambda record: reported.append(record.error),
        **settings,
    )
    wanted = arrays(seed, rows)
    with malleable.World(config) as world:
        refuse_some_copies(world)
        held = {name: world.constant(name, loading(whole)) for name, whole in wanted.items()}
        x = world.variable("x", lambda a, b: np.arange(a, b, dtype=np.int64))
        entries = None
        if has_entries:
            entries = world.variable("entries", loading(wanted["matrix"]))
        sums = world.replicated("sums", [])
        places = world.replicated("places", [])
        most = world.replicated("most", 0)
        for step in world.steps(100_000):
            for name, whole in wanted.items():
                for start, stop, local in held[name].runs:
                    assert is_same(local, whole, start, stop), (name, held[name])
            for start, stop, local in x.runs:
                assert np.array_equal(local, np.arange(start, stop) + step)
                assert np.all(x.rank_of(np.arange(start, stop)) == world.rank)
                local += 1
            for start, stop, local in entries.runs if entries is not None else []:
                own = wanted["matrix"][start:stop]
                assert is_same(local, own * (-1.0) ** step, 0, stop - start)
                local.data *= -1
            everyone = world.comm.allgather([(start, stop) for start, stop, _ in x.runs])
            runs = sorted(run for theirs in everyone for run in theirs)
            assert [0, *(stop for _, stop in runs)] == [*(start for start, _ in runs), rows]
            most.value = max(most.value, *map(len, everyone))
            assert world.comm.size == world.size
            if world.changed:
                sums.value = [*sums.value, world.size]
                hosts = world.comm.allgather(own_host(settings.get("slots")))
                places.value = [*places.value, hosts]
            if len(world.resizes) == len(resizes):
                break
    if world.rank == 0:
        records = [record.as_dict() for record in world.resizes]
        found = {
            "sizes": sums.value,
            "resizes": records,
            "reported": reported,
            "places": places.value,
            "runs": most.value,
        }
        print(json.dumps(found))


if __name__ == "__main__":
    main()
