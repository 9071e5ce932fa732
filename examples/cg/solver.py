"""Conjugate gradients on the ranks of a world, as many as there are at present.

References
----------
Y. Saad: *Iterative Methods for Sparse Linear Systems*, 2nd ed., algorithm 6.18.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from examples.cg.matrices import System
from freestone import malleable

__all__ = ["sequential", "solve"]

Vector = npt.NDArray[np.float64]


def solve(
    world: malleable.World, system: System, tolerance: float = 1e-10, limit: int = 1000
) -> tuple[list[float], malleable.Array]:
    """Solve ``A x = 1`` from ``x = 0``.

    Parameters
    ----------
    world : World
        Where; the matrix and the vectors are registered with it.
    system : System
        The matrix, of shape ``(n, n)``.
    tolerance : float
        The residual's norm to end with, relative to the first one.
    limit : int
        Iterations at most.

    Returns
    -------
    history : list of float
        The norm of the residual, before the first iteration and after each.
    x : Array of shape (n,)
        The solution.

    Notes
    -----
    The matrix is constant; ``x``, ``r`` and ``p`` move at the switch; the scalars are replicated.
    The gathered ``p`` is made anew in each iteration. Each adds an all-gather of ``8 n`` bytes and
    two all-reduces of 8.
    """
    matrix = world.constant("A", system.load, rows=system.rows)
    x = world.variable("x", _zeros, rows=system.rows)
    r = world.variable("r", _ones, rows=system.rows)
    p = world.variable("p", _ones, rows=system.rows)
    first = float(system.rows)
    state = world.replicated("state", (first, [math.sqrt(first)]))
    for _ in world.steps(limit):
        rho, history = state.value
        if history[-1] <= tolerance * history[0]:
            break
        q = matrix.local @ gather(world, p)
        alpha = rho / world.comm.allreduce(float(p.local @ q))
        x.local[...] += alpha * p.local
        r.local[...] -= alpha * q
        new = world.comm.allreduce(float(r.local @ r.local))
        p.local[...] = r.local + new / rho * p.local
        state.value = (new, [*history, math.sqrt(new)])
    return state.value[1], x


def gather(world: malleable.World, vector: malleable.Array) -> Vector:
    """Return all rows of a vector, on all ranks."""
    if world.size == 1:
        return np.asarray(vector.local)
    whole = np.empty(vector.rows)
    counts = np.diff(vector.layout.offsets if vector.layout is not None else [])
    world.comm.Allgatherv(vector.local, [whole, counts.tolist()])
    return whole


def sequential(system: System, tolerance: float = 1e-10, limit: int = 1000) -> list[float]:
    """Return the residual's norms of the same iteration in one process."""
    matrix = system.load(0, system.rows)
    x, r = np.zeros(system.rows), np.ones(system.rows)
    p, rho = r.copy(), float(r @ r)
    history = [math.sqrt(rho)]
    while history[-1] > tolerance * history[0] and len(history) <= limit:
        q = matrix @ p
        alpha = rho / float(p @ q)
        x += alpha * p
        r -= alpha * q
        rho, before = float(r @ r), rho
        p = r + rho / before * p
        history.append(math.sqrt(rho))
    return history


def _zeros(start: int, stop: int) -> Vector:
    return np.zeros(stop - start)


def _ones(start: int, stop: int) -> Vector:
    return np.ones(stop - start)
