"""What to test with: kits for parts of outside packages, and a simulated cluster for task graphs.

A kit is a function that checks what a format or another part has to do; it raises `AssertionError`
that says what was found, with which values, and what was wanted. None needs a test framework.
"""

from __future__ import annotations

from freestone.testing.builtins import check_builtin
from freestone.testing.formats import check_format
from freestone.testing.hosts import check_host
from freestone.testing.placements import check_placement
from freestone.testing.schemes import check_scheme
from freestone.testing.simulation import SimulatedCall, Simulation, simulate
from freestone.testing.stores import check_store

__all__ = [
    "SimulatedCall",
    "Simulation",
    "check_builtin",
    "check_format",
    "check_host",
    "check_placement",
    "check_scheme",
    "check_store",
    "simulate",
]
