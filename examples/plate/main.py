"""Heat in a plate on a grid of processes that changes: halos on all four sides.

The plate is cut into square tiles, each of which is a row of the job: tile t is the one at line
``t // ACROSS`` and column ``t % ACROSS``. `grid` gives each process a rectangle of tiles, so that a
resize from 4 to 6 processes goes from a grid of 2 by 2 to one of 3 by 2.

Start it as ``mpiexec -n 2 python -m mpi4py examples/plate/main.py --resize 10=6 --resize 25=4``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from examples.cg.main import target
from freestone import malleable

Tiles = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

SIDE, DOWN, ACROSS = 16, 10, 14
# The sides of a tile, and how its neighbours there are found; `side ^ 1` is the opposite one.
ABOVE, BELOW, LEFT, RIGHT = range(4)
_BESIDE = ((-1, 0), (1, 0), (0, -1), (0, 1))
_EDGES = (np.s_[:, 0], np.s_[:, -1], np.s_[:, :, 0], np.s_[:, :, -1])
# Where the halos of these sides are around a tile.
_RIMS = (np.s_[:, 0, 1:-1], np.s_[:, -1, 1:-1], np.s_[:, 1:-1, 0], np.s_[:, 1:-1, -1])


def grid(rows: int, ranks: int) -> list[tuple[int, int, int]]:
    """Return runs of tiles with their ranks: a rectangle for each rank of the grid."""
    down, across = MPI.Compute_dims(ranks, 2)
    cuts = [ACROSS * cut // across for cut in range(across + 1)]
    return [
        (line * ACROSS + cuts[at], line * ACROSS + cuts[at + 1], line * down // DOWN * across + at)
        for line in range(rows // ACROSS)
        for at in range(across)
    ]


def begin(start: int, stop: int) -> Tiles:
    """Return tiles of a cold plate with a hot rectangle, of shape ``(stop - start, 16, 16)``."""
    plate = np.zeros((DOWN * SIDE, ACROSS * SIDE))
    plate[41:90, 31:150] = 100
    tiles = plate.reshape(DOWN, SIDE, ACROSS, SIDE).swapaxes(1, 2)
    return tiles.reshape(-1, SIDE, SIDE)[start:stop]


def beside(tiles: Numbers, side: int) -> Numbers:
    """Return the tiles beside others, and -1 beyond the rim of the plate."""
    line, column = tiles // ACROSS + _BESIDE[side][0], tiles % ACROSS + _BESIDE[side][1]
    is_there = (line >= 0) & (line < DOWN) & (column >= 0) & (column < ACROSS)
    return np.where(is_there, line * ACROSS + column, -1)


class Halos:
    """What a rank exchanges with others: it depends on who has which tiles.

    Parameters
    ----------
    comm : mpi4py communicator
        Of all ranks.
    u : malleable.Array
        The tiles.
    """

    def __init__(self, comm: Any, u: malleable.Array) -> None:
        own = np.concatenate([np.arange(start, stop) for start, stop, _ in u.runs])
        self._comm, self._links = comm, []
        for side in (ABOVE, BELOW, LEFT, RIGHT):
            others = beside(own, side)
            has_other = np.flatnonzero(others >= 0)
            ranks = u.rank_of(others[has_other])
            # Both ranks have these tiles in the same order.
            self._links += [(side, int(r), has_other[ranks == r]) for r in np.unique(ranks)]

    def exchange(self, tiles: Tiles) -> Tiles:
        """Return the edges beside each tile, of shape ``(4, k, 16)``; 0 beyond the rim."""
        found = np.zeros((4, len(tiles), SIDE))
        sent, arriving, requests = [], [], []
        for side, rank, at in self._links:
            sent.append(tiles[_EDGES[side]][at])
            arriving.append(np.empty((len(at), SIDE)))
            requests.append(self._comm.Irecv(arriving[-1], rank, side))
            requests.append(self._comm.Isend(sent[-1], rank, side ^ 1))
        MPI.Request.Waitall(requests)
        for (side, _, at), edges in zip(self._links, arriving, strict=True):
            found[side, at] = edges
        return found


def heated(tiles: Tiles, halos: Tiles) -> Tiles:
    """Return the tiles one step later."""
    wide = np.zeros((len(tiles), SIDE + 2, SIDE + 2))
    wide[:, 1:-1, 1:-1] = tiles
    for side, edges in enumerate(halos):
        wide[_RIMS[side]] = edges
    around = wide[:, :-2, 1:-1] + wide[:, 2:, 1:-1] + wide[:, 1:-1, :-2] + wide[:, 1:-1, 2:]
    found: Tiles = tiles + 0.2 * (around - 4 * tiles)
    return found


def run(world: malleable.World, steps: int) -> malleable.Array:
    """Heat the plate for some steps."""
    u = world.variable("u", begin)
    halos: Any = None
    for _ in world.steps(steps):
        if world.changed:
            halos = Halos(world.comm, u)
        tiles = np.concatenate([rows for _, _, rows in u.runs])
        tiles = heated(tiles, halos.exchange(tiles))
        for _, _, rows in u.runs:
            rows[...], tiles = tiles[: len(rows)], tiles[len(rows) :]
    return u


def alone(steps: int) -> Tiles:
    """Return what one process finds: the whole plate as one field, with a cold rim."""
    plate = begin(0, DOWN * ACROSS).reshape(DOWN, ACROSS, SIDE, SIDE).swapaxes(1, 2)
    wide = np.pad(plate.reshape(DOWN * SIDE, ACROSS * SIDE), 1)
    for _ in range(steps):
        around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
        wide[1:-1, 1:-1] += 0.2 * (around - 4 * wide[1:-1, 1:-1])
    tiles = wide[1:-1, 1:-1].reshape(DOWN, SIDE, ACROSS, SIDE).swapaxes(1, 2)
    return tiles.reshape(-1, SIDE, SIDE)


def main() -> None:
    """Run, and compare with one process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument(
        "--resize", type=target, action="append", default=[], metavar="STEP=PROCESSES"
    )
    parser.add_argument("--method", help="such as baseline-p2p-sync; chosen by default")
    options = parser.parse_args()
    settings = {"targets": dict(options.resize), "method": options.method}
    with malleable.World(rows=DOWN * ACROSS, balance=grid, **settings) as world:
        u = run(world, options.steps)
        found: list[Any] | None = world.comm.gather([(run.start, run.local) for run in u.runs])
        sizes = [done.after for done in world.resizes if not done.error]
    if found is not None:
        runs = sorted((run for theirs in found for run in theirs), key=lambda run: run[0])
        is_same = np.array_equal(np.concatenate([tiles for _, tiles in runs]), alone(options.steps))
        print(f"processes at last: {sizes}; bit for bit what one process finds: {is_same}")


if __name__ == "__main__":
    main()
