"""A model that computes something: the shallow-water equations on a torus, by Lax and Friedrichs.

Each computational rank has a strip of rows and, above and below it, a copy of its neighbours' rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from examples.insitu.settings import FIELDS, Settings

__all__ = ["Strip", "block", "initial"]

GRAVITY = 9.81
DEPTH_M, HUMP_M = 10.0, 1.0
SPACING_M, STEP_S = 100.0, 2.0

State = NDArray[np.float64]
"""Depth and momentum in two directions, shape ``(3, rows, columns)``."""

Exchange = Callable[[State], tuple[State, State]]
"""Called with a strip; returns the row above it and the row below it, shape ``(3, columns)``."""


def shape(settings: Settings) -> tuple[int, int]:
    """Return the rows and columns of a computational rank."""
    columns = max(1, int(settings.points**0.5))
    if settings.points % columns:
        raise ValueError(f"points={settings.points}: must be rows of {columns}")
    return settings.points // columns, columns


def initial(settings: Settings, member: int) -> State:
    """Return a strip of water at rest with a hump in the middle of the whole grid."""
    rows, columns = shape(settings)
    total = rows * settings.members
    y = (np.arange(member * rows, (member + 1) * rows) + 0.5) / total - 0.5
    x = (np.arange(columns) + 0.5) / columns - 0.5
    state = np.zeros((3, rows, columns))
    state[0] = DEPTH_M + HUMP_M * np.exp(-40 * (y[:, None] ** 2 + x**2))
    return state


class Strip:
    """A computational rank's rows, step after step."""

    def __init__(self, state: State, exchange: Exchange) -> None:
        self.state, self.exchange, self.step = state, exchange, 0
        self._complete()

    def _complete(self) -> None:
        above, below = self.exchange(self.state)
        self.padded = np.concatenate([above[:, None], self.state, below[:, None]], axis=1)
        self.fields = self._fields()

    def advance(self) -> None:
        """Compute the next step."""
        padded = self.padded
        along_y, along_x = _fluxes(padded)
        north, south = padded[:, :-2], padded[:, 2:]
        west, east = np.roll(self.state, 1, axis=2), np.roll(self.state, -1, axis=2)
        inner = along_x[:, 1:-1]
        across = np.roll(inner, -1, axis=2) - np.roll(inner, 1, axis=2)
        down = along_y[:, 2:] - along_y[:, :-2]
        factor = STEP_S / (2 * SPACING_M)
        self.state = (north + south + west + east) / 4 - factor * (down + across)
        self.step += 1
        self._complete()

    def _fields(self) -> NDArray[np.float64]:
        # What is analysed, shape (8, points): depth, two velocities, two momenta, kinetic and
        # potential energy, and vorticity.
        depth, y, x = self.state
        v, u = self.padded[1] / self.padded[0], self.padded[2] / self.padded[0]
        turn = np.roll(v[1:-1], -1, axis=1) - np.roll(v[1:-1], 1, axis=1)
        vorticity = (turn - (u[2:] - u[:-2])) / (2 * SPACING_M)
        kinetic, potential = (y * y + x * x) / (2 * depth), GRAVITY * depth * depth / 2
        found = [depth, x / depth, y / depth, x, y, kinetic, potential, vorticity]
        assert len(found) == len(FIELDS)
        return np.array(found).reshape(len(found), -1)


def _fluxes(state: State) -> tuple[State, State]:
    depth, y, x = state
    pressure = GRAVITY * depth * depth / 2
    shared = y * x / depth
    return (
        np.array([y, y * y / depth + pressure, shared]),
        np.array([x, shared, x * x / depth + pressure]),
    )


@functools.cache
def _history(members: int, points: int, steps: int) -> list[NDArray[np.float64]]:
    """Compute the whole grid in one place: the fields of each step, shape ``(8, all points)``."""
    settings = Settings(analytics=members, points=points)
    strips = [initial(settings, member) for member in range(members)]
    strip = Strip(np.concatenate(strips, axis=1), lambda state: (state[:, -1], state[:, 0]))
    found = []
    for _ in range(steps):
        found.append(strip.fields)
        strip.advance()
    return found


def block(settings: Settings, member: int, step: int, field: int) -> NDArray[np.float64]:
    """Return a computational rank's values of a field at a step, computed in one place."""
    history = _history(settings.members, settings.points, settings.steps)
    start = member * settings.points
    return history[step][field, start : start + settings.points]
