"""The synthetic application itself, as each of its processes runs it."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from freestone.malleable import Config, Request, World
from freestone.malleable.arrays import Array
from freestone.malleable.checkpoints import UNFINISHED
from freestone.malleable.hosts import host_name
from freestone.malleable.synthetic.settings import Settings
from freestone.malleable.synthetic.stages import Workload
from freestone.replacing import replaced

__all__ = ["emulate", "summary"]

_ITEM = 8


def emulate(settings: Settings) -> dict[str, Any] | None:
    """Run the application; return what was measured, on rank 0.

    Returns
    -------
    dict or None
        ``total_s``; ``is_intact``, whether all data is at the end what it was; ``undone``, the
        resizes that were not over when the iterations were; ``hosts``, over how many the ranks
        were at most; ``resizes``; and ``groups``, each with ``processes`` and, by iteration, the
        seconds of each stage.
    """
    starts = itertools.accumulate(group.iterations for group in settings.groups)
    targets = {
        start: Request(group.processes, group.method)
        for start, group in zip(starts, settings.groups[1:], strict=False)
    }
    config = Config(
        targets=targets,
        share=settings.share,
        relabel=settings.relabel,
        by_host=settings.by_host,
    )
    workload: Workload | None = None
    with World(config) as world:
        arrays = _register(world, settings)
        began = world.replicated("began", world.once(time.time))
        monitor: Any = world.replicated("monitor", [])
        hosts: Any = world.replicated("hosts", 1)
        stages: Any = None
        for iteration in world.steps(settings.iterations):
            if world.changed or stages != settings.stages_of(iteration):
                stages = settings.stages_of(iteration)
                factor = settings.factor_for(world.size)
                if workload is not None:
                    workload.close()
                workload = Workload(world.comm, stages, factor, settings.is_rigid)
            if world.changed:
                hosts.value = max(hosts.value, len(set(world.comm.allgather(host_name()))))
                monitor.value = [*monitor.value, {"processes": world.size, "iterations": []}]
            if workload is not None:
                times = world.comm.gather(workload.run(), root=0)
                if times is not None:
                    row = getattr(np, settings.capture)(np.array(times), axis=0).tolist()
                    monitor.value[-1]["iterations"].append(row)
        total_s = time.time() - began.value
        if workload is not None:
            workload.close()
        is_intact = bool(world.comm.allreduce(int(not all(map(_is_intact, arrays)))) == 0)
    if world.rank > 0:
        return None
    resizes = [record.as_dict() for record in world.resizes if record.error != UNFINISHED]
    return {
        "total_s": total_s,
        "is_intact": is_intact,
        "undone": len(targets) - len(resizes),
        "hosts": hosts.value,
        "resizes": resizes,
        "groups": monitor.value,
    }


def _register(world: World, settings: Settings) -> list[Array]:
    """Make the data that is moved: numbers from 0 on, so that it shows when one is lost."""
    found = []
    for name, nbytes in (("c", settings.constant_nbytes), ("v", settings.variable_nbytes)):
        rows = -(-nbytes // _ITEM)
        if rows:
            register = world.constant if name == "c" else world.variable
            found.append(register(name, _numbers, rows=rows))
    return found


def _numbers(start: int, stop: int) -> Any:
    return np.arange(start, stop, dtype=np.int64)


def _is_intact(array: Array) -> bool:
    return all(
        bool(np.array_equal(array.local[a - array.start : b - array.start], np.arange(a, b)))
        for a, b in itertools.pairwise([*range(array.start, array.stop, 1 << 20), array.stop])
    )


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """Return a run in a few figures: seconds in all, by iteration and group, and of resizes."""
    groups = [
        {
            "processes": group["processes"],
            "iterations": len(group["iterations"]),
            "iteration_s": float(np.median([sum(row) for row in group["iterations"]] or [0.0])),
        }
        for group in result["groups"]
    ]
    return {
        "total_s": result["total_s"],
        "is_intact": result["is_intact"],
        "undone": result["undone"],
        "hosts": result["hosts"],
        "resizes": result["resizes"],
        "groups": groups,
    }


def write(result: dict[str, Any] | None, path: Path) -> None:
    """Write what was measured, all at once."""
    if result is not None:
        with replaced(path) as part:
            part.write_text(json.dumps(result), "utf-8")
