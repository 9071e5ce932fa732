"""Stars that attract each other, on a number of processes that changes: dense data that varies.

Start it as ``mpiexec -n 2 python -m mpi4py examples/nbody/main.py --resize 10=4 --resize 30=2``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import numpy.typing as npt

from examples.cg.main import target
from freestone import malleable

Points = npt.NDArray[np.float64]
_SOFTENING = 0.05


def begin(stars: int) -> Points:
    """Return places and speeds of all stars, of shape ``(stars, 6)``."""
    random = np.random.default_rng(1)
    return np.hstack([random.normal(size=(stars, 3)), 0.1 * random.normal(size=(stars, 3))])


def pull(places: Points, everyone: Points) -> Points:
    """Return the accelerations at places ``(k, 3)`` by stars of mass ``1/n`` at ``(n, 3)``."""
    apart = everyone[None] - places[:, None]
    cubed = (np.einsum("ijk,ijk->ij", apart, apart) + _SOFTENING**2) ** 1.5
    found: Points = (apart / cubed[..., None]).sum(axis=1) / len(everyone)
    return found


def everyone(world: malleable.World, stars: malleable.Array) -> Points:
    """Return the places of all stars, on all ranks."""
    found = world.comm.allgather(stars.local[:, :3])
    return np.concatenate(found)


def run(world: malleable.World, count: int, steps: int, dt: float) -> malleable.Array:
    """Let `count` stars move for some steps of `dt`: kick, drift."""
    stars = world.variable("stars", lambda a, b: begin(count)[a:b], rows=count)
    for _ in world.steps(steps):
        places, speeds = stars.local[:, :3], stars.local[:, 3:]
        speeds += dt * pull(places, everyone(world, stars))
        places += dt * speeds
    return stars


def alone(count: int, steps: int, dt: float) -> Points:
    """Return what one process finds."""
    stars = begin(count)
    for _ in range(steps):
        stars[:, 3:] += dt * pull(stars[:, :3], stars[:, :3].copy())
        stars[:, :3] += dt * stars[:, 3:]
    return stars


def main() -> None:
    """Run, and compare with one process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stars", type=int, default=300)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument(
        "--resize", type=target, action="append", default=[], metavar="STEP=PROCESSES"
    )
    parser.add_argument("--method", help="such as baseline-p2p-sync; chosen by default")
    options = parser.parse_args()
    with malleable.World(targets=dict(options.resize), method=options.method) as world:
        stars = run(world, options.stars, options.steps, 0.01)
        found: list[Any] | None = world.comm.gather(stars.local)
        sizes = [done.after for done in world.resizes]
    if found is not None:
        is_same = np.array_equal(np.concatenate(found), alone(options.stars, options.steps, 0.01))
        print(f"{options.stars} stars, {options.steps} steps; processes at last: {sizes}")
        print(f"bit for bit what one process finds: {is_same}")


if __name__ == "__main__":
    main()
