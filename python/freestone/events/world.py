"""Ranks that `mpiexec` started: each process is one, and shares the program's MPI."""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from freestone import _native
from freestone.events.outcome import Outcome, carry_out, pickled
from freestone.events.rank import Rank


def is_here() -> bool:
    """Tell whether `mpiexec` started this process."""
    return _native.EventWorld.is_here()


def run(main: Callable[..., Any], args: tuple[Any, ...], settings: Any) -> list[Outcome]:
    """Run `main` as this process's rank; how it ended on all of them.

    Parameters
    ----------
    main, args
        As `freestone.events.run` has them.
    settings : callable
        Called with the number of ranks; returns what the native half wants.
    """
    world = _begin()
    native = world.start(**settings(world.ranks))
    outcome = carry_out(Rank(native), main, args)
    told = world.exchange(pickled(outcome, world.rank))
    return [pickle.loads(one) for one in told]


def _begin() -> _native.EventWorld:
    # Whoever imports mpi4py later would begin another MPI than the one that is loaded here: so the
    # program's MPI is that of mpi4py, if there is one.
    if importlib.util.find_spec("mpi4py") is not None:
        importlib.import_module("mpi4py.MPI")
    world = _native.EventWorld([str(Path(sys.prefix, "lib"))])
    if "mpi4py.MPI" not in sys.modules:
        atexit.register(world.end)
    return world
