"""The pipeline beside a model that is plain MPI, as MONC is: only the analytics are ranks.

The model's processes exchange rows by their own messages; a bridge takes their fields to the
analytics ranks, without a thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from examples.insitu import analytics
from examples.insitu.items import pack, stamp
from examples.insitu.model import schedule
from examples.insitu.settings import Outcome, Settings, joined
from examples.insitu.shallow_water import State, Strip, initial
from freestone import events as ev

__all__ = ["run"]


def run(settings: Settings) -> Outcome:
    """Be the process of the pipeline that this one is of `mpiexec`'s; what came of it.

    Raises
    ------
    ValueError
        If there are not as many processes as analytics and computational ranks.
    """
    from mpi4py import MPI

    comm, count = MPI.COMM_WORLD, settings.analytics + settings.members
    if comm.size != count:
        raise ValueError(
            f"{settings.analytics} analytics and {settings.members} computational ranks are "
            f"{count}, and mpiexec has started {comm.size} processes"
        )
    analyses = comm.rank < settings.analytics
    model = comm.Split(analyses, comm.rank)
    if analyses:
        return joined(ev.run(analytics.main_alone, args=(settings,), comm=comm))
    compute(settings, comm, model)
    return Outcome()


def compute(settings: Settings, comm: Any, model: Any) -> None:
    """Be a computational rank: compute, exchange rows with the others, and fire fields."""
    member = model.rank
    before, after = (member - 1) % model.size, (member + 1) % model.size

    def exchange(state: State) -> tuple[State, State]:
        above, below = np.empty_like(state[:, 0]), np.empty_like(state[:, 0])
        model.Sendrecv(np.ascontiguousarray(state[:, -1]), after, recvbuf=above, source=before)
        model.Sendrecv(np.ascontiguousarray(state[:, 0]), before, recvbuf=below, source=after)
        return above, below

    strip = Strip(initial(settings, member), exchange)
    target, sent = member % settings.analytics, settings.steps_of(member)
    with ev.attach(comm) as bridge:
        bridge.fire(target, "register", sent.start)
        for step, field in schedule(settings, member):
            while strip.step < step:
                strip.advance()
            bridge.fire(target, "data", stamp(pack(step, field, member, strip.fields[field])))
        bridge.fire(target, "deregister", sent.stop)
