"""Solve a sparse system by conjugate gradients, on a number of processes that changes.

Start it as ``mpiexec -n 2 python -m mpi4py examples/cg/main.py --resize 10=4 --resize 30=2``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.cg.matrices import Elasticity, MatrixMarket
from examples.cg.solver import sequential, solve
from freestone import malleable


def target(text: str) -> tuple[int, int]:
    """Read ``10=4``: from iteration 10 on, 4 processes."""
    step, _, size = text.partition("=")
    return int(step), int(size)


def main() -> None:
    """Solve, and say what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=20, help="points along an edge, 20")
    parser.add_argument("--matrix", type=Path, help="a Matrix Market file in its place")
    parser.add_argument(
        "--resize", type=target, action="append", default=[], metavar="ITERATION=PROCESSES"
    )
    parser.add_argument("--method", help="such as merge-p2p-nonblocking; chosen by default")
    parser.add_argument("--check", action="store_true", help="compare with one process")
    options = parser.parse_args()
    system = MatrixMarket(options.matrix) if options.matrix else Elasticity(options.size)
    with malleable.World(targets=dict(options.resize), method=options.method) as world:
        history, _ = solve(world, system)
        resizes = world.resizes
    if world.rank > 0:
        return
    print(f"{system.name}: {system.rows:,} rows")
    for done in resizes:
        print(
            f"iteration {done.step}: {done.before} to {done.after} processes by {done.method}, "
            f"{done.moved_nbytes:,} bytes, {done.total_s:.2f} s, {done.error or 'done'}"
        )
    print(f"{len(history) - 1} iterations; residual {history[-1] / history[0]:.2e} of the first")
    if options.check:
        alone = sequential(system)
        apart = max(abs(a - b) / b for a, b in zip(history, alone, strict=True))
        print(f"farthest from one process: {apart:.1e} (within 1e-12: {apart < 1e-12})")


if __name__ == "__main__":
    main()
